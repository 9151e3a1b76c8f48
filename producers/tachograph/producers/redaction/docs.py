"""Writes docs/redaction.md: ``python -m tachograph.producers.redaction.docs [FILE]``."""

import sys
from pathlib import Path

from tachograph.producers.redaction.describe import describe
from tachograph.producers.redaction.rules import default_pack


def main(arguments: list[str]) -> None:
    """Write the page to the file, by default to its place in the project."""
    target = Path(arguments[0]) if arguments else Path("docs") / "redaction.md"
    target.write_text(describe(default_pack()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
