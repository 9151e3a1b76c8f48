"""Logs as JSON lines: readable by machines, and without what an error may quote."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tachograph.schemas.logs import JsonLines, configure_logs


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root logger, put back as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("root_logger")
def test_a_line_is_an_object() -> None:
    """Whatever stands in the message."""
    stream = io.StringIO()
    configure_logs("INFO", "json", stream)
    logging.getLogger("tachograph.some").warning("two\nlines and %d", 7)
    logging.getLogger("tachograph.some").debug("not shown")
    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert found.pop("time").endswith("+00:00")
    assert found == {"level": "WARNING", "logger": "tachograph.some", "message": "two\nlines and 7"}


@pytest.mark.usefixtures("root_logger")
def test_an_error_is_named_and_not_quoted() -> None:
    """Its class and the line that raised it are enough to find it."""
    stream = io.StringIO()
    configure_logs("INFO", "json", stream)
    try:
        int("canary")
    except ValueError:
        logging.getLogger("tachograph.some").exception("it failed")
    found = json.loads(stream.getvalue())
    assert (found["message"], found["error"]) == ("it failed", "builtins.ValueError")
    assert found["where"].startswith("test_logs.py:")
    assert "canary" not in stream.getvalue()


@pytest.mark.usefixtures("root_logger")
def test_text_is_for_people() -> None:
    """And a second call takes the place of the first."""
    first, second = io.StringIO(), io.StringIO()
    configure_logs("INFO", "json", first)
    configure_logs("INFO", "text", second)
    logging.getLogger("tachograph.some").info("hello")
    assert first.getvalue() == ""
    assert second.getvalue().endswith("INFO tachograph.some: hello\n")


def test_a_record_without_error_has_no_error() -> None:
    """``exc_info`` may be there and be empty."""
    record = logging.LogRecord("n", logging.INFO, "f", 1, "m", None, (None, None, None))
    assert "error" not in json.loads(JsonLines().format(record))
