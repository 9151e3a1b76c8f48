"""Rollups count every row once, in the bucket of its own time, and costs say what they do not know."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import fastavro
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from tachograph.console.cli.prices import shipped_prices
from tachograph.schemas.errors import DocumentError
from tachograph.schemas.settings import Settings
from tachograph.schemas.wire import load_catalogue
from tachograph.sinks.clickhouse.client import connect
from tachograph.sinks.clickhouse.insert import ClickHouseInserts
from tachograph.sinks.clickhouse.prices import apply_prices, missing_prices, read_price_file, read_prices
from tests.sinks.rows import sample_row

HOUR_US = 3_600_000_000
NOW_US = int(datetime.now(UTC).timestamp()) * 1_000_000
"""Minutes are kept for thirty days, so these rows are of today."""


@pytest.fixture(scope="module")
def migrating(stack: Settings) -> Iterator[Client]:
    house = stack.clickhouse
    with connect(house, house.migrate_user, house.migrate_password) as client:
        yield client


@pytest.fixture(scope="module")
def inserts(stack: Settings) -> Iterator[ClickHouseInserts]:
    """Inserts as the sink makes them, under its account."""
    made = ClickHouseInserts(stack.clickhouse)
    yield made
    made.close()


def event(tenant: str, number: int, **changes: Any) -> dict[str, Any]:
    return sample_row("decision_events", number, tenant_id=tenant, occurred_at=NOW_US, **changes)


def call(tenant: str, number: int, **changes: Any) -> dict[str, Any]:
    known = {"leg": "call", "tool_name": "grep", "duration_ms": 10, "error_type": None, "skipped": False}
    known |= {
        "agent_id": "a",
        "hook_action": "continue",
        "result_is_error": False,
        "complete": True,
        "occurred_at": NOW_US,
    }
    return sample_row("tool_calls", number, tenant_id=tenant, **(known | changes))


def land(inserts: ClickHouseInserts, table: str, rows: list[dict[str, Any]], token: str) -> None:
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(load_catalogue().latest(f"rows.{table}").plain), rows)
    inserts.insert(table, list(rows[0]), file.getvalue(), token)


def counted(client: Client, view: str, tenant: str, what: str = "sum(calls)") -> Any:
    sql = f"SELECT {what} FROM tachograph.{view} WHERE tenant_id = {{tenant:String}}"  # noqa: S608 - our names
    return client.query(sql, parameters={"tenant": tenant}).result_rows[0][0]


@pytest.mark.stack
def test_a_repeated_insert_does_not_count_twice(migrating: Client, inserts: ClickHouseInserts) -> None:
    """The same token, three times: the table and all rollups have the rows once; another token counts."""
    tenant = uuid4().hex
    for _ in range(3):
        land(inserts, "decision_events", [event(tenant, n) for n in range(5)], f"{tenant}:0-5")
        land(inserts, "tool_calls", [call(tenant, n) for n in range(5)], f"{tenant}:calls")
    land(inserts, "decision_events", [event(tenant, n) for n in range(5, 7)], f"{tenant}:5-7")
    views = ("model_usage_by_minute", "model_usage_by_hour", "tool_usage_by_minute", "tool_usage_by_hour")
    assert [counted(migrating, view, tenant) for view in views] == [7, 7, 5, 5]
    assert counted(migrating, "decision_events", tenant, "count()") == 7


@pytest.mark.stack
def test_a_server_killed_between_table_and_rollup_is_mended_by_the_repeat(
    migrating: Client, inserts: ClickHouseInserts
) -> None:
    """The rollup refuses the first attempt, when the table has committed; the sink's repeat lands what is missing."""
    tenant = uuid4().hex
    rows = [call(tenant, number) for number in range(4)]
    migrating.command("ALTER TABLE tachograph.tool_hours ADD CONSTRAINT away CHECK calls > 1000000")
    try:
        with pytest.raises(Exception, match="469"):
            land(inserts, "tool_calls", rows, tenant)
    finally:
        migrating.command("ALTER TABLE tachograph.tool_hours DROP CONSTRAINT away")
    assert counted(migrating, "tool_calls", tenant, "count()") == 4
    assert counted(migrating, "tool_usage_by_hour", tenant) == 0
    for _ in range(2):
        land(inserts, "tool_calls", rows, tenant)
    assert counted(migrating, "tool_calls", tenant, "count()") == 4
    assert counted(migrating, "tool_usage_by_hour", tenant) == 4
    assert counted(migrating, "tool_usage_by_minute", tenant) == 4


@pytest.mark.stack
def test_what_the_table_refuses_is_in_no_rollup(migrating: Client, inserts: ClickHouseInserts) -> None:
    """A row that a guard forbids takes its block with it; without it, the rest counts once."""
    tenant = uuid4().hex
    bad = call(tenant, 0, metadata={"prompt": "x"})
    with pytest.raises(Exception, match="469"):
        land(inserts, "tool_calls", [bad, call(tenant, 1)], f"{tenant}:whole")
    assert counted(migrating, "tool_usage_by_hour", tenant) == 0
    land(inserts, "tool_calls", [call(tenant, 1)], f"{tenant}:part")
    assert counted(migrating, "tool_usage_by_hour", tenant) == 1


@pytest.mark.stack
def test_late_events_go_where_they_happened(migrating: Client, inserts: ClickHouseInserts) -> None:
    """Hours later, in another insert; and a clock of another century is counted at the edge, not in a wrong day."""
    tenant, hour = uuid4().hex, NOW_US // HOUR_US * HOUR_US
    times = [hour, hour + 59_000_000, hour - 2 * HOUR_US, hour, -(2**61), 2**61]
    for number, occurred_at in enumerate(times):
        land(inserts, "tool_calls", [call(tenant, number, occurred_at=occurred_at)], f"{tenant}:{number}")
    rows = migrating.query(
        "SELECT toUnixTimestamp(hour), calls FROM tachograph.tool_usage_by_hour WHERE tenant_id = {tenant:String} "
        "ORDER BY hour",
        parameters={"tenant": tenant},
    ).result_rows
    seconds, edge = hour // 1_000_000, (2**32 - 1) // 3600 * 3600
    # What is older than the hours are kept is gone at once; the far future stays.
    assert [row for row in rows if row[0] > 0] == [(seconds - 7200, 1), (seconds, 3), (edge, 1)]


@pytest.mark.stack
def test_quantiles_are_within_one_per_cent(migrating: Client, inserts: ClickHouseInserts) -> None:
    """Over several inserts, merged; where nothing was timed there is no latency."""
    tenant = uuid4().hex
    values = [7 * number**2 + 1 for number in range(40)]
    for start in range(0, 40, 10):
        rows = [call(tenant, number, duration_ms=values[number]) for number in range(start, start + 10)]
        land(inserts, "tool_calls", rows, f"{tenant}:{start}")
    land(inserts, "tool_calls", [call(tenant, 50, tool_name="untimed", duration_ms=None)], f"{tenant}:untimed")
    found = {
        row[0]: row[1:]
        for row in migrating.query(
            "SELECT tool_name, latency_p50_ms, latency_p90_ms, latency_p95_ms, latency_p99_ms "
            "FROM tachograph.tool_usage_by_hour WHERE tenant_id = {tenant:String}",
            parameters={"tenant": tenant},
        ).result_rows
    }
    for level, value in zip((0.5, 0.9, 0.95, 0.99), found["grep"], strict=True):
        assert value == pytest.approx(values[int(level * 39)], rel=0.011)
    assert found["untimed"] == (None, None, None, None)


PRICES = """
prices:
  - {{provider: other, models: [{name}], from: 2020-01-01, input_usd_per_mtok: "1.5", output_usd_per_mtok: "4"}}
  - {{provider: other, models: [{name}], from: {today}, input_usd_per_mtok: "3", output_usd_per_mtok: "8.25"}}
  - {{provider: other, models: [{name}-gone], from: 2020-01-01, input_usd_per_mtok: "1", output_usd_per_mtok: "1"}}
  - {{provider: other, models: [{name}-gone], from: 2020-02-01, input_usd_per_mtok: null, output_usd_per_mtok: null}}
"""


@pytest.mark.stack
def test_cost_is_tokens_at_the_price_of_their_day(
    migrating: Client, inserts: ClickHouseInserts, tmp_path: Path
) -> None:
    """Exact decimals; a model without a price, or whose price has ended, costs NULL and says how many calls that is."""
    name, tenant = f"m{uuid4().hex[:8]}", uuid4().hex
    today = NOW_US // (24 * HOUR_US) * 24 * HOUR_US
    file = tmp_path / "prices.yaml"
    file.write_text(PRICES.format(name=name, today=datetime.fromtimestamp(today / 1e6, UTC).date()))
    prices = read_prices(file)
    assert len(missing_prices(migrating, prices)) == 4
    assert len(apply_prices(migrating, prices)) == 4
    assert apply_prices(migrating, prices) == [], "loading it again changes nothing"
    tokens = {"provider": "other", "input_tokens": 1_000_001, "output_tokens": 500_000}
    rows = [
        event(tenant, 1, **tokens, model=name),
        event(tenant, 2, **tokens, model=name) | {"occurred_at": today - 1},
        event(tenant, 3, **tokens, model=f"{name}-gone"),
        event(tenant, 4, **tokens, model=f"{name}-unknown"),
        event(tenant, 5, provider="other", model=f"{name}-unknown", input_tokens=None, output_tokens=None),
    ]
    land(inserts, "decision_events", rows, tenant)
    found = migrating.query(
        "SELECT model, sum(calls), sum(cost_usd), sum(unpriced_calls), sum(without_usage) "
        "FROM tachograph.model_usage_by_hour WHERE tenant_id = {tenant:String} GROUP BY model ORDER BY model",
        parameters={"tenant": tenant},
    ).result_rows
    new = (1_000_001 * Decimal(3) + 500_000 * Decimal("8.25")) / 1_000_000
    old = (1_000_001 * Decimal("1.5") + 500_000 * Decimal(4)) / 1_000_000
    assert found == [
        (name, 2, new + old, 0, 0),
        (f"{name}-gone", 1, None, 1, 0),
        (f"{name}-unknown", 2, None, 2, 1),
    ]


def test_the_shipped_prices_are_sound() -> None:
    """They can be read, no model has none, and they say how old they are and that nobody should trust them unseen."""
    text = shipped_prices().read_text(encoding="utf-8")
    as_of = read_price_file(shipped_prices()).as_of
    assert "Check before use." in text
    assert "prices apply --file" in text
    prices = read_prices(shipped_prices())
    assert as_of is not None
    assert max(price.effective_from.date() for price in prices) <= as_of
    assert all(price.source.endswith(", from memory") for price in prices)
    assert {price.provider for price in prices} == {"openai", "anthropic"}
    assert all(price.input_usd_per_mtok is not None for price in prices)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("prices: []", "prices", id="no price at all"),
        pytest.param(PRICES.format(name="a", today="2020-01-01"), "two prices from 2020-01-01", id="two for a day"),
        pytest.param(PRICES.format(name="a", today="soon"), "prices.1.from", id="no day"),
        pytest.param(PRICES.replace('"4"', "null").format(name="a", today="2021-01-01"), "both are null", id="half"),
        pytest.param(PRICES.replace('"4"', '"-4"').format(name="a", today="2021-01-01"), "greater", id="negative"),
        pytest.param("prices: [{provider: acme}]", "prices.0.provider", id="an unknown provider"),
    ],
)
def test_a_file_of_prices_with_a_mistake_is_refused_whole(tmp_path: Path, text: str, says: str) -> None:
    """With the line of the mistake."""
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(DocumentError, match=says):
        read_prices(file)


@pytest.mark.stack
def test_the_console_cannot_change_a_price(stack: Settings) -> None:
    """Nor can the sink's account delete one."""
    house = stack.clickhouse
    with connect(house, house.console_user, house.console_password) as client, pytest.raises(DatabaseError):
        client.command("INSERT INTO tachograph.model_prices (provider) VALUES ('x')")
