"""Which receivers an alert goes to, by which route, and from when on."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from tachograph.sinks.alerts.alert import SEVERITIES, Alert
from tachograph.sinks.alerts.quiet import quiet_until
from tachograph.sinks.alerts.routes import GroupKey, Match, Route, RoutingTable


class GroupId(NamedTuple):
    """What alerts of one message have in common."""

    receiver: str
    route: str
    values: tuple[str, ...]
    release_at: float
    """End of the quiet hours that hold the group back; 0 if none do. A loud alert must not wait for a quiet one."""


def targets(table: RoutingTable, alert: Alert, now: float) -> Iterator[tuple[GroupId, Route]]:
    """Every group the alert joins, at most one for each receiver: two routes to one receiver are one message."""
    told: set[str] = set()
    for route in table.routes:
        if not matches(route.match, alert):
            continue
        release = _release(route, alert, now)
        values = tuple(_value(alert, key) for key in route.group_by)
        for receiver in route.receivers:
            if receiver not in told:
                told.add(receiver)
                yield GroupId(receiver, route.name, values, release), route
        if not route.go_on:
            return


def matches(match: Match, alert: Alert) -> bool:
    """Whether a route is for this alert."""
    return (
        (not match.kinds or alert.kind in match.kinds)
        and _rank(alert.severity) >= _rank(match.at_least)
        and _any(match.agents, alert.agent_id)
        and _any(match.tenants, alert.tenant_id)
        and _any(match.codes, alert.code)
    )


def _release(route: Route, alert: Alert, now: float) -> float:
    quiet = route.quiet_hours
    if quiet is None or _rank(alert.severity) >= _rank(quiet.unless):
        return 0.0
    return quiet_until(quiet, now) or 0.0


def _rank(severity: str) -> int:
    # A severity of a newer version is taken for the worst: better loud than lost.
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def _any(patterns: tuple[str, ...], name: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _value(alert: Alert, key: GroupKey) -> str:
    values: dict[GroupKey, str] = {
        "tenant": alert.tenant_id,
        "agent": alert.agent_id,
        "kind": alert.kind,
        "code": alert.code,
        "severity": alert.severity,
        "run": alert.run_id,
        "subject": alert.subject,
    }
    return values[key]
