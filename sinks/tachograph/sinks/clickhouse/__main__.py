"""``python -m tachograph.sinks.clickhouse``: the sink by itself, for machines without the command line."""

import signal
import sys
import threading
from types import FrameType

from tachograph.schemas.errors import TachographError
from tachograph.schemas.logs import configure_logs
from tachograph.schemas.settings import load_settings
from tachograph.sinks.clickhouse.garbage import spare_collector
from tachograph.sinks.clickhouse.loop import run_sink


def main() -> int:
    """Run until SIGTERM or SIGINT. Exit status 1 and a sentence on stderr if it cannot go on."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    try:
        settings = load_settings()
        configure_logs(settings.log_level, settings.log_format)
        spare_collector()
        run_sink(settings, stop=stop)
    except TachographError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
