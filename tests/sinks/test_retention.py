"""How long rows are kept: the classes of the contract, as ClickHouse enforces them."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from clickhouse_connect.driver.client import Client

from tachograph.console.database import Reader, reader
from tachograph.console.kept_artifacts import protect_kept
from tachograph.console.retention import RetentionReport, Share, retention_report
from tachograph.schemas import retention
from tachograph.schemas.retention import KeepReason
from tachograph.schemas.settings import Settings
from tachograph.sinks.artifacts import Entry, open_store
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.kept_runs import MARKED_TABLES, keep_run, mark_kept_rows
from tests.sinks.conftest import Place
from tests.sinks.rows import encoded, sample_row
from tests.sinks.running import eventually, running_sink

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def migrating(stack: Settings) -> Iterator[Client]:
    house = stack.clickhouse
    with connect(house, house.migrate_user, house.migrate_password) as client:
        yield client


def test_every_table_expires_as_its_class_says(migrating: Client) -> None:
    """Days, the clock they count from, and whether marked rows stay, as the server has them."""
    rows = migrating.query(
        "SELECT name, engine_full FROM system.tables WHERE database = 'tachograph' AND engine LIKE '%MergeTree' "
        "AND NOT match(name, '^(history|roles|half|aged|upgrade)_')"  # scratch tables of other tests
    ).result_rows
    assert {name for name, _ in rows} == set(retention.TABLES)
    for name, engine in rows:
        days, clock = retention.TABLES[name].days, retention.clock_of(name)
        found = re.search(r"TTL (.*?) \+ toIntervalDay\((\d+)\)(?: WHERE (.*?))? SETTINGS", engine)
        if days is None:
            assert "TTL" not in engine, name
            continue
        assert found is not None, name
        assert int(found[2]) == days
        assert clock in found[1]
        assert ("NOT _kept" in (found[3] or "")) == retention.keeps_runs(name), name


@pytest.mark.parametrize("table", MARKED_TABLES)
def test_old_rows_go_and_marked_rows_stay(migrating: Client, table: str) -> None:
    """In a table like it: past its days a row goes with the next merge, unless its run is kept."""
    name, days = f"tachograph.aged_{uuid4().hex}", retention.TABLES[table].days
    migrating.command(f"CREATE TABLE {name} AS tachograph.{table}")
    try:
        for run, age, kept in (("old", days, 0), ("kept", days, 1), ("young", days - 2 if days else 0, 0)):
            migrating.command(
                f"INSERT INTO {name} ({_required(table)}run_id, _ingested_at, _kept) "
                f"SELECT {_values(table)}'{run}', now() - INTERVAL {age} DAY - INTERVAL 1 HOUR, {kept}",
                settings={"optimize_on_insert": 0, "async_insert": 0},
            )
        migrating.command(f"OPTIMIZE TABLE {name} FINAL")
        left = migrating.query(f"SELECT run_id FROM {name} ORDER BY run_id").result_rows  # noqa: S608 - as above
        assert left == [("kept",), ("young",)]
    finally:
        migrating.command(f"DROP TABLE {name}")


def _required(table: str) -> str:
    return "selected, " if table == "agent_decisions" else ""


def _values(table: str) -> str:
    return "'x', " if table == "agent_decisions" else ""


REASONS: list[tuple[dict[str, Any], set[KeepReason]]] = [
    ({"approvals": "destructive"}, {KeepReason.DESTRUCTIVE}),
    ({"status": "REJECTED"}, {KeepReason.DENIED}),
    ({"policy_decisions": "deny"}, {KeepReason.DENIED}),
    ({"status": "ESCALATED"}, {KeepReason.ESCALATED}),
    ({"incident_id": "INC-1"}, {KeepReason.INCIDENT}),
    ({}, {KeepReason.FAILED_SCORECARD}),  # protected, and for none of the above
    ({"retention": "standard"}, set()),
]


def record_row(number: int, tenant: str, run_id: str, changes: dict[str, Any]) -> dict[str, Any]:
    """A sealed record that gives no reason but those in ``changes``."""
    row = sample_row(
        "decision_records", number, tenant_id=tenant, run_id=run_id, status="DECIDED", incident_id=None,
        retention="protected",
    )  # fmt: skip
    row["approvals"] = [row["approvals"][0] | {"approval_mode_effective": changes.pop("approvals", "read_only")}]
    row["policy_decisions"] = [row["policy_decisions"][0] | {"verdict": changes.pop("policy_decisions", "allow")}]
    return row | {"tool_lineage": []} | changes


def test_runs_are_kept_for_the_reasons_of_the_contract(whole_place: Place) -> None:
    """Each record by itself, through the real sink; a hook's abort too; and then all their rows stay."""
    place, house = whole_place, whole_place.settings.clickhouse
    runs = {f"run-{number}": reasons for number, (_, reasons) in enumerate(REASONS)}
    for number, (changes, _) in enumerate(REASONS):
        row = record_row(number, place.tenant, f"run-{number}", dict(changes))
        place.send_raw("decision_records", number, encoded("decision_records", row))
    place.send("tool_calls", range(1), run_id="stopped", hook_action="abort")
    place.send("agent_steps", range(1), run_id="run-1")
    place.send("agent_steps", range(1, 2), run_id="run-6")
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("decision_records") == len(REASONS), "the records")
        eventually(lambda: place.count("tool_calls") == 1 and place.count("agent_steps") == 2, "the rows")
    found: dict[str, set[str]] = {}
    for run_id, reason in place.query(
        "SELECT DISTINCT run_id, reason FROM tachograph.kept_runs WHERE tenant_id = {tenant:String}"
    ):
        found.setdefault(run_id, set()).add(reason)
    assert found == {run: reasons for run, reasons in runs.items() if reasons} | {"stopped": {KeepReason.DENIED}}

    assert mark_kept_rows(house, dry_run=True)["agent_steps"] >= 1
    mark_kept_rows(house)
    assert kept_steps(place) == [("run-1", True), ("run-6", False)]
    keep_run(house, tenant_id=place.tenant, run_id="run-6", incident="INC-2", kept_by="operator")
    mark_kept_rows(house)
    assert kept_steps(place) == [("run-1", True), ("run-6", True)]
    assert mark_kept_rows(house, dry_run=True)["agent_steps"] == 0


def kept_steps(place: Place) -> list[Any]:
    sql = "SELECT run_id, _kept FROM tachograph.agent_steps WHERE tenant_id = {tenant:String} ORDER BY run_id"
    return list(place.query(sql))


def tachograph(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tachograph.console.main", "--home", str(home), "retention", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})


def test_the_report_adds_up(place: Place) -> None:
    """By table and class: rows, bytes, age, what goes when; and a run held by a person is protected at once."""
    house = place.settings.clickhouse
    place.send("agent_steps", range(3), run_id="held")
    place.send("agent_steps", range(3, 5), run_id="other")
    place.send("agent_runs", range(1), run_id="held")
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count("agent_steps") == 5 and place.count("agent_runs") == 1, "the rows")
    keep_run(house, tenant_id=place.tenant, run_id="held", incident="INC-3", kept_by="operator")
    with reader(place.settings) as database:
        before = _shares(retention_report(database), "agent_steps")
        assert before["protected"].unmarked >= 3
        done = tachograph(place.settings.home, "hold", "held", "--incident", "INC-4", "--tenant", place.tenant)
        assert done.returncode == 0, done.stderr
        report = retention_report(database)
        tables = database.rows("SELECT name, total_rows FROM system.tables WHERE database = 'tachograph'")
        counted = {name: rows for name, rows in tables}  # noqa: C416 - rows have two columns, which the type does not say
    shares = _shares(report, "agent_steps")
    assert shares["protected"].unmarked == 0
    assert shares["protected"].days is None
    assert shares["protected"].next_expiry is None
    standard = shares["standard"]
    assert standard.oldest is not None
    assert standard.next_expiry == standard.oldest + timedelta(days=180)
    assert shares["protected"].rows >= 3
    for table in retention.TABLES:
        shared = [share for share in report.shares if share.table == table]
        assert sum(share.rows for share in shared) == counted[table], table
        assert all(share.bytes > 0 for share in shared if share.rows), table
    assert report.kept_runs["incident"] >= 1


def _shares(report: RetentionReport, table: str) -> dict[str, Share]:
    return {share.keeping: share for share in report.shares if share.table == table}


def test_the_command_prints_what_it_found(stack: Settings) -> None:
    """JSON on stdout; a run that nobody has seen is a sentence and exit code 2."""
    shown = tachograph(stack.home, "report", "--json")
    assert shown.returncode == 0, shown.stderr
    assert {"tables", "kept_runs"} == json.loads(shown.stdout).keys()
    table = tachograph(stack.home, "report").stdout
    assert re.search(r"^agent_steps +(standard|protected) +(180|for good) ", table, re.MULTILINE)
    assert not re.search(r"\d\d:\d\d", table), "what is kept by days is told in days"
    assert tachograph(stack.home, "apply", "--dry-run").returncode == 0
    unknown = tachograph(stack.home, "hold", "nobody-ran-this", "--incident", "INC-5")
    assert unknown.returncode == 2
    assert "tachograph runs" in unknown.stderr


def test_the_bytes_of_a_kept_run_are_protected(stack: Settings, tmp_path: Path) -> None:
    """Those of other runs keep their class, and so do those of a run of the same name of another tenant."""
    run, tenant = f"kept-{uuid4().hex[:8]}", f"t{uuid4().hex[:8]}"
    settings = stack.model_copy(update={"home": tmp_path})
    store = open_store(settings, create_keys=True)
    keep_run(stack.clickhouse, tenant_id=tenant, run_id=run, incident="INC-9", kept_by="operator")

    async def put(of: str, name: str) -> Entry:
        return await store.put(name.encode(), tenant_id=of, subject=name, created_at=1, record={"run_id": name})

    async def classes(database: Reader) -> list[str]:
        entries = [await put(tenant, run), await put(tenant, "another"), await put("elsewhere", run)]
        assert await protect_kept(store, database, dry_run=True) == 1
        assert await protect_kept(store, database) == 1
        assert await protect_kept(store, database) == 0
        return [(await store.entry(entry.tenant_id, entry.artifact_id)).retention.value for entry in entries]

    with reader(stack) as database:
        assert asyncio.run(classes(database)) == ["protected", "short", "short"]
