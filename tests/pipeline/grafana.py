"""Grafana, as far as a query is concerned: what becomes of ``rawSql`` before ClickHouse sees it.

First the data source's page replaces ``$__conditionalAll`` and Grafana the variables, then its server part the time
macros. What is not known here is an error, so a panel cannot use what was never expanded in a test.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards"
DASHBOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
ALL = "$__all"

Chosen = Mapping[str, str | Sequence[str]]
"""Values of variables; a sequence where many can be chosen."""


@dataclass(frozen=True)
class Looking:
    """Somebody in front of a dashboard."""

    begin: datetime
    end: datetime
    chosen: Chosen
    interval_s: int = 60

    def sql(self, raw: str) -> str:
        """What ClickHouse is asked."""
        expanded = self._macros(self._variables(self._conditions(raw)))
        assert "$" not in expanded, f"not expanded: {expanded}"
        return expanded

    def _conditions(self, raw: str) -> str:
        def condition(found: "re.Match[str]") -> str:
            value = self.chosen[found["variable"]]
            return "1=1" if value == "" or list(value) == [ALL] else found["condition"]

        return re.sub(r"\$__conditionalAll\((?P<condition>.+?), \$(?P<variable>\w+)\)", condition, raw)

    def _variables(self, raw: str) -> str:
        def quoted(found: "re.Match[str]") -> str:
            value = self.chosen[found["variable"]]
            assert found["format"] == "sqlstring", "every other format leaves quotes in a value as they are"
            values = [value] if isinstance(value, str) else value
            return ",".join("'" + each.replace("'", "''") + "'" for each in values)

        return re.sub(r"\$\{(?P<variable>\w+)(?::(?P<format>\w+))?\}", quoted, raw)

    def _macros(self, raw: str) -> str:
        begin, end = f"toDateTime({int(self.begin.timestamp())})", f"toDateTime({int(self.end.timestamp())})"
        raw = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 >= {begin} AND \1 <= {end}", raw)
        interval = rf"toStartOfInterval(toDateTime(\1), INTERVAL {self.interval_s} second)"
        raw = re.sub(r"\$__timeInterval\((\w+)\)", interval, raw)
        return re.sub(r"\$__fromTime\b", begin, re.sub(r"\$__toTime\b", end, raw))


def panels(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Panels that ask something."""
    yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def queries(dashboard: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Panels that ask ClickHouse, with their SQL."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            if "rawSql" in target:
                yield panel, target["rawSql"]
