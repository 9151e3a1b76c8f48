"""Who hears of what, and when not."""

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.schemas.errors import DocumentError
from tachograph.sinks.alerts import load_routes
from tachograph.sinks.alerts.quiet import quiet_until
from tachograph.sinks.alerts.routes import Match, QuietHours
from tachograph.sinks.alerts.routing import matches, targets
from tests.sinks.alerts.samples import NOON, alert, table

FILE = """
receivers:
  - {name: hook, type: webhook, url: "https://example.org/in", secret_env: HOOK_KEY}
  - {name: chat, type: slack, url_env: CHAT_URL}
routes:
  - name: pages
    match: {kinds: [slo, integrity], at_least: critical, tenants: ["acme-*"]}
    receivers: [hook]
  - name: rest
    receivers: [chat]
    quiet_hours: {timezone: Europe/Berlin, start: "22:00", end: "07:00", unless: error}
"""


@pytest.mark.parametrize(
    ("match", "changes", "expected"),
    [
        pytest.param({}, {}, True, id="nothing named matches all"),
        pytest.param({"kinds": ["policy"]}, {}, True, id="its kind"),
        pytest.param({"kinds": ["slo"]}, {}, False, id="another kind"),
        pytest.param({"at_least": "error"}, {}, True, id="as severe as asked for"),
        pytest.param({"at_least": "critical"}, {}, False, id="less severe"),
        pytest.param({"at_least": "critical"}, {"severity": "fatal"}, True, id="a severity of a newer version"),
        pytest.param({"agents": ["code*"]}, {}, True, id="agents by pattern"),
        pytest.param({"agents": ["Code*"]}, {}, False, id="in the same case"),
        pytest.param({"tenants": ["other", "acme"]}, {}, True, id="one of the tenants"),
        pytest.param({"tenants": ["other"], "kinds": ["policy"]}, {}, False, id="everything named must hold"),
        pytest.param({"codes": ["policy.*"]}, {}, True, id="codes by pattern"),
    ],
)
def test_what_a_route_is_for(match: dict[str, Any], changes: dict[str, Any], expected: bool) -> None:
    """Kind, severity, agent, tenant and code."""
    assert matches(Match.model_validate(match), alert(**changes)) is expected


def test_the_first_route_decides_unless_it_goes_on() -> None:
    """As in every routing table; a receiver named twice is told once."""
    first = {"name": "a", "receivers": ["ops"]}
    second = {"name": "b", "receivers": ["dev", "ops"]}
    stops, goes_on = table(first, second), table({**first, "go_on": True}, second)
    assert [(found.receiver, found.route) for found, _ in targets(stops, alert(), NOON)] == [("ops", "a")]
    assert [(found.receiver, found.route) for found, _ in targets(goes_on, alert(), NOON)] == [
        ("ops", "a"),
        ("dev", "b"),
    ]


def berlin(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Berlin")).timestamp()


NIGHT = QuietHours.model_validate({"timezone": "Europe/Berlin", "start": "22:00", "end": "07:00"})
WEEKDAYS = QuietHours.model_validate(
    {"timezone": "Europe/Berlin", "start": "22:00", "end": "07:00", "days": ["mon", "tue", "wed", "thu", "fri"]}
)


@pytest.mark.parametrize(
    ("quiet", "now", "until"),
    [
        pytest.param(NIGHT, "2026-06-10T21:59:59", None, id="before it begins"),
        pytest.param(NIGHT, "2026-06-10T22:00", "2026-06-11T07:00", id="from its first moment"),
        pytest.param(NIGHT, "2026-06-11T03:00", "2026-06-11T07:00", id="after midnight"),
        pytest.param(NIGHT, "2026-06-11T07:00", None, id="its end is outside"),
        pytest.param(NIGHT, "2026-10-25T01:00", "2026-10-25T07:00", id="the clock goes back in that night"),
        pytest.param(NIGHT, "2026-03-29T01:00", "2026-03-29T07:00", id="the clock goes forward in that night"),
        pytest.param(WEEKDAYS, "2026-06-13T03:00", "2026-06-13T07:00", id="Saturday morning belongs to Friday's night"),
        pytest.param(WEEKDAYS, "2026-06-13T23:00", None, id="Saturday's own night does not count"),
    ],
)
def test_quiet_hours(quiet: QuietHours, now: str, until: str | None) -> None:
    """By the zone's own clock, across midnight and changes of the clock."""
    assert quiet_until(quiet, berlin(now)) == (berlin(until) if until else None)


@given(st.floats(1.6e9, 2.0e9))
def test_quiet_hours_always_end(now: float) -> None:
    """Whenever it is quiet, it ends within a day, and then it is not."""
    end = quiet_until(NIGHT, now)
    if end is not None:
        assert now < end <= now + 25 * 3600
        assert quiet_until(NIGHT, end) is None


def test_a_severe_alert_does_not_wait_for_morning() -> None:
    """What is severe enough is in a group of its own, due at once."""
    night = table(
        {"name": "n", "receivers": ["ops"], "quiet_hours": {"start": "00:00", "end": "23:59", "unless": "critical"}}
    )
    now = datetime(2026, 6, 10, 12, tzinfo=ZoneInfo("UTC")).timestamp()
    held = [found.release_at for found, _ in targets(night, alert(), now)]
    loud = [found.release_at for found, _ in targets(night, alert(severity="critical"), now)]
    assert held == [datetime(2026, 6, 10, 23, 59, tzinfo=ZoneInfo("UTC")).timestamp()]
    assert loud == [0.0]


def test_a_file_of_routes(tmp_path: Path) -> None:
    """The form that the documentation shows."""
    path = tmp_path / "routes.yaml"
    path.write_text(FILE)
    loaded = load_routes(path)
    assert [route.name for route in loaded.routes] == ["pages", "rest"]
    assert loaded.receiver("chat").url_env == "CHAT_URL"


def test_without_a_file_everything_goes_to_stdout() -> None:
    """A first start shows violations without being told where to."""
    assert [found.receiver for found, _ in targets(load_routes(None), alert(severity="info"), NOON)] == ["stdout"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        pytest.param(
            "secret_env: HOOK_KEY", "timeout_s: 5", ":3:5: receivers.0: a webhook needs secret_env", id="unsigned"
        ),
        pytest.param(
            "https://example.org/in", "ftp://canary", ":3:38: receivers.0.url: needs an address", id="no http"
        ),
        pytest.param("https://example.org", "https://u:canary@example.org", "would end up in logs", id="a password"),
        pytest.param("url_env: CHAT_URL", "timeout_s: 5", ":4:5: receivers.1: a slack needs either", id="no address"),
        pytest.param(
            "[slo, integrity]", "[slo, canary]", ":7:26: routes.0.match.kinds.1: Input should be", id="a kind"
        ),
        pytest.param("[chat]", "[nobody]", "route rest names receivers that are not there: nobody", id="a receiver"),
        pytest.param("name: rest", "name: pages", "routes of the same name: pages", id="a name twice"),
        pytest.param(
            "Europe/Berlin", "Mars/Canary", ":11:29: routes.1.quiet_hours.timezone: no such", id="a time zone"
        ),
        pytest.param(
            '"07:00"', '"22:00"', ":11:18: routes.1.quiet_hours: start and end are the same", id="no duration"
        ),
        pytest.param("at_least", "atleast", ":7:47: routes.0.match.atleast: Extra inputs", id="a slip of the pen"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    """Before anything is read from Kafka; the value is not repeated."""
    path = tmp_path / "routes.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(DocumentError) as refused:
        load_routes(path)
    assert sentence in str(refused.value)
    assert "canary" not in str(refused.value)
