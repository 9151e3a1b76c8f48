"""A worker as a process: ``python -m tachograph.processors``. Settings come from the environment."""

import argparse
import logging
import sys

from tachograph.processors import TopicNames, run_worker
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import load_settings


def main() -> int:
    """Run a worker. 0 after a signal, 1 if it could not start or go on."""
    parser = argparse.ArgumentParser(prog="tachograph.processors", description="Run one worker.")
    parser.add_argument("--topic-prefix", default="", help="read and write topics under this prefix")
    names = TopicNames(parser.parse_args().topic_prefix)
    try:
        settings = load_settings()
        logging.basicConfig(
            level=settings.log_level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s"
        )
        run_worker(settings, names=names)
    except TachographError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
