"""Writes docs/report.schema.json: ``python -m tachograph.console.report > docs/report.schema.json``."""

import json
import sys

from tachograph.console.report.document import schema

if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1) + "\n")
