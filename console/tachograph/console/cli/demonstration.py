"""``tachograph demo``: the whole thread, from an agent's record to an answer in ClickHouse."""

import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tachograph.console.cli.output import ERR, OUT, note, print_table
from tachograph.console.cli.reading import row_counts
from tachograph.console.cli.stack import Download, prepare, report
from tachograph.console.database import Reader, reader
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings, load_settings

LAND_TIMEOUT_S = 120.0
"""Worker and sink start within seconds; a busy laptop may take a minute."""

EVENT_IDS_SQL = """
SELECT uniqExact(event_id) FROM (
    SELECT event_id FROM agent_runs WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT event_id FROM agent_steps WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT event_id FROM agent_failures WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT event_id FROM agent_decisions WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT event_id FROM agent_quality_signals WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT event_id FROM decision_events WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT arrayJoin(event_ids) FROM tool_calls WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT event_id FROM context_manifests WHERE run_id IN {runs:Array(String)}
    UNION ALL SELECT event_id FROM record_proposals WHERE run_id IN {runs:Array(String)}
) WHERE event_id IN {ids:Array(String)}
"""

RUNS_SQL = """
SELECT run_id, status, completeness, duration_ms, received, emitted, arrayStringConcat(missing, '; ') AS missing
FROM runs WHERE run_id IN {runs:Array(String)} ORDER BY started_at
"""

ACTIONS_SQL = """
SELECT run_id, action_type, action_summary, model, input_tokens, output_tokens
FROM decision_events WHERE run_id IN {runs:Array(String)} ORDER BY indexOf({runs:Array(String)}, run_id), seq
"""

VIOLATIONS_SQL = """
SELECT run_id, kind, code, severity, verdict, message
FROM violations WHERE run_id IN {runs:Array(String)}
ORDER BY indexOf({runs:Array(String)}, run_id), occurred_at, code
"""

SNAPSHOTS_SQL = """
SELECT run_id, trigger, kind, stored, size_bytes, artifact_id
FROM snapshot_pointers WHERE run_id IN {runs:Array(String)}
ORDER BY indexOf({runs:Array(String)}, run_id), occurred_at, kind
"""

QUERY_TO_TRY = (
    "SELECT tool_name, count() AS calls, countIf(error_type IS NOT NULL) AS failed, avg(duration_ms) AS ms "
    "FROM tool_calls WHERE leg = 'call' GROUP BY tool_name ORDER BY calls DESC"
)


JQ_TO_TRY = "jq 'select(.success == false)'"


class NotLandedError(TachographError):
    """Records were published and did not become queryable in time."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    *,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the stack running afterwards, until Ctrl-C.")] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Also write the audit trail: files of JSON lines, under HOME/audit.")
    ] = False,
) -> None:
    """Start everything, run a scripted coding agent, and show what landed."""
    from tachograph.deploy.stack import LocalStack  # noqa: PLC0415 - the servers' packages are an extra

    # A broker that is seconds old makes its clients retry. That is no news here: the demo checks the delivery itself.
    logging.getLogger("tachograph.spool.kafka").setLevel(logging.ERROR)
    with Download() as download, LocalStack(load_settings(), on_event=report, progress=download.update) as stack:
        settings = prepare(stack)
        play(settings, audit=audit)
        if keep:
            note("The stack stays up until Ctrl-C. Try: tachograph runs")
            stack.run_until_signal()
        note("stopping ...")


def play(settings: Settings, *, audit: bool = False) -> None:
    """Run the scripted agent, wait until every record can be queried, show it."""
    from tachograph.console.demo.recording import record_stories  # noqa: PLC0415 - imported where it is used
    from tachograph.producers.publishing import SpoolPublisher  # noqa: PLC0415

    trails = settings.home / "audit" if audit else None
    recorded = record_stories(settings, SpoolPublisher.from_settings(settings), audit=trails)
    note(f"agent: {len(recorded.run_ids)} runs, {len(recorded.event_ids)} records acknowledged by Kafka")
    note(f"agent: {recorded.lost} more lost on purpose; the second run says so")
    with reader(settings) as database:
        wait_until_landed(database, recorded.run_ids, recorded.event_ids)
        wait_until_copied(database, recorded.run_ids, recorded.captures)
        show(database, settings, recorded.run_ids)
    if trails is not None:
        show_trails(trails, recorded.session_ids)


def wait_until_landed(database: Reader, run_ids: Sequence[str], event_ids: Sequence[str]) -> None:
    """Poll until every event id can be queried. Raises NotLandedError with what to look at."""
    expected, deadline = len(set(event_ids)), time.monotonic() + LAND_TIMEOUT_S
    with Progress(
        TextColumn("  landing"), BarColumn(), MofNCompleteColumn(), console=ERR, disable=not sys.stderr.isatty()
    ) as progress:
        task = progress.add_task("rows", total=expected)
        landed = 0
        while landed < expected:
            landed = database.rows(EVENT_IDS_SQL, {"runs": list(run_ids), "ids": list(event_ids)})[0][0]
            progress.update(task, completed=landed)
            if landed < expected:
                if time.monotonic() > deadline:
                    raise NotLandedError(
                        f"only {landed} of {expected} records became queryable within {LAND_TIMEOUT_S:.0f} s: "
                        "`tachograph status` names the logs of worker and sink"
                    )
                time.sleep(0.1)
    note(f"ClickHouse: all {expected} records can be queried")


def wait_until_copied(database: Reader, run_ids: Sequence[str], captures: int) -> None:
    """Poll until every capture of a fault has its snapshot. Raises NotLandedError with what to look at."""
    deadline = time.monotonic() + LAND_TIMEOUT_S
    while (copied := len(database.rows(SNAPSHOTS_SQL, {"runs": list(run_ids)}))) < captures:
        if time.monotonic() > deadline:
            raise NotLandedError(
                f"only {copied} of {captures} snapshots were copied within {LAND_TIMEOUT_S:.0f} s: "
                "`tachograph status` names the log of the snapshot step"
            )
        time.sleep(0.1)
    note(f"artifact store: all {captures} snapshots of faults are copied")


def show(database: Reader, settings: Settings, run_ids: Sequence[str]) -> None:
    """What a person wants to see first."""
    for title, sql in (
        ("Runs", RUNS_SQL),
        ("What the agent did", ACTIONS_SQL),
        ("What the stream says", VIOLATIONS_SQL),
        ("What was kept of faults", SNAPSHOTS_SQL),
    ):
        columns, found = database.table(sql, {"runs": list(run_ids)})
        print_table(columns, found, title=title)
        OUT.print()
    counts = row_counts(database)
    print_table(["table", "rows"], list(counts.items()), title="Rows landed per table")
    OUT.print()
    OUT.print(
        f"Data is in {settings.home}, served by ClickHouse at "
        f"http://{settings.clickhouse.host}:{settings.clickhouse.http_port} while the stack runs."
    )
    OUT.print("Start it again with `tachograph up`, then try:")
    OUT.print(f'  tachograph query "{QUERY_TO_TRY}"', soft_wrap=True)
    for *_, artifact_id in database.rows(SNAPSHOTS_SQL, {"runs": list(run_ids)})[:1]:
        OUT.print(f"  tachograph artifacts get {artifact_id}", soft_wrap=True)


def show_trails(folder: Path, session_ids: Sequence[str]) -> None:
    """Where the audit trail is, and a first question to it."""
    OUT.print()
    OUT.print(f"The audit trail is in {folder}, a folder for each session:", soft_wrap=True)
    for session_id in session_ids:
        OUT.print(f"  {session_id}", soft_wrap=True)
    OUT.print("The calls that failed, for example:")
    OUT.print(f"  {JQ_TO_TRY} {folder}/{session_ids[1]}/tool_calls.jsonl", soft_wrap=True)
