"""How long rows are kept: the classes of the contract, as ClickHouse enforces them."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from clickhouse_connect.driver.client import Client

from tachograph.schemas import retention
from tachograph.schemas.retention import KeepReason
from tachograph.schemas.settings import Settings
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
        "AND NOT match(name, '^(history|roles|half|aged)_')"  # scratch tables of other tests
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


REASONS = [
    pytest.param({"approvals": "destructive"}, {KeepReason.DESTRUCTIVE}, id="a destructive action"),
    pytest.param({"status": "REJECTED"}, {KeepReason.DENIED}, id="a rejection"),
    pytest.param({"policy_decisions": "deny"}, {KeepReason.DENIED}, id="a policy that said no"),
    pytest.param({"status": "ESCALATED"}, {KeepReason.ESCALATED}, id="an escalation"),
    pytest.param({"incident_id": "INC-1"}, {KeepReason.INCIDENT}, id="a link to an incident"),
    pytest.param({}, {KeepReason.FAILED_SCORECARD}, id="a failed scorecard"),
    pytest.param({"retention": "standard"}, set(), id="nothing of the kind"),
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
    runs = {f"run-{number}": {*param.values[1]} for number, param in enumerate(REASONS)}  # type: ignore[arg-type, misc]
    for number, param in enumerate(REASONS):
        row = record_row(number, place.tenant, f"run-{number}", dict(param.values[0]))  # type: ignore[arg-type]
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
