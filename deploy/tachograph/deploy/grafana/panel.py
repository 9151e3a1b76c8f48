"""One panel: a question, the query that answers it, and how the answer is drawn."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

CLICKHOUSE: Final = {"type": "grafana-clickhouse-datasource", "uid": "tachograph-clickhouse"}
"""The uid is that of the provisioned data source."""
PROMETHEUS: Final = {"type": "prometheus", "uid": "tachograph-prometheus"}

Kind = Literal["stat", "timeseries", "table", "bargauge", "traces"]
Step = tuple[float, str]

GOOD: Final = "green"
_FORMATS: Final = {"timeseries": (0, "timeseries"), "traces": (3, "traces")}
"""The plugin's number and word for what a query answers; all else is a table."""
_TABLE: Final = (1, "table")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """How one column of a table is shown."""

    unit: str = ""
    steps: tuple[Step, ...] = ()
    link: str = ""
    """Address that a click on the value opens."""
    link_title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. Either ``sql`` for ClickHouse, or ``promql`` with a legend for each expression."""

    title: str
    says: str
    """What it answers, and what it leaves out: the panel's description."""
    kind: Kind
    sql: str = ""
    promql: Mapping[str, str] = field(default_factory=dict)
    """Legend by expression."""
    unit: str = "short"
    """Grafana's id of the unit."""
    steps: tuple[Step, ...] = ()
    """From which value on which colour; below the first one it is green."""
    width: int = 8
    height: int = 8
    stacked: bool = False
    bars: bool = False
    columns: Mapping[str, Column] = field(default_factory=dict)
    interval: str = "1m"
    """Shortest bucket. The rollups know nothing shorter than a minute."""

    def model(self, number: int, x: int, y: int) -> dict[str, Any]:
        """As Grafana stores it."""
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.says,
            "gridPos": {"h": self.height, "w": self.width, "x": x, "y": y},
            "datasource": PROMETHEUS if self.promql else CLICKHOUSE,
            "interval": self.interval,
            "targets": self._targets(),
            "fieldConfig": {"defaults": self._defaults(), "overrides": self._overrides()},
            "options": self._options(),
        }

    def _targets(self) -> list[dict[str, Any]]:
        if self.promql:
            return [
                {"refId": chr(ord("A") + place), "datasource": PROMETHEUS, "expr": expression, "legendFormat": legend}
                for place, (expression, legend) in enumerate(self.promql.items())
            ]
        number, word = _FORMATS.get(self.kind, _TABLE)
        return [
            {
                "refId": "A",
                "datasource": CLICKHOUSE,
                "editorType": "sql",
                "queryType": word,
                "format": number,
                "rawSql": textwrap.dedent(self.sql).strip(),
            }
        ]

    def _defaults(self) -> dict[str, Any]:
        if self.kind == "traces":
            return {}
        defaults: dict[str, Any] = {"unit": self.unit, "thresholds": _thresholds(self.steps)}
        if self.kind == "timeseries":
            defaults["min"] = 0
            defaults["custom"] = {
                "drawStyle": "bars" if self.bars else "line",
                "fillOpacity": 60 if self.bars else 10,
                "stacking": {"mode": "normal" if self.stacked else "none"},
                "thresholdsStyle": {"mode": "dashed" if self.steps else "off"},
            }
        else:
            defaults["color"] = {"mode": "thresholds"}
        return defaults

    def _overrides(self) -> list[dict[str, Any]]:
        return [
            {"matcher": {"id": "byName", "options": name}, "properties": _properties(column)}
            for name, column in self.columns.items()
        ]

    def _options(self) -> dict[str, Any]:
        if self.kind == "stat":
            return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "/.*/"}, "colorMode": "value"}
        if self.kind == "bargauge":
            return {"reduceOptions": {"calcs": [], "values": True}, "orientation": "horizontal", "displayMode": "basic"}
        if self.kind == "timeseries":
            return {
                "legend": {"displayMode": "list", "placement": "bottom"},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        return {}


def _properties(column: Column) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if column.unit:
        found.append({"id": "unit", "value": column.unit})
    if column.steps:
        found.append({"id": "thresholds", "value": _thresholds(column.steps)})
        found.append({"id": "custom.cellOptions", "value": {"type": "color-text"}})
    if column.link:
        found.append({"id": "links", "value": [{"title": column.link_title, "url": column.link}]})
    return found


def _thresholds(steps: tuple[Step, ...]) -> dict[str, Any]:
    first = {"color": GOOD, "value": None}
    return {"mode": "absolute", "steps": [first, *({"color": color, "value": value} for value, color in steps)]}
