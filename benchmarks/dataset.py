"""Two million rows over thirty days, made inside ClickHouse: what queries and objectives are measured on."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import clickhouse_connect
from clickhouse_connect.driver.client import Client

from tachograph.schemas.settings import Settings

TENANT: Final = "bench"
RUNS: Final = 40_000
DAYS: Final = 30
RUN: Final = "run_20000"
"""A run in the middle."""


class Made(NamedTuple):
    """How many rows of a table, and what is in them beside what all tables have. ``n`` is a row's number."""

    rows: int
    columns: Mapping[str, str]


_STATUS: Final = "['pass', 'pass', 'pass', 'warn', 'fail', 'unknown'][n % 6 + 1]"
TABLES: Final[Mapping[str, Made]] = {
    "agent_runs": Made(
        2 * RUNS,
        {
            "event_type": "if(n % 2 = 0, 'run_started', 'run_ended')",
            "status": "if(n % 2 = 0, 'running', if(intDiv(n, 2) % 4 = 3, 'failed', 'succeeded'))",
            "completeness": "if(n % 2 = 0, 'open', if(n % 1000 = 1, 'incomplete', 'complete'))",
            "started_at": "moment",
            "duration_ms": "if(n % 2 = 0, NULL, cityHash64(n) % 90000)",
            "error_type": "if(n % 8 = 7, 'TimeoutError', NULL)",
        },
    ),
    "agent_steps": Made(160_000, {"step_id": "concat('step_', toString(n))"}),
    "decision_events": Made(
        500_000,
        {
            "action_type": "['model_call', 'tool_call', 'edit', 'answer'][n % 4 + 1]",
            "provider": "'a-provider'",
            "model": "concat('model-', toString(n % 5))",
            "latency_ms": "cityHash64(n) % 31000",
            "input_tokens": "cityHash64(n) % 4000",
            "output_tokens": "cityHash64(n, 1) % 900",
            "policy_status": _STATUS,
            "user_request_raw": "repeat('a request ', 20)",
        },
    ),
    "evaluations": Made(
        500_000,
        {"alignment_status": _STATUS, "quality_status": _STATUS, "policy_status": _STATUS, "rules": "'coding-agent@1'"},
    ),
    "tool_calls": Made(
        500_000,
        {
            "tool_use_id": "concat('call_', toString(n))",
            "parent_tool_use_id": "if(n % 10 = 1, concat('call_', toString(n - 1)), NULL)",
            "tool_name": "concat('tool-', toString(n % 20))",
            "leg": "'call'",
            "duration_ms": "cityHash64(n) % 5000",
            "complete": "n % 200 != 0",
            "result_is_error": "n % 40 = 0",
            "error_type": "if(n % 40 = 0, 'OSError', NULL)",
        },
    ),
    "agent_decisions": Made(
        60_000,
        {
            "decision_id": "concat('decision_', toString(n))",
            "decision_type": "['tool_selection', 'strategy', 'retry'][n % 3 + 1]",
            "selected": "concat('option-', toString(n % 12))",
            "reason_code": "concat('reason-', toString(n % 6))",
            "confidence": "(n % 100) / 100",
        },
    ),
    "agent_quality_signals": Made(
        60_000,
        {
            "signal_id": "concat('signal_', toString(n))",
            "signal_type": "concat('type-', toString(n % 4))",
            "signal_code": "concat('code-', toString(n % 15))",
            "value": "n % 3 = 0",
        },
    ),
    "context_items": Made(
        100_000,
        {
            "item_type": "['evidence', 'chunk', 'artifact'][n % 3 + 1]",
            "is_included": "n % 3 != 0",
            "reason": "concat('reason-', toString(n % 5))",
            "tokens": "n % 700",
        },
    ),
    "violations": Made(
        30_000,
        {
            "violation_id": "concat('violation_', toString(n))",
            "kind": "['alignment', 'policy', 'observability'][n % 3 + 1]",
            "code": "concat('code.', toString(n % 25))",
            "severity": "['warn', 'error', 'critical'][n % 3 + 1]",
        },
    ),
    "snapshots": Made(5_000, {"snapshot_id": "concat('snapshot_', toString(n))", "stored": "n % 100 != 0"}),
    "decision_records": Made(
        5_000,
        {
            "record_id": "concat('record_', toString(n))",
            "decision_key": "'support.refund.execute'",
            "status": "['DECIDED', 'DECIDED', 'REJECTED'][n % 3 + 1]",
            "outputs": 'concat(\'{"outcome":"approved","refund_amount_inr":\', toString(n * 7), \'}\')',
            "log_id": "'bench/0'",
            "log_seq": "n",
            "record_hash": "concat('sha256:', hex(SHA256(toString(n))))",
            "pack_version": "concat('pack@', toString(n % 4))",
        },
    ),
}
TOTAL: Final = sum(made.rows for made in TABLES.values())
_ROW: Final = {
    "tenant_id": f"'{TENANT}'",
    "agent_id": "concat('agent-', toString(n % 12))",
    "trace_id": "lower(hex(MD5(toString(run))))",
    "run_id": "concat('run_', toString(run))",
    "event_id": "concat('event_', toString(n))",
    "seq": "n % 50",
    "occurred_at": "moment",
    "received_at": "moment",
    "_partition": "0",
    "_offset": "n",
}


def make(settings: Settings, **rows: int) -> int:
    """Insert what is not there yet and return how many rows there are; merged, as they would be after a while.

    ``rows`` asks for more of a table than is usual.
    """
    house = settings.clickhouse
    client = clickhouse_connect.get_client(
        host=house.host,
        port=house.http_port,
        username=house.migrate_user,
        password=house.migrate_password.get_secret_value(),
        database=house.database,
        send_receive_timeout=900,
        autogenerate_session_id=False,
    )
    try:
        wanted = {table: made._replace(rows=rows.get(table, made.rows)) for table, made in TABLES.items()}
        return sum(_fill(client, table, made) for table, made in wanted.items())
    finally:
        client.close()


def _fill(client: Client, table: str, made: Made) -> int:
    there = f"SELECT count() FROM {table} WHERE tenant_id = '{TENANT}'"  # noqa: S608 - our own names
    if int(str(client.command(there))) < made.rows:
        client.command(f"TRUNCATE TABLE {table}")
        known = {row[0] for row in client.query(f"DESCRIBE TABLE {table}").result_rows}
        columns = {name: sql for name, sql in _ROW.items() if name in known} | dict(made.columns)
        # The newest last, as rows arrive: what is near in time lies near on disk.
        age = f"intDiv(({made.rows} - number) * {DAYS * 86_400_000}, {made.rows})"
        client.command(
            f"INSERT INTO {table} ({', '.join(columns)}) "  # noqa: S608 - our own names
            f"WITH number AS n, intDiv(number * {RUNS}, {made.rows}) AS run, "
            f"now64(6, 'UTC') - toIntervalMillisecond({age}) AS moment "
            f"SELECT {', '.join(columns.values())} FROM numbers({made.rows})",
            settings={"async_insert": 0, "max_partitions_per_insert_block": 0},
        )
    client.command(f"OPTIMIZE TABLE {table}")
    return int(str(client.command(there)))
