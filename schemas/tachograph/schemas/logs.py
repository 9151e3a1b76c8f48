"""Logs of worker and sink: lines for people, or one JSON object per line for machines."""

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Final, TextIO

from tachograph.schemas.settings import LogFormat

TEXT_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


SILENCED: Final = ("urllib3", "clickhouse_connect")
"""Libraries that log what they raise as well. We say it in a sentence of our own; theirs may quote a row."""


class JsonLines(logging.Formatter):
    """One object per line: ``time``, ``level``, ``logger``, ``message``, and ``error`` and ``where`` if one is logged.

    An error stands there by its class and the line that raised it. Its text is left out: a library's error may quote
    the record it failed on.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = f"{record.exc_info[0].__module__}.{record.exc_info[0].__qualname__}"
            trace = record.exc_info[2]
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None:
                line["where"] = f"{PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        return json.dumps(line, ensure_ascii=False)


def configure_logs(level: str, log_format: LogFormat, stream: TextIO | None = None) -> None:
    """Log to stderr from here on, in place of whatever was set up before."""
    to_stream = logging.StreamHandler(stream or sys.stderr)
    to_stream.setFormatter(JsonLines() if log_format == "json" else logging.Formatter(TEXT_FORMAT))
    logging.basicConfig(level=level, handlers=[to_stream], force=True)
    silence_libraries()


def silence_libraries() -> None:
    """Leave the failures of libraries to the errors that we make of them."""
    for name in SILENCED:
        logging.getLogger(name).setLevel(logging.CRITICAL)
