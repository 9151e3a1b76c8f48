"""``tachograph violations tail`` without a broker: what is shown, and what is said if nothing can be."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tachograph.console.cli.violations import table_line, two_lines
from tachograph.console.violations import Wanted, as_json, moment
from tachograph.schemas.enums import Severity
from tests.console.test_cli import tachograph
from tests.sinks.rows import sample_row

NOW = 1_780_000_000.0


def row(**changes: Any) -> dict[str, Any]:
    fields = {"severity": "error", "agent_id": "builder", "occurred_at": 1_780_000_000_123_456}
    return sample_row("violations", 0, **fields | changes)


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        pytest.param(Wanted(), True, id="anything"),
        pytest.param(Wanted(severity=Severity.ERROR), True, id="as bad"),
        pytest.param(Wanted(severity=Severity.CRITICAL), False, id="not bad enough"),
        pytest.param(Wanted(agent="builder"), True, id="the agent"),
        pytest.param(Wanted(agent="build"), False, id="another agent"),
    ],
)
def test_filters(wanted: Wanted, *, matches: bool) -> None:
    """A severity is a least one; an agent is exactly one."""
    assert wanted.matches(row()) is matches


def test_a_severity_of_a_later_version_is_shown() -> None:
    """It may be a worse one."""
    assert Wanted(severity=Severity.CRITICAL).matches(row(severity="catastrophic"))


def test_times_are_readable() -> None:
    """In JSON as in the table."""
    assert as_json(row())["occurred_at"] == "2026-05-28T20:26:40.123Z"
    assert table_line(row()).startswith("2026-05-28T20:26:40.123Z  error ")


def test_a_line_stays_a_line_and_cannot_drive_the_terminal() -> None:
    """Whatever stands in the message."""
    line = table_line(row(message="first\nsecond\x1b[2J"))
    assert line.endswith("first second\\x1b[2J")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("30s", datetime.fromtimestamp(NOW - 30, UTC), id="seconds"),
        pytest.param("15m", datetime.fromtimestamp(NOW - 900, UTC), id="minutes"),
        pytest.param("2h", datetime.fromtimestamp(NOW - 7200, UTC), id="hours"),
        pytest.param("99999d", datetime.fromtimestamp(0, UTC), id="before there were clocks"),
        pytest.param("2026-03-04T05:06:07Z", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), id="a time"),
    ],
)
def test_moments(text: str, at: datetime) -> None:
    """So long ago, or a time."""
    assert moment(text, NOW) == at


@pytest.mark.parametrize("text", ["", "h", "-1h", "yesterday", "2026-03-04T05:06:07", "1.5h"])
def test_no_moments(text: str) -> None:
    """A time without a zone is not a time."""
    with pytest.raises(ValueError, match=r".+"):
        moment(text, NOW)


def test_a_wrong_since_is_a_usage_error(tmp_path: Path) -> None:
    """Exit code 2 and an example."""
    answer = tachograph("violations", "tail", "--since", "yesterday", home=tmp_path)
    assert answer.returncode == 2
    assert "15m" in answer.stderr


def test_no_broker_is_a_sentence(tmp_path: Path) -> None:
    """With what to do about it, on stderr, and nothing on stdout."""
    answer = tachograph(
        "violations",
        "tail",
        home=tmp_path,
        TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS="127.0.0.1:9",
        TACHOGRAPH_KAFKA__REQUEST_TIMEOUT_MS="1000",
    )
    assert answer.returncode == 1
    assert "Kafka at 127.0.0.1:9 did not answer" in answer.stderr
    assert "tachograph up" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_narrow_terminal_gets_two_lines(width: int) -> None:
    """When, how bad and what; then where, and the sentence. Nothing is wider than the terminal, nothing drives it."""
    lines = two_lines(row(message="first\nsecond\x1b[2J " + "word " * 30, run_id="run_1"), width).split("\n")
    assert lines[0].startswith("2026-05-28T20:26:40.123Z")
    assert "    run_1: first second\\x1b[2J word" in "\n".join(lines)
    assert max(len(line) for line in lines) <= width
    assert all(line.isprintable() for line in lines)
