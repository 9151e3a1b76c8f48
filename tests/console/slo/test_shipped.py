"""The shipped objectives on the tables as they are migrated: what they count, and what it costs to count it."""

import uuid
from collections.abc import Iterator
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client

from tachograph.console.database import reader
from tachograph.console.slo.burn import windows
from tachograph.console.slo.counting import observe, observe_all, samples, shared_sql
from tachograph.console.slo.objective import Count, Objective
from tachograph.console.slo.openslo import load_objectives
from tachograph.console.slo.shipped import shipped_folder
from tachograph.schemas.settings import Settings
from tests.console.slo.simulation import DAY, HOUR, MINUTE, START

pytestmark = pytest.mark.stack

OBJECTIVES = {found.name: found for found in load_objectives(shipped_folder())}
CASES = {
    "alignment-pass-rate": (
        "alignment_status, rules",
        ["'pass', ''", "'warn', ''", "'unknown', ''", "'fail', ''", "'fail', 'plugin:judge'"],
        Count(1, 3),
    ),
    "policy-compliance": (
        "policy_status, rules",
        ["'pass', ''", "'fail', ''", "'fail', ''", "'', ''", "'fail', 'plugin:judge'"],
        Count(2, 3),
    ),
    "tool-success": (
        "complete, result_is_error, error_type",
        ["1, 0, NULL", "1, 0, ''", "1, 1, NULL", "1, 0, 'OSError'", "0, 1, 'OSError'"],
        Count(2, 4),
    ),
    "observability-completeness": ("completeness", ["'open'", "'complete'", "'incomplete'"], Count(1, 2)),
    "decision-latency": ("latency_ms", ["NULL", "0", "30000", "30001"], Count(1, 3)),
    "snapshot-success": (
        "stored, deleted_at",
        ["true, NULL", "true, NULL", "false, NULL", f"true, {START}"],
        Count(1, 3),
    ),
}
"""Columns, one row for each combination that matters, and what is bad of what counts."""
_RECEIVED = frozenset({"agent_runs", "decision_events", "evaluations", "tool_calls"})


class Ground:
    """A tenant of one test in the shared tables."""

    def __init__(self, settings: Settings, migrator: Client) -> None:
        self.settings = settings
        self.migrator = migrator
        self.tenant = f"t{uuid.uuid4().hex[:10]}"

    def insert(self, table: str, columns: str, rows: list[str], *, at: int, token: str = "", first: int = 0) -> None:
        """Rows that happened at ``at``, each with its own offset, as the sink writes them."""
        received = table in _RECEIVED
        times = "occurred_at, received_at" if received else "occurred_at"
        moments = f"{at}, {at}" if received else str(at)
        names = f"tenant_id, agent_id, run_id, event_id, {times}, _partition, _offset, {columns}"
        values = ", ".join(
            f"('{self.tenant}', 'a', 'r', 'e{number}', {moments}, 0, {number}, {row})"
            for number, row in enumerate(rows, start=first)
        )
        settings = {"async_insert": 0} | ({"insert_deduplication_token": token} if token else {})
        self.migrator.command(f"INSERT INTO {table} ({names}) VALUES {values}", settings=settings)  # noqa: S608 - our own names

    def counts(self, objective: Objective, at: int = START) -> dict[int, Count]:
        with reader(self.settings) as database:
            found = [item for item in observe(database, objective, at) if item.tenant_id == self.tenant]
        return {} if not found else dict(found[0].counts)


@pytest.fixture(scope="module")
def migrator(stack: Settings) -> Iterator[Client]:
    house = stack.clickhouse
    client = clickhouse_connect.get_client(
        host=house.host,
        port=house.http_port,
        username=house.migrate_user,
        password=house.migrate_password.get_secret_value(),
        database=house.database,
    )
    yield client
    client.close()


@pytest.fixture
def ground(stack: Settings, migrator: Client) -> Ground:
    return Ground(stack, migrator)


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_what_is_counted_and_what_is_bad(ground: Ground, name: str) -> None:
    """Every combination of values that matters, in the objective's own table; the bad ones can be named."""
    columns, rows, expected = CASES[name]
    objective = OBJECTIVES[name]
    ground.insert(objective.table, columns, rows, at=START - MINUTE)
    assert ground.counts(objective) == dict.fromkeys(windows(objective), expected)
    with reader(ground.settings) as database:
        assert len(samples(database, objective, ground.tenant, START)) == expected.bad


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_thirty_days_are_counted_without_reading_rows(ground: Ground, name: str) -> None:
    """ClickHouse answers from the counts it keeps beside the rows, and refuses if it cannot."""
    columns, rows, _ = CASES[name]
    objective = OBJECTIVES[name]
    ground.insert(objective.table, columns, rows, at=START - MINUTE)
    ground.insert(objective.table, columns, rows, at=START - 20 * DAY, first=len(rows))
    house = ground.settings.clickhouse
    with clickhouse_connect.get_client(
        host=house.host,
        port=house.http_port,
        username=house.console_user,
        password=house.console_password.get_secret_value(),
        database=house.database,
    ) as console:
        must: dict[str, Any] = {"force_optimize_projection": 1}
        sql = shared_sql([each for each in OBJECTIVES.values() if each.table == objective.table])
        assert console.query(sql, {"at": START}, settings=must).result_rows
        explained = console.query(f"EXPLAIN {sql}", {"at": START}).result_rows
        plan = "\n".join(line for (line,) in explained)
        assert ("slo_minutes" in plan, "slo_hours" in plan) == (True, True), plan


def test_all_at_once_is_each_by_itself(ground: Ground) -> None:
    """Objectives that share a table, and so a query, are told apart."""
    for name, objective in OBJECTIVES.items():
        columns, rows, _ = CASES[name]
        ground.insert(objective.table, columns, rows, at=START - MINUTE, first=100 * len(name))
    objectives = list(OBJECTIVES.values())
    with reader(ground.settings) as database:
        together = observe_all(database, objectives, START)
        assert together == [observe(database, objective, START) for objective in objectives]
    assert all(together)


def test_a_repeated_insert_is_not_counted_twice(ground: Ground) -> None:
    """The counts belong to the rows: what a token keeps out of the table is kept out of them too."""
    objective = OBJECTIVES["tool-success"]
    for _ in range(3):
        ground.insert("tool_calls", "complete, result_is_error", ["1, 1"] * 7, at=START - MINUTE, token=ground.tenant)
    assert ground.counts(objective)[5 * MINUTE] == Count(7, 7)


def test_late_rows_count_in_their_own_minute(ground: Ground) -> None:
    """What arrives after an evaluation is in the next one, in the windows that its own time falls into."""
    objective = OBJECTIVES["tool-success"]
    ground.insert("tool_calls", "complete", ["1"] * 5, at=START - MINUTE)
    assert ground.counts(objective)[HOUR] == Count(0, 5)
    ground.insert("tool_calls", "complete, result_is_error", ["1, 1"] * 4, at=START - 2 * HOUR, first=5)
    counts = ground.counts(objective)
    assert (counts[HOUR], counts[2 * HOUR], counts[30 * DAY]) == (Count(0, 5), Count(4, 9), Count(4, 9))


def test_rows_that_replace_each_other_are_counted_once_they_are_merged(stack: Settings, migrator: Client) -> None:
    """The same row twice, past its token: the table's last line of defence corrects the counts with the rows."""
    ground = Ground(stack, migrator)
    objective = OBJECTIVES["snapshot-success"]
    for token in ("first", "second"):
        ground.insert(
            "snapshots", "snapshot_id, stored", ["'s', true"], at=START - MINUTE, token=f"{ground.tenant}{token}"
        )
    migrator.command("OPTIMIZE TABLE snapshots FINAL")
    assert ground.counts(objective)[HOUR] == Count(0, 1)
