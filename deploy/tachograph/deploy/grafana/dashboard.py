"""A dashboard: variables above, sections of panels below, links to the others beside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tachograph.deploy.grafana.panel import CLICKHOUSE, Panel

SCHEMA_VERSION: Final = 41
"""Grafana's version of the JSON, that of Grafana 12. Newer releases read older versions."""
_WIDTH: Final = 24
_TAG: Final = "tachograph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A choice above the panels. Without ``sql`` it is a text that people type."""

    name: str
    label: str
    sql: str = ""
    many: bool = False
    """Any number can be chosen, and all."""
    text: str = ""
    """What a text begins as."""

    def model(self) -> dict[str, Any]:
        """As Grafana stores it."""
        named = {"name": self.name, "label": self.label}
        if not self.sql:
            begins = {"text": self.text, "value": self.text}
            return {"type": "textbox", **named, "query": self.text, "current": begins, "options": [begins]}
        return {
            "type": "query",
            **named,
            "datasource": CLICKHOUSE,
            "query": {"editorType": "sql", "rawSql": self.sql},
            "refresh": 2,  # whenever the time range changes
            "sort": 1,
            "multi": self.many,
            "includeAll": self.many,
            "current": {"text": ["All"], "value": ["$__all"]} if self.many else {},
        }


@dataclass(frozen=True, slots=True)
class Section:
    """Panels under one title, laid out from left to right."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One dashboard."""

    name: str
    title: str
    says: str
    variables: Sequence[Variable]
    sections: Sequence[Section]
    since: str = "now-24h"

    @property
    def uid(self) -> str:
        """What links name it by."""
        return uid(self.name)

    def model(self) -> dict[str, Any]:
        """As Grafana stores it."""
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.says,
            "tags": [_TAG],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": False,
            "graphTooltip": 1,
            "time": {"from": self.since, "to": "now"},
            "timezone": "browser",
            "refresh": "1m",
            "links": [
                {
                    "type": "dashboards",
                    "title": "Tachograph",
                    "tags": [_TAG],
                    "asDropdown": False,
                    "includeVars": True,
                    "keepTime": True,
                },
                {
                    "type": "link",
                    "title": "Web console",
                    "url": "${console}",
                    "icon": "external link",
                    "targetBlank": True,
                },
            ],
            "templating": {"list": [variable.model() for variable in self.variables]},
            "panels": list(self._panels()),
        }

    def _panels(self) -> Iterator[dict[str, Any]]:
        number = y = 0
        for section in self.sections:
            number += 1
            row = {"id": number, "type": "row", "title": section.title, "collapsed": False, "panels": []}
            yield row | {"gridPos": {"h": 1, "w": _WIDTH, "x": 0, "y": y}}
            y += 1
            x = tallest = 0
            for panel in section.panels:
                if x + panel.width > _WIDTH:
                    x, y, tallest = 0, y + tallest, 0
                number += 1
                yield panel.model(number, x, y)
                x, tallest = x + panel.width, max(tallest, panel.height)
            y += tallest


def uid(name: str) -> str:
    """What links name a dashboard by."""
    return f"tachograph-{name}"
