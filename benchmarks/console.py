"""Server time of the console's two busiest pages over two million rows: the list of runs, and a run of 500 events."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from starlette.applications import Starlette
from starlette.testclient import TestClient

from benchmarks.report import Figure, Ratio, Result
from tachograph.console.web import Role, create_app
from tachograph.console.web.login import cookie_name
from tachograph.schemas.settings import Settings

RUNS = 50_000
STEPS, EVENTS, TOOLS = 8, 14, 14
"""Rows of each of the small runs besides their two in agent_runs: 1.9 million in all."""
BIG = "run-with-500-events"
TENANT = "bench"
REQUESTS = 40
LISTED_MS, FILTERED_MS, LARGE_MS = 300.0, 500.0, 700.0
"""Well under a second, as required: what people do most often has to be the quickest."""

_SHARED = (
    "'bench', concat('agent-', toString(run % 40)), concat('run-', toString(run)), concat('t', toString(run)), "
    f"now64(6) - toIntervalSecond(({RUNS} - run) * 20) + toIntervalMillisecond(each * 50) AS occurred_at, occurred_at"
)


def measure(settings: Settings, _folder: Path) -> list[Result]:
    """Fill the tables inside ClickHouse, then ask for pages, each time another one."""
    clickhouse = settings.clickhouse
    client = clickhouse_connect.get_client(
        host=clickhouse.host,
        port=clickhouse.http_port,
        username=clickhouse.migrate_user,
        password=clickhouse.migrate_password.get_secret_value(),
        database=clickhouse.database,
    )
    rows = sum(fill(client))
    app = create_app(settings)
    with TestClient(app, base_url="http://127.0.0.1") as browser:
        sign_in(app, browser, TENANT)
        listed = p95(browser, runs_page)
        filtered = p95(browser, filtered_page)
        large = p95(browser, lambda _number: f"/run?id={BIG}")
        small = p95(browser, lambda number: f"/run?id=run-{number * 997 % RUNS}")
        sign_in(app, browser, "nobody")
        empty = p95(browser, lambda _number: "/runs")
    client.close()
    over = f"p95 over {rows:,} rows"
    return [
        Figure(f"runs page, {over}", listed, LISTED_MS, "ms", at_most=True),
        Figure(f"runs page with filters, {over}", filtered, FILTERED_MS, "ms", at_most=True),
        Figure(f"page of a run with 500 events, {over}", large, LARGE_MS, "ms", at_most=True),
        Ratio("runs page", listed, "the same of a tenant without runs", empty, None, "ms"),
        Ratio("page of a run with 500 events", large, "of a run with 40", small, None, "ms"),
    ]


def sign_in(app: Starlette, browser: TestClient, tenant: str) -> None:
    session = app.state.services.sessions.begin("bench", tenant, Role.VIEWER)
    browser.cookies.set(cookie_name(https=False), session.id)


def runs_page(number: int) -> str:
    """The first page, and pages deep in the list."""
    before = int(time.time() - number * 20_000) * 1_000_000
    return f"/runs?before={before}-x" if number % 2 else "/runs"


def filtered_page(number: int) -> str:
    """Filters that need the state of every run."""
    return (
        f"/runs?agent=agent-{number % 40}",
        "/runs?status=failed&violation=any",
        f"/runs?q=run-{number}7",
        "/runs?completeness=incomplete&period=7d",
    )[number % 4]


def p95(browser: TestClient, page: Callable[[int], str]) -> float:
    """Milliseconds from request to answer, without a network between."""
    took = []
    for number in range(REQUESTS + 3):
        started = time.perf_counter()
        answer = browser.get(page(number))
        took.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, answer.text[-500:]
    return sorted(took[3:])[int(REQUESTS * 0.95) - 1]


def fill(client: Client) -> Iterator[int]:
    """Insert the rows; yield how many there are in each table."""
    for table, each, columns in _FILLED:
        client.command(
            f"INSERT INTO {table} (tenant_id, agent_id, run_id, trace_id, occurred_at, received_at, event_id, seq, "  # noqa: S608 - ours
            f"{', '.join(name for name, _ in columns)}, _partition, _offset) "
            f"SELECT {_SHARED}, concat('{table}-', toString(number)), each, "
            f"{', '.join(value for _, value in columns)}, 0, number "
            f"FROM (SELECT number, intDiv(number, {each}) AS run, number % {each} AS each FROM numbers({RUNS * each}))",
            settings={"max_partitions_per_insert_block": 1000, "max_insert_block_size": 200_000},
        )
        yield RUNS * each
    for table, count, columns in _BIG:
        client.command(
            f"INSERT INTO {table} (tenant_id, agent_id, run_id, trace_id, occurred_at, received_at, event_id, seq, "  # noqa: S608 - ours
            f"{', '.join(name for name, _ in columns)}, _partition, _offset) "
            f"SELECT 'bench', 'agent-1', '{BIG}', 'big', now64(6) + toIntervalMillisecond(number * 100) AS occurred_at,"
            f" occurred_at, concat('big-{table}-', toString(number)), number, "
            f"{', '.join(value for _, value in columns)}, 1, number FROM (SELECT number, number AS each, 0 AS run "
            f"FROM numbers({count}))"
        )
        yield count
    client.command(
        "INSERT INTO violations (tenant_id, agent_id, violation_id, kind, code, severity, message, run_id, "  # noqa: S608 - ours
        "occurred_at, _partition, _offset) SELECT 'bench', concat('agent-', toString(number * 5 % 40)), "
        "toString(number), 'policy', 'policy.no_secrets', if(number % 4 = 0, 'error', 'warn'), 'a rule was broken', "
        "concat('run-', toString(number * 5)), now64(6) - toIntervalSecond(number), 0, number "
        f"FROM numbers({RUNS // 5})"
    )
    yield RUNS // 5


_RUN_COLUMNS = [
    ("event_type", "if(each = 0, 'run_started', 'run_ended')"),
    ("environment", "if(run % 3 = 0, 'prod', 'ci')"),
    ("status", "if(each = 0, 'running', if(run % 17 = 0, 'failed', 'succeeded'))"),
    ("completeness", "if(each = 0, 'open', if(run % 29 = 0, 'incomplete', 'complete'))"),
    ("user_request_raw", "'Fix the failing test and open a pull request'"),
    ("started_at", "occurred_at - toIntervalMillisecond(each * 50)"),
    ("duration_ms", "if(each = 0, NULL, 5000 + run % 9000)"),
    ("received", "each + 38"),
    ("emitted", "if(each = 0, NULL, 39)"),
    ("input_tokens", "1000 + run % 500"),
    ("output_tokens", "200"),
    ("repo", "'acme/parser'"),
]
_STEP_COLUMNS = [
    ("event_type", "if(each % 2 = 0, 'step_started', 'step_ended')"),
    ("step_id", "concat('step-', toString(run), '-', toString(intDiv(each, 2)))"),
    ("step_type", "'tool'"),
    ("name", "'a step of the work'"),
    ("status", "'succeeded'"),
    ("duration_ms", "if(each % 2 = 0, NULL, 900)"),
]
_EVENT_COLUMNS = [
    ("step_id", "concat('step-', toString(run), '-', toString(each % 4))"),
    ("model", "'model-1'"),
    ("provider", "'openai'"),
    ("capture_mode", "'redacted'"),
    ("prompt_bundle_hash", "hex(SHA256(toString(number)))"),
    ("messages", "[('system', 'You are a coding agent.'), ('user', repeat('the request and its context ', 20))]"),
    ("output_raw", "repeat('an answer of some length ', 10)"),
    ("action_type", "'edit'"),
    ("action_summary", "'edited a file'"),
    ("latency_ms", "800"),
    ("input_tokens", "400"),
    ("output_tokens", "80"),
]
_TOOL_COLUMNS = [
    ("tool_use_id", "concat('call-', toString(number))"),
    ("tool_name", "if(each % 2 = 0, 'edit_file', 'run_tests')"),
    ("leg", "'call'"),
    ("step_id", "concat('step-', toString(run), '-', toString(each % 4))"),
    ("phase", "'execution'"),
    ("capture_mode", "'redacted'"),
    ("tool_input", 'repeat(\'{"path": "src/parser.py"}\', 4)'),
    ("output", "repeat('a line of output ', 20)"),
    ("duration_ms", "120"),
    ("started_at", "occurred_at"),
    ("complete", "true"),
]
_FILLED = (
    ("agent_runs", 2, _RUN_COLUMNS),
    ("agent_steps", STEPS, _STEP_COLUMNS),
    ("decision_events", EVENTS, _EVENT_COLUMNS),
    ("tool_calls", TOOLS, _TOOL_COLUMNS),
)
_BIG = (
    ("agent_runs", 2, _RUN_COLUMNS),
    ("agent_steps", 100, _STEP_COLUMNS),
    ("decision_events", 200, _EVENT_COLUMNS),
    ("tool_calls", 200, _TOOL_COLUMNS),
)
