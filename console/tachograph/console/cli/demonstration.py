"""``tachograph demo``: the whole thread, from an agent's record to a report about it."""

import logging
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tachograph.console.cli.output import ERR, OUT, note, print_table, program
from tachograph.console.cli.report import read_report
from tachograph.console.cli.stack import CHILDREN, Download, prepare, report
from tachograph.console.database import Reader, reader
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings, load_settings

if TYPE_CHECKING:
    from tachograph.console.demo.outcome import Outcome
    from tachograph.console.demo.recording import Recorded
    from tachograph.console.demo.scenario import Scenario
    from tachograph.deploy.stack import LocalStack

LAND_TIMEOUT_S = 120.0
"""All processes start within seconds; a busy laptop may take a minute."""

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

QUERY_TO_TRY = (
    "SELECT tool_name, count() AS calls, countIf(error_type IS NOT NULL) AS failed, avg(duration_ms) AS ms "
    "FROM tool_calls WHERE leg = 'call' GROUP BY tool_name ORDER BY calls DESC"
)


JQ_TO_TRY = "jq 'select(.success == false)'"


PAGES_TIMEOUT_S = 30.0
"""The web console starts in a second or two."""

_ADDRESS = re.compile(r"http://\S+/login\?token=\S+")


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
    """Start everything, let a scripted coding agent work on eight tickets, and show what came of it."""
    from tachograph.deploy.stack import LocalStack  # noqa: PLC0415 - the servers' packages are an extra

    # A broker that is seconds old makes its clients retry. That is no news here: the demo checks the delivery itself.
    logging.getLogger("tachograph.spool.kafka").setLevel(logging.ERROR)
    with Download() as download, LocalStack(load_settings(), on_event=report, progress=download.update) as stack:
        settings = prepare(stack)
        play(settings, audit=audit)
        if keep:
            serve_pages(stack)
            note("The stack stays up until Ctrl-C.")
            stack.run_until_signal()
        note("stopping ...")


def serve_pages(stack: "LocalStack") -> None:
    """Start the web console beside the stack, and say where it is."""
    command = [sys.executable, "-m", "tachograph.console.main", "console", "--port", "0"]
    log = stack.state.log("console")
    before = log.stat().st_size if log.exists() else 0
    stack.start_children([("console", command)])
    deadline = time.monotonic() + PAGES_TIMEOUT_S
    while time.monotonic() < deadline:
        said = log.read_bytes()[before:].decode(errors="replace") if log.exists() else ""
        found = _ADDRESS.search(said)
        if found is not None:
            OUT.print(f"\nAll of this as pages, for one browser, once: {found[0]}", soft_wrap=True)
            return
        time.sleep(0.1)
    note(f"the web console did not say where it is; its log is {log}. `tachograph console` starts another")


def play(settings: Settings, *, audit: bool = False, parts: Sequence[str] = tuple(CHILDREN)) -> None:
    """Play the scenarios, wait until each is what it should be, show it. ``parts`` are the processes at work."""
    from tachograph.console.demo.recording import record_stories  # noqa: PLC0415 - imported where it is used
    from tachograph.console.demo.scenarios import MOST_INTERESTING  # noqa: PLC0415
    from tachograph.producers.publishing import SpoolPublisher  # noqa: PLC0415

    trails = settings.home / "audit" if audit else None
    recorded = record_stories(
        settings,
        SpoolPublisher.from_settings(settings),
        audit=trails,
        playing=lambda scenario: note(f"agent: {scenario.title}"),
    )
    note(f"agent: {len(recorded.run_ids)} runs, {len(recorded.event_ids)} records acknowledged by Kafka")
    note(f"agent: {recorded.lost} more lost on purpose; their run says so")
    with reader(settings) as database:
        wait_until_landed(database, recorded.run_ids, recorded.event_ids)
        outcomes = wait_for_outcomes(database, recorded, parts)
    show(settings, recorded, outcomes)
    show_report(settings, MOST_INTERESTING.run_id(recorded.suffix))
    if trails is not None:
        show_trails(trails, recorded.session_ids)
    point_the_way(settings, recorded)


def wait_until_landed(database: Reader, run_ids: Sequence[str], event_ids: Sequence[str]) -> None:
    """Poll until every event id can be queried. Raises NotLandedError with what to look at."""
    expected, deadline = len(set(event_ids)), time.monotonic() + LAND_TIMEOUT_S
    with _bar("landing") as progress:
        task = progress.add_task("rows", total=expected)
        landed = 0
        while landed < expected:
            landed = database.rows(EVENT_IDS_SQL, {"runs": list(run_ids), "ids": list(event_ids)})[0][0]
            progress.update(task, completed=landed)
            if landed < expected:
                _wait(deadline, f"only {landed} of {expected} records became queryable")
    note(f"ClickHouse: all {expected} records can be queried")


def wait_for_outcomes(database: Reader, recorded: "Recorded", parts: Sequence[str]) -> "Mapping[str, Outcome]":
    """Poll until joins, verdicts, snapshots and seals are what the scenarios promise. Raises NotLandedError."""
    from tachograph.console.demo.outcome import Outcome, read_outcomes, still_missing  # noqa: PLC0415 - as above
    from tachograph.console.demo.scenarios import SCENARIOS  # noqa: PLC0415

    deadline = time.monotonic() + LAND_TIMEOUT_S
    with _bar("judging") as progress:
        task = progress.add_task("runs", total=len(SCENARIOS))
        while True:
            outcomes = read_outcomes(database, recorded.run_ids)
            missing = {
                scenario.name: still_missing(scenario, outcomes.get(scenario.run_id(recorded.suffix), Outcome()), parts)
                for scenario in SCENARIOS
            }
            progress.update(task, completed=sum(not found for found in missing.values()))
            if not any(missing.values()):
                break
            first = next(found for found in missing.values() if found)
            _wait(deadline, f"these are not what they should be: {', '.join(first)}")
    note("worker, snapshots, sealer: every run is judged, captured and sealed as it should be")
    return outcomes


def _bar(name: str) -> Progress:
    columns = (TextColumn(f"  {name}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=ERR, disable=not sys.stderr.isatty())


def _wait(deadline: float, complaint: str) -> None:
    if time.monotonic() > deadline:
        raise NotLandedError(
            f"{complaint} within {LAND_TIMEOUT_S:.0f} s: `tachograph doctor` looks for the reason, and "
            "`tachograph status` names the logs"
        )
    time.sleep(0.1)


def show(settings: Settings, recorded: "Recorded", outcomes: "Mapping[str, Outcome]") -> None:
    """What a person wants to see first: the runs, and what the stream says of each."""
    from tachograph.console.demo.scenarios import SCENARIOS  # noqa: PLC0415 - as above

    print_table(
        ["run", "what it shows", "status", "record", "violations", "kept"],
        [_row(scenario, scenario.run_id(recorded.suffix), outcomes) for scenario in SCENARIOS],
        title=f"Eight runs of {settings.tenant_id}/demo-coder",
    )
    OUT.print()


def _row(scenario: "Scenario", run_id: str, outcomes: "Mapping[str, Outcome]") -> list[object]:
    outcome = outcomes[run_id]
    kept = [f"{outcome.snapshots} snapshots"] if outcome.snapshots else []
    kept += [f"record {status}" for status in outcome.records]
    violations = "\n".join(sorted(outcome.violations)) or None
    return [run_id, scenario.title, outcome.status, outcome.completeness, violations, ", ".join(kept) or None]


def show_report(settings: Settings, run_id: str) -> None:
    """The short report of one run."""
    from tachograph.console.report.sections import page_of  # noqa: PLC0415 - as above
    from tachograph.console.report.terminal import SHORT, print_page  # noqa: PLC0415

    print_page(OUT, page_of(read_report(settings, run_id)).only(*SHORT))


def point_the_way(settings: Settings, recorded: "Recorded") -> None:
    """Where to look next."""
    OUT.print()
    OUT.print(
        f"Data is in {settings.home}, served by ClickHouse at {settings.clickhouse.address} while the stack runs.",
        soft_wrap=True,
    )
    call = program()
    OUT.print(f"`make demo ARGS=--keep` leaves it running and serves the pages; `{call} up` starts it again. Then:")
    for arguments in (
        "console",
        f"report {recorded.run_ids[2]} --format html -o report.html",
        f"diff {recorded.run_ids[0]} {recorded.run_ids[1]}",
        f'query "{QUERY_TO_TRY}"',
    ):
        OUT.print(f"  {call} {arguments}", soft_wrap=True)


def show_trails(folder: Path, session_ids: Sequence[str]) -> None:
    """Where the audit trail is, and a first question to it."""
    OUT.print()
    OUT.print(f"The audit trail is in {folder}, a folder for each session:", soft_wrap=True)
    for session_id in session_ids:
        OUT.print(f"  {session_id}", soft_wrap=True)
    OUT.print("The calls that failed, for example:")
    OUT.print(f"  {JQ_TO_TRY} {folder}/{session_ids[3]}/tool_calls.jsonl", soft_wrap=True)
