"""Every dashboard as a file: a change of a panel is a change of its lines and no others."""

import json
from collections.abc import Sequence
from typing import Any, Final

from tachograph.console.slo.objective import Objective
from tachograph.deploy.grafana.agent import agent
from tachograph.deploy.grafana.dashboard import Dashboard
from tachograph.deploy.grafana.fleet import fleet
from tachograph.deploy.grafana.pipeline import pipeline
from tachograph.deploy.grafana.slo import slo

_LINE: Final = 110
"""What fits is written on one line: a file of six thousand lines with a brace each is read by nobody."""


def dashboards(objectives: Sequence[Objective]) -> list[Dashboard]:
    """The four, from the widest look to the closest."""
    return [fleet(), agent(), slo(objectives), pipeline()]


def dashboard_files(objectives: Sequence[Objective]) -> dict[str, str]:
    """Content of each file by its name."""
    return {f"{each.name}.json": _json(each.model()) + "\n" for each in dashboards(objectives)}


def _json(value: Any, indent: str = "") -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(indent) + len(line) <= _LINE:
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_json(item, deeper)}" for key, item in value.items()]
        opening, closing = "{}"
    else:
        parts = [_json(item, deeper) for item in value]
        opening, closing = "[]"
    return f"{opening}\n{deeper}" + f",\n{deeper}".join(parts) + f"\n{indent}{closing}"
