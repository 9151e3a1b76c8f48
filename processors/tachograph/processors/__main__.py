"""A worker as a process: ``python -m tachograph.processors``. Settings come from the environment."""

import argparse
import sys

from tachograph.processors import TopicNames, run_worker
from tachograph.schemas.errors import TachographError
from tachograph.schemas.logs import configure_logs
from tachograph.schemas.settings import load_settings


def main() -> int:
    """Run a worker. 0 after a signal, 1 if it could not start or go on."""
    parser = argparse.ArgumentParser(prog="tachograph.processors", description="Run one worker.")
    parser.add_argument("--topic-prefix", default="", help="read and write topics under this prefix")
    parser.add_argument("--from", dest="replay_from", help="read again from an offset, a time, or earliest")
    arguments = parser.parse_args()
    try:
        settings = load_settings()
        configure_logs(settings.log_level, settings.log_format)
        run_worker(settings, names=TopicNames(arguments.topic_prefix), replay_from=arguments.replay_from)
    except TachographError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
