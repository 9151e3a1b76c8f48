"""What is exported to OTLP, table by table: which rows start it, and the spans and logs that are made of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tachograph.console.database import Reader
from tachograph.console.export.places import Place, within
from tachograph.schemas import tables
from tachograph.schemas.tables.kinds import Table
from tachograph.sinks.otlp.content import NEEDS
from tachograph.sinks.otlp.logs import event_log, violation_log
from tachograph.sinks.otlp.requests import Exported, Item, actor_of
from tachograph.sinks.otlp.spans import span_of
from tachograph.sinks.otlp.vocabulary import Vocabulary

Row = Mapping[str, Any]
Told = dict[Exported, list[Item]]

_OF_RUNS: Final = "tenant_id IN {tenants:Array(String)} AND run_id IN {runs:Array(String)}"
_SPANS: Final = "SELECT * EXCEPT (began_at), toUnixTimestamp64Micro(began_at) AS began_at FROM"
"""Spans of a view. Times are whole microseconds, because a wild clock would break the driver's dates."""

_ROWS: Final = (
    "SELECT * EXCEPT (began_at, occurred_at, _ingested_at), toUnixTimestamp64Micro(began_at) AS began_at FROM"
)
"""The same of a view that shows its rows' places."""

_TIMES: Final = frozenset({"occurred_at", "received_at"})

_ROOT_SPAN: Final = "lower(leftPad(hex(sipHash64(violation.run_id)), 16, '0'))"
"""Id of a run's own span, as the view ``run_spans`` makes it."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table whose rows start an export."""

    table: Table
    ended: str
    """Rows that finish something. Others start nothing, unless a whole run is asked for."""
    tell: Callable[["Page"], Told]
    always: str = "1"
    """Rows that can be told at all."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, and what is needed to make spans and logs of them."""

    database: Reader
    vocabulary: Vocabulary
    places: Sequence[Place]
    condition: str
    """On the rows, besides their places."""
    whole: bool
    """What has not ended is told, too."""
    parameters: Mapping[str, Any]
    waiting: set[tuple[int, int]] = field(default_factory=set)
    """Places of calls whose parents have not landed."""

    def rows(self, sql: str) -> list[Row]:
        """Rows of a query on the runs of this page."""
        about = {
            "tenants": sorted({place.tenant_id for place in self.places}),
            "runs": sorted({place.run_id for place in self.places}),
        }
        names, found = self.database.table(sql, {**self.parameters, **about})
        return [dict(zip(names, row, strict=True)) for row in found]

    def here(self, found: Iterable[Row]) -> list[Row]:
        """Those of the rows that stand on this page, in order."""
        standing = {(place.partition, place.offset) for place in self.places}
        return sorted(
            (row for row in found if (row["_partition"], row["_offset"]) in standing),
            key=lambda row: (row["_partition"], row["_offset"]),
        )

    @property
    def runs(self) -> set[tuple[str, str]]:
        """Tenants and runs."""
        return {(place.tenant_id, place.run_id) for place in self.places}


def _runs(page: Page) -> Told:
    spans = [
        row
        for row in page.rows(f"{_SPANS} run_spans WHERE {_OF_RUNS}")
        if (row["tenant_id"], row["run_id"]) in page.runs
    ]
    found: dict[tuple[str, str], list[Row]] = {}
    for violation in page.rows(
        "SELECT tenant_id, run_id, toUnixTimestamp64Micro(occurred_at) AS occurred_at, code, severity, kind, "  # noqa: S608 - as above
        f"violation_id FROM violations WHERE {_OF_RUNS} "
        "ORDER BY occurred_at, violation_id LIMIT 1 BY tenant_id, violation_id"
    ):
        found.setdefault((violation["tenant_id"], violation["run_id"]), []).append(violation)
    unended = page.rows(
        f"{_SPANS} step_spans WHERE {_OF_RUNS} AND (tenant_id, run_id, source_id) NOT IN ("  # noqa: S608 - as above
        f"SELECT tenant_id, run_id, step_id FROM agent_steps WHERE {_OF_RUNS} AND event_type = 'step_ended')"
    )
    items = [
        Item(
            actor_of(row, page.vocabulary.resource("run_spans")),
            span_of(row, page.vocabulary, found=found.get((row["tenant_id"], row["run_id"]), ())),
        )
        for row in spans
    ]
    # A step that was never ended is told with its run.
    return {Exported.TRACES: items + _step_items(page, () if page.whole else unended)}


def _steps(page: Page) -> Told:
    touched = {
        (row["tenant_id"], row["run_id"], row["step_id"])
        for row in page.here(
            page.rows(
                "SELECT tenant_id, run_id, step_id, _partition, _offset FROM agent_steps "  # noqa: S608 - as above
                f"WHERE {_OF_RUNS} AND {page.condition} AND {within(page.places)}"
            )
        )
    }
    found = page.rows(f"{_SPANS} step_spans WHERE {_OF_RUNS}")
    chosen = [row for row in found if (row["tenant_id"], row["run_id"], row["source_id"]) in touched]
    return {Exported.TRACES: _step_items(page, chosen)}


def _step_items(page: Page, found: Iterable[Row]) -> list[Item]:
    names = page.vocabulary.resource("step_spans")
    return [
        Item(actor_of(row, names), span_of(row, page.vocabulary))
        for row in found
        if (row["tenant_id"], row["run_id"]) in page.runs
    ]


def _events(page: Page) -> Told:
    where = f"{_OF_RUNS} AND {within(page.places)}"
    told = page.vocabulary.logs("decision_events") | page.vocabulary.contents("decision_events")
    columns = {"tenant_id", "run_id", "trace_id", "span_id", "agent_id", "agent_version", "environment", "occurred_at"}
    columns |= {"received_at", "_partition", "_offset", *told}
    columns |= {more for column in told for more in NEEDS.get(column, ())}
    rows = page.here(page.rows(f"SELECT {_chosen(columns)} FROM decision_events WHERE {where}"))  # noqa: S608 - as above
    spans = page.here(page.rows(f"{_ROWS} event_spans WHERE {where}"))
    by_place = {(row["_partition"], row["_offset"]): row for row in rows}
    vocabulary = page.vocabulary
    of_spans, of_logs = vocabulary.resource("event_spans"), vocabulary.resource("decision_events")
    return {
        Exported.TRACES: [
            Item(
                actor_of(row, of_spans),
                span_of(
                    row, vocabulary, captured=("decision_events", by_place.get((row["_partition"], row["_offset"]), {}))
                ),
            )
            for row in spans
        ],
        Exported.LOGS: [Item(actor_of(row, of_logs), event_log(row, vocabulary)) for row in rows],
    }


def _calls(page: Page) -> Told:
    where = f"{_OF_RUNS} AND {within(page.places)}"
    contents = page.vocabulary.contents("tool_calls")
    captured: dict[tuple[int, int], Row] = {}
    if contents:
        asked = ", ".join(["_partition", "_offset", *sorted(contents)])
        for row in page.rows(f"SELECT {asked} FROM tool_calls WHERE {where}"):  # noqa: S608 - as above
            captured[row["_partition"], row["_offset"]] = row
    found = page.here(
        page.rows(
            f"{_ROWS.removesuffix(' FROM')}, _ingested_at > now64(3) - INTERVAL 1 MINUTE AS young "
            f"FROM call_spans WHERE {where}"
        )
    )
    page.waiting.update((row["_partition"], row["_offset"]) for row in found if row["parent_missing"] and row["young"])
    names = page.vocabulary.resource("call_spans")
    return {
        Exported.TRACES: [
            Item(
                actor_of(row, names),
                span_of(
                    row, page.vocabulary, captured=("tool_calls", captured.get((row["_partition"], row["_offset"]), {}))
                ),
            )
            for row in found
        ]
    }


def _violations(page: Page) -> Told:
    told = page.vocabulary.logs("violations") | page.vocabulary.contents("violations")
    columns = {"tenant_id", "run_id", "trace_id", "agent_id", "occurred_at", "message", *told}
    rows = page.here(
        page.rows(
            # A violation is told beside the event that broke the promise, or else beside its run.
            f"SELECT {_chosen({*columns, '_partition', '_offset'}, 'violation.')}, "  # noqa: S608 - as above
            f"multiIf(event.span_id != '', event.span_id, violation.run_id = '', '', {_ROOT_SPAN}) AS span_id "
            f"FROM (SELECT * FROM violations WHERE {_OF_RUNS} AND {within(page.places)}) AS violation "
            "LEFT ANY JOIN (SELECT tenant_id, run_id, event_id, span_id FROM decision_events "
            f"WHERE {_OF_RUNS} AND run_id != '') AS event ON event.tenant_id = violation.tenant_id "
            "AND event.run_id = violation.run_id AND event.event_id = ifNull(violation.event_id, '')"
        )
    )
    names = page.vocabulary.resource("violations")
    return {Exported.LOGS: [Item(actor_of(row, names), violation_log(row, page.vocabulary)) for row in rows]}


def _chosen(columns: Iterable[str], table: str = "") -> str:
    """Columns by name; times as whole microseconds."""
    return ", ".join(
        f"toUnixTimestamp64Micro({table}{column}) AS {column}" if column in _TIMES else f"{table}{column} AS {column}"
        for column in sorted(columns)
    )


SOURCES: Final = (
    Source(tables.BY_NAME["agent_steps"], "event_type = 'step_ended'", _steps),
    Source(tables.BY_NAME["decision_events"], "1", _events),
    Source(tables.BY_NAME["tool_calls"], "1", _calls, always="leg = 'call' AND isNotNull(span_id)"),
    Source(tables.BY_NAME["violations"], "1", _violations),
    Source(tables.BY_NAME["agent_runs"], "event_type IN ('run_ended', 'run_silent')", _runs),
)
"""In the order in which they are exported: a run's own span last, when the rest of it is there."""
