"""Objectives as OpenSLO v1 documents. Read whole, or refused with the line of every mistake.

OpenSLO leaves it open how a metric source is asked. Ours is of type ``tachograph``: a table, and a condition in
ClickHouse's SQL that a row meets. Bad and total must be of one table, so that one query answers for every window.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from tachograph.console.slo.objective import Objective
from tachograph.schemas.documents import read_documents
from tachograph.schemas.errors import DocumentError

MINIMUM_EVENTS: Final = "tachograph.dev/minimum-events"
MINIMUM_BAD: Final = "tachograph.dev/minimum-bad"
NO_DATA_AFTER: Final = "tachograph.dev/no-data-after"
ANNOTATIONS: Final = (MINIMUM_EVENTS, MINIMUM_BAD, NO_DATA_AFTER)

_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"([1-9][0-9]*)([mhdw])")
_LONGEST_S: Final = 90 * 86_400
"""What the tables keep at most of the rows that objectives count."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class _Part(BaseModel):
    # OpenSLO writes its names in camel case.
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


class _Metadata(_Part):
    name: Name
    display_name: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}

    @field_validator("annotations")
    @classmethod
    def _are_sound(cls, found: Mapping[str, str]) -> Mapping[str, str]:
        ours = [name for name in found if name.startswith("tachograph.dev/")]
        if unknown := sorted(set(ours) - set(ANNOTATIONS)):
            raise ValueError(f"unknown annotation {', '.join(unknown)}; known are {', '.join(ANNOTATIONS)}")
        for name in (MINIMUM_EVENTS, MINIMUM_BAD):
            if name in found and not re.fullmatch(r"[1-9][0-9]{0,8}", found[name]):
                raise ValueError(f"{name} must be a whole number above 0, in quotes")
        if NO_DATA_AFTER in found:
            seconds_of(found[NO_DATA_AFTER])
        return found


class _Rows(_Part):
    table: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]
    condition: Annotated[str, Field(min_length=1, max_length=2000)]

    @field_validator("condition")
    @classmethod
    def _is_one_condition(cls, text: str) -> str:
        # The account behind the query may only read. This catches slips, not attackers.
        if ";" in text or "--" in text or "/*" in text:
            raise ValueError("a condition has no semicolon and no comment")
        return text


class _Source(_Part):
    type: Literal["tachograph"]
    spec: _Rows


class _Metric(_Part):
    metric_source: _Source


class _Ratio(_Part):
    counter: Literal[False] = False
    bad: _Metric
    total: _Metric

    @model_validator(mode="after")
    def _share_a_table(self) -> "_Ratio":
        if self.bad.metric_source.spec.table != self.total.metric_source.spec.table:
            raise ValueError("bad and total must name the same table")
        return self


class _IndicatorSpec(_Part):
    ratio_metric: _Ratio


class _Indicator(_Part):
    metadata: _Metadata
    spec: _IndicatorSpec


class _Window(_Part):
    duration: str
    is_rolling: Literal[True]

    @field_validator("duration")
    @classmethod
    def _is_a_duration(cls, text: str) -> str:
        if not 3 * 86_400 < seconds_of(text) <= _LONGEST_S:
            raise ValueError("must be longer than 3d, the longest window of an alert, and at most 90d")
        return text


class _Target(_Part):
    display_name: str = ""
    target: Annotated[float, Field(gt=0, lt=1)]


class _Spec(_Part):
    description: str = ""
    service: Name
    indicator: _Indicator
    time_window: Annotated[tuple[_Window, ...], Field(min_length=1, max_length=1)]
    budgeting_method: Literal["Occurrences"]
    objectives: Annotated[tuple[_Target, ...], Field(min_length=1, max_length=1)]


class Document(_Part):
    """One document of kind SLO. Fields are OpenSLO's."""

    api_version: Literal["openslo/v1"]
    kind: Literal["SLO"]
    metadata: _Metadata
    spec: _Spec

    def objective(self) -> Objective:
        """What it asks for, in our words."""
        ratio, notes = self.spec.indicator.spec.ratio_metric, self.metadata.annotations
        return Objective(
            name=self.metadata.name,
            title=self.metadata.display_name or self.metadata.name,
            description=" ".join(self.spec.description.split()),
            table=ratio.total.metric_source.spec.table,
            bad=ratio.bad.metric_source.spec.condition,
            total=ratio.total.metric_source.spec.condition,
            target=self.spec.objectives[0].target,
            period_s=seconds_of(self.spec.time_window[0].duration),
            minimum_events=int(notes.get(MINIMUM_EVENTS, "20")),
            minimum_bad=int(notes.get(MINIMUM_BAD, "2")),
            no_data_after_s=seconds_of(notes[NO_DATA_AFTER]) if NO_DATA_AFTER in notes else None,
        )


def seconds_of(text: str) -> int:
    """Seconds of a duration such as ``30d``. Raises ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError("a duration is a number and m, h, d or w, such as 30d")
    return int(found[1]) * _UNITS[found[2]]


def load_objectives(folder: Path) -> list[Objective]:
    """Every objective of the folder's YAML files, by name. Raises DocumentError for mistakes and repeated names."""
    paths = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    if not paths:
        raise DocumentError(f"{folder}: no .yaml files. Set slo.folder to where your objectives are.")
    problems: list[str] = []
    found: dict[str, Objective] = {}
    for path in paths:
        try:
            documents = read_documents(path, Document)
        except DocumentError as error:
            problems.append(str(error))
            continue
        for document in documents:
            objective = document.objective()
            if objective.name in found:
                problems.append(f"{path}: an objective named {objective.name} is there already")
            found[objective.name] = objective
    if problems:
        raise DocumentError("\n".join(problems))
    return [found[name] for name in sorted(found)]
