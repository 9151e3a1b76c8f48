"""What was found in a run: the worst first, and at the bar that it is about."""

from typing import Any

from tachograph.console.web.found import Found, by_severity, marked, worst_first


def violation(severity: str, code: str, **about: str) -> dict[str, Any]:
    return {"severity": severity, "code": code, "message": f"about {code}"} | {
        name: about.get(name) for name in ("tool_use_id", "event_id", "step_id")
    }


def test_the_worst_come_first_then_the_most_frequent() -> None:
    """One entry for each code and severity, with the first message."""
    rows = [violation("warn", "a"), violation("warn", "b"), violation("critical", "c"), violation("warn", "b")]
    assert worst_first(rows) == [
        Found("critical", "c", 1, "about c"),
        Found("warn", "b", 2, "about b"),
        Found("warn", "a", 1, "about a"),
    ]
    assert by_severity(rows) == [("critical", 1), ("warn", 3)]


def test_a_severity_that_nobody_knows_comes_last() -> None:
    """A foreign producer may call it what it likes."""
    assert [each.severity for each in worst_first([violation("<b>", "x"), violation("info", "y")])] == ["info", "<b>"]


def test_a_violation_marks_the_bar_that_it_is_about() -> None:
    """The tool call it names; without one the event, then the step; none at all if none is drawn."""
    bars = {"tool:t", "event:e", "step:s"}
    rows = [
        violation("error", "a", tool_use_id="t", event_id="e", step_id="s"),
        violation("critical", "b", event_id="e", step_id="s"),
        violation("warn", "c", event_id="e", step_id="s"),
        violation("warn", "d", event_id="elsewhere", step_id="s"),
        violation("warn", "e", event_id="elsewhere", step_id="elsewhere"),
        violation("warn", "f"),
    ]
    assert marked(bars, rows) == {
        "tool:t": [("error", 1)],
        "event:e": [("critical", 1), ("warn", 1)],
        "step:s": [("warn", 1)],
    }
