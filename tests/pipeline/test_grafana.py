"""Every query of every dashboard, asked as Grafana asks it, on what the demo's agent left behind."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tachograph.console.database import Reader, reader
from tachograph.console.slo.alerting import figures_of
from tachograph.console.slo.counting import observe
from tachograph.console.slo.objective import Objective
from tachograph.console.slo.openslo import load_objectives
from tachograph.console.slo.shipped import shipped_folder
from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.insert import ClickHouseInserts
from tests.pipeline.grafana import ALL, DASHBOARDS, Looking, queries
from tests.pipeline.told import NOW, Record, World, micros
from tests.sinks.rows import avro_file, sample_row

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

OBJECTIVES = load_objectives(shipped_folder())
BROKEN = {"failed", "aborted", "SYSTEM_ERROR"}
ASKED = {
    f"{name}: {panel['title']}": (name, panel, sql)
    for name, dashboard in DASHBOARDS.items()
    for panel, sql in queries(dashboard)
}
CONTENT = {
    "user_request_raw", "constraints", "messages", "retrieval_snippets", "retrieval_query", "output_raw",
    "output_structured", "action_summary", "artifacts", "tool_results", "tool_input", "output", "error", "arguments",
    "message", "evidence", "intent", "input_request", "input_session", "input_attachments", "outputs", "body",
    "metadata", "tools", "transformations", "alignment_violations", "candidates", "selected", "detail", "hooks",
}  # fmt: skip
"""Columns that hold what somebody said, saw or wrote, or a piece of it."""


@pytest.fixture(scope="module")
def troubled(world: World, forged_stack: Settings) -> str:
    """A tenant with what the demo has none of: dead letters, missing snapshots, blocked records, alerts."""
    tenant, at = f"{world.tenant}-troubled", micros(NOW - timedelta(minutes=10))
    happened = {"tenant_id": tenant, "agent_id": "demo-coder", "occurred_at": at, "received_at": at}
    with closing(ClickHouseInserts(forged_stack.clickhouse)) as inserts:
        for table, rows in _trouble(at).items():
            made = [_row(table, number, happened, changes) for number, changes in enumerate(rows)]
            inserts.insert(table, list(made[0]), avro_file(table, made), f"{tenant}:{table}")
    return tenant


def _row(table: str, number: int, happened: Record, changes: Record) -> Record:
    row = sample_row(table, number)
    return row | {name: value for name, value in happened.items() if name in row} | changes


def _trouble(at: int) -> dict[str, list[Record]]:
    alert = {"kind": "slo", "code": "slo.burn_rate", "severity": "critical", "constraint_id": "tool-success"}
    sealed = {"sealed_at": at, "proposed_status": "DECIDED", "log_id": "log-a"}
    return {
        "dead_letters": [{}, {}, {"tenant_id": ""}],
        "snapshots": [
            {"stored": True, "deleted_at": None},
            {"stored": False, "deleted_at": None},
            {"stored": True, "deleted_at": at},
        ],
        "agent_failures": [{"kind": "events_dropped", "dropped": 7, "drop_reason": "spool_full"}],
        "record_proposals": [{"record_id": f"rec-{number}"} for number in range(4)],
        "decision_records": [
            sealed | {"record_id": "rec-0", "log_seq": 0, "status": "DECIDED"},
            sealed
            | {
                "record_id": "rec-1",
                "log_seq": 1,
                "status": "REJECTED",
                "verdicts": [
                    {"rule": "approval", "passed": False, "code": "record.approval.missing", "message": "no"},
                    {"rule": "evidence", "passed": True, "code": "", "message": ""},
                ],
            },
        ],
        "checkpoints": [{"log_id": "log-a", "tree_size": 1}],
        "violations": [
            alert | {"verdict": "firing", "occurred_at": at},
            alert | {"constraint_id": "alignment-pass-rate", "verdict": "firing", "occurred_at": at - 60_000_000},
            alert | {"constraint_id": "alignment-pass-rate", "verdict": "resolved", "occurred_at": at},
            {"kind": "integrity", "code": "integrity.snapshot_missing", "severity": "error", "verdict": "found"},
        ],
    }


class Grafana:
    """Dashboards as somebody of one tenant sees them."""

    def __init__(self, database: Reader, world: World, tenant: str) -> None:
        self._database = database
        self._looking = Looking(
            NOW - timedelta(hours=24),
            datetime.now(UTC) + timedelta(minutes=2),
            {
                "tenant": tenant,
                "agent": [ALL],
                "environment": [ALL],
                "trace": next(str(start["trace_id"]) for start in world.of("RunStarted")),
            },
        )

    def looking(self, name: str) -> Looking:
        """The agent's dashboard is of one agent."""
        chosen = dict(self._looking.chosen) | ({"agent": "demo-coder"} if name == "agent" else {})
        return Looking(self._looking.begin, self._looking.end, chosen)

    def table(self, key: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        name, _, sql = ASKED[key]
        columns, rows = self._database.table(self.looking(name).sql(sql))
        return list(columns), [tuple(row) for row in rows]

    def rows(self, key: str) -> list[dict[str, Any]]:
        columns, rows = self.table(key)
        return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def database(world: World, forged_stack: Settings) -> Iterator[Reader]:
    """The account that the data source is provisioned with."""
    assert world.tenant
    with reader(forged_stack) as found:
        yield found


@pytest.fixture(scope="module")
def demo(world: World, database: Reader) -> Grafana:
    return Grafana(database, world, world.tenant)


@pytest.fixture(scope="module")
def trouble(world: World, troubled: str, database: Reader) -> Grafana:
    return Grafana(database, world, troubled)


# -- Every panel -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ASKED)
def test_a_panel_is_answered_in_its_shape(key: str, demo: Grafana, trouble: Grafana) -> None:
    """One of the two tenants has something to show in each; what a column is called is what the panel expects."""
    panel = ASKED[key][1]
    answers = [(columns, rows) for columns, rows in (demo.table(key), trouble.table(key)) if rows]
    assert answers
    for columns, rows in answers:
        assert {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]} <= set(columns)
        _SHAPES[panel["type"]](columns, rows)


def _time_series(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    assert columns[0] == "time"
    times = [row[0] for row in rows]
    assert all(isinstance(moment, datetime) for moment in times)
    assert times == sorted(times), "the plugin makes series of rows in the order of time"
    series = [name for name, value in zip(columns, rows[0], strict=True) if isinstance(value, str)]
    assert len({(row[0], *(row[columns.index(name)] for name in series)) for row in rows}) == len(rows)
    assert len(columns) > 1 + len(series), "a series has a number"
    for row in rows:
        assert all(isinstance(value, str | int | float | None) for value in row[1:])


def _stat(_columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    assert len(rows) == 1
    assert all(isinstance(value, int | float | None) for value in rows[0])


def _bars(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    assert len(columns) == 2
    assert all(isinstance(name, str) and isinstance(value, int | float) for name, value in rows)


def _table(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    assert len(set(columns)) == len(columns)
    assert not any(isinstance(value, list | dict | tuple) for row in rows for value in row), "Grafana shows scalars"


def _traces(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    assert columns == [
        "traceID", "spanID", "parentSpanID", "serviceName", "operationName", "startTime", "duration", "tags",
        "serviceTags", "statusCode",
    ]  # fmt: skip
    for row in rows:
        assert all(set(tag) == {"key", "value"} for tag in (*row[7], *row[8]))


_SHAPES = {"timeseries": _time_series, "stat": _stat, "bargauge": _bars, "table": _table, "traces": _traces}


@pytest.mark.parametrize("key", ASKED)
def test_a_panel_shows_nothing_of_others(key: str, world: World, troubled: str, database: Reader) -> None:
    """A tenant that has nothing sees nothing; only letters that name no tenant are everybody's."""
    assert troubled
    columns, rows = Grafana(database, world, "nobody").table(key)
    if "dead letters" in key.lower():
        assert len(rows) == 1
        return
    constant = {"target", "budget_left"}
    for row in rows:
        for name, value in zip(columns, row, strict=True):
            assert name in constant or not isinstance(value, int | float) or value == 0, (name, value)


@pytest.mark.parametrize("key", ASKED)
def test_a_panel_asks_for_no_content(key: str, demo: Grafana, database: Reader) -> None:
    """By the tree that ClickHouse resolves the query to."""
    name, _, sql = ASKED[key]
    tree = "\n".join(str(row[0]) for row in database.rows(f"EXPLAIN QUERY TREE {demo.looking(name).sql(sql)}"))
    columns = set(re.findall(r"COLUMN id: \d+, column_name: (\w+)", tree))
    assert columns
    assert not columns & CONTENT


@pytest.mark.parametrize("name", DASHBOARDS)
def test_variables_offer_what_there_is(name: str, world: World, demo: Grafana, database: Reader) -> None:
    """The tenant is among the tenants, the agent among the agents."""
    offered = {
        variable["name"]: [row[0] for row in database.rows(demo.looking(name).sql(variable["query"]["rawSql"]))]
        for variable in DASHBOARDS[name]["templating"]["list"]
        if variable["type"] == "query"
    }
    assert world.tenant in offered["tenant"]
    assert offered.get("agent", ["demo-coder"]) == ["demo-coder"]
    assert offered.get("environment", [""]) in (
        [""],
        sorted({start["environment"] for start in world.of("RunStarted")}),
    )


# -- Figures that are counted another way ------------------------------------------------------------------------------


def test_runs_are_those_that_were_emitted(demo: Grafana, world: World) -> None:
    """By status, in all, and as shares."""
    ends = Counter(end["status"] for end in world.of("RunEnded"))
    shown: Counter[str] = Counter()
    for row in demo.rows("fleet: How runs ended"):
        shown[row["status"]] += row["runs"]
    assert shown == ends
    assert demo.table("fleet: Runs ended")[1] == [(ends.total(),)]
    failed = sum(ends[status] for status in BROKEN)
    assert demo.table("fleet: Failed")[1] == [(failed / ends.total(),)]
    not_whole = {row["run_id"] for row in world.rows["agent_runs"] if row["completeness"] == "incomplete"}
    assert demo.table("fleet: Not whole")[1] == [(len(not_whole),)]
    wrong = {end["run_id"] for end in world.of("RunEnded") if end["status"] in BROKEN} | not_whole
    assert {row["run_id"] for row in demo.rows("fleet: Runs to look at")} == wrong
    latest = demo.rows("agent: Latest runs")
    by_run: dict[str, set[str]] = {}
    for row in world.rows["violations"]:
        by_run.setdefault(row["run_id"], set()).add(row["violation_id"])
    assert {row["run_id"]: row["violations"] for row in latest} == {
        end["run_id"]: len(by_run.get(end["run_id"], ())) for end in world.of("RunEnded")
    }


def test_violations_are_those_that_the_core_finds(demo: Grafana, world: World) -> None:
    """By code and severity, and over time by kind."""
    ids: dict[tuple[str, ...], set[str]] = {}
    for row in world.rows["violations"]:
        ids.setdefault((row["kind"], row["code"], row["severity"]), set()).add(row["violation_id"])
    found = {
        (row["kind"], row["code"], row["severity"]): row["violations"] for row in demo.rows("fleet: What was violated")
    }
    assert found == {place: len(each) for place, each in ids.items()}
    kinds: Counter[str] = Counter()
    for row in demo.rows("fleet: Violations by kind"):
        kinds[row["kind"]] += row["violations"]
    assert kinds == Counter(place[0] for place, each in ids.items() for _ in each)


def test_tools_and_models_are_those_that_were_called(demo: Grafana, world: World) -> None:
    """Calls, failures, tokens and dollars."""
    calls = Counter([*(call["tool_name"] for call in world.calls()), *(tool for _, tool in world.unanswered())])
    tools = demo.rows("fleet: Tools")
    assert {row["tool_name"]: row["called"] for row in tools} == calls
    failed = Counter(call["tool_name"] for call in world.calls() if call["error_type"] is not None)
    assert {row["tool_name"]: round(row["failed"] * row["called"]) for row in tools if row["failed"]} == failed
    assert demo.table("fleet: Tool failures")[1] == [(pytest.approx(failed.total() / calls.total()),)]
    sent, received, usd = world.spent()
    (model,) = demo.rows("fleet: Models")
    assert (model["called"], model["sent"], model["received"]) == (len(world.model_calls), sent, received)
    assert model["usd"] == pytest.approx(float(usd))
    assert sum(row["usd"] for row in demo.rows("fleet: Cost by model")) == pytest.approx(float(usd))
    assert sum(row["sent"] for row in demo.rows("agent: Tokens by model")) == sent


def test_the_trace_is_whole(demo: Grafana, world: World) -> None:
    """As many spans as the run has steps, events and calls, and itself; and one root."""
    run = world.run
    spans = demo.rows("agent: Trace")
    expected = 1 + sum(
        record["run_id"] == run for kind in ("StepStarted", "DecisionEvent") for record in world.of(kind)
    )
    expected += sum(call["run_id"] == run for call in world.calls())
    assert len(spans) == expected
    assert sum(not span["parentSpanID"] for span in spans) == 1
    assert sum(row["spans"] for row in demo.rows("agent: Where its time went")) == expected


def test_objectives_stand_as_their_evaluator_says(world: World, demo: Grafana, database: Reader) -> None:
    """Budget, pace and every window, of each objective, at the same minute."""
    at = int(demo.looking("slo").end.timestamp()) // 60 * 60
    shown = {row["objective"]: row for row in demo.rows("slo: Burn rates")}
    left = dict(demo.table("slo: Error budget left")[1])
    assert set(shown) == set(left) == {objective.name for objective in OBJECTIVES}
    counted = {objective.name: _figures(objective, database, world.tenant, at) for objective in OBJECTIVES}
    assert sum(figures is not None for figures in counted.values()) > 3, "the demo is counted by most of them"
    for name, figures in counted.items():
        row = shown[name]
        if figures is None:
            assert row["total"] == 0
            continue
        assert (row["bad"], row["total"]) == (figures["bad"], figures["total"])
        assert row["budget_left"] == left[name] == pytest.approx(figures["budget_left"], abs=1e-6)
        assert row["exhausted_in_s"] == pytest.approx(figures["exhausted_in_s"], abs=1)
        words = {300: "5m", 1800: "30m", 3600: "1h", 7200: "2h", 21_600: "6h", 86_400: "1d", 259_200: "3d"}
        burns = {words[int(seconds)]: rate for seconds, rate in figures["burn"].items() if int(seconds) in words}
        assert {length: row[f"burn_{length}"] for length in burns} == pytest.approx(burns, abs=1e-4)


def _figures(objective: Objective, database: Reader, tenant: str, at: int) -> dict[str, Any] | None:
    found = [each for each in observe(database, objective, at) if each.tenant_id == tenant]
    return figures_of(objective, found[0]) if found else None


def test_alerts_are_on_until_they_are_resolved(trouble: Grafana) -> None:
    """One of the two still fires."""
    assert trouble.table("slo: Alerts on")[1] == [(1,)]
    assert [row["objective"] for row in trouble.rows("slo: Which alerts are on")] == ["tool-success"]
    assert len(trouble.rows("slo: What was announced")) == 3


def test_what_is_missing_is_counted(trouble: Grafana) -> None:
    """Dead letters, also those of nobody; snapshots by state; proposals without a record; the log's open end."""
    assert sum(row["letters"] for row in trouble.rows("pipeline: Dead letters")) == 3
    assert {row["state"]: row["snapshots"] for row in trouble.rows("pipeline: Snapshots")} == {
        "stored": 1,
        "missing": 1,
        "removed": 1,
    }
    assert trouble.table("pipeline: Not sealed")[1] == [(2,)]
    assert [row["code"] for row in trouble.rows("pipeline: Rejected and deferred")] == ["record.approval.missing"]
    assert [(row["records"], row["uncovered"]) for row in trouble.rows("pipeline: Logs")] == [(2, 1)]
    assert [row["records"] for row in trouble.rows("pipeline: What recorders lost")] == [7]


def test_rows_by_table_are_those_that_landed(demo: Grafana, world: World) -> None:
    """Of every table that the core writes to."""
    shown = {row["table"]: row["rows"] for row in demo.rows("pipeline: Rows by table")}
    made = {table: len(rows) for table, rows in world.rows.items()}
    assert {table: shown[table] for table in made} == made
