"""The demo on the real pipeline, played once: what each scenario promises, and what a person then reads of it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from tachograph.console.cli.app import app
from tachograph.console.cli.completion import complete_run
from tachograph.console.cli.demonstration import wait_for_outcomes, wait_until_landed
from tachograph.console.cli.report import read_report
from tachograph.console.cli.stack import CHILDREN
from tachograph.console.database import reader
from tachograph.console.demo.outcome import Outcome, still_missing
from tachograph.console.demo.recording import Recorded, record_stories
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.scenarios import SCENARIOS
from tachograph.console.demo.workspace import TOKEN
from tachograph.console.doctor import Finding, State, examine
from tachograph.console.doctor.broker import check_broker, check_lag
from tachograph.console.doctor.tables import check_tables
from tachograph.console.report.compare import compare
from tachograph.console.report.find import UnknownRunError, find_run
from tachograph.deploy.topics import plan_topics
from tachograph.processors.sealing.key_set import create_keys
from tachograph.producers.publishing import SpoolPublisher
from tachograph.schemas import tables
from tachograph.schemas.settings import DoctorSettings, Settings
from tachograph.schemas.topics import TOPICS
from tests.console.hostile_producer import PAYLOAD, publish_hostile_run
from tests.console.report.test_report import SCHEMA_FILE
from tests.console.stories import NAMES
from tests.console.test_cli_reference import check_shape
from tests.pipeline.processes import Part, wait_for
from tests.sinks.running import eventually

PARTS = tuple(name for name in CHILDREN if name != "slo")
"""What the demo waits for: objectives have nothing to do with it."""

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300), pytest.mark.xdist_group("demo")]


@dataclass(frozen=True)
class Landed:
    """The demo, landed."""

    settings: Settings
    recorded: Recorded
    outcomes: Mapping[str, Outcome]
    examined: list[Finding]
    """What the doctor said while everything was at work."""
    hostile: str
    """Beginning of the id of a run by a foreign producer."""

    def run_id(self, name: str) -> str:
        return next(scenario for scenario in SCENARIOS if scenario.name == name).run_id(self.recorded.suffix)

    def cli(self, *arguments: str, may_fail: bool = False) -> str:
        """What a command that succeeds prints on stdout."""
        # Wide enough for a hostile name to stand in one piece.
        wide = {"TACHOGRAPH_HOME": str(self.settings.home), "NO_COLOR": "1", "COLUMNS": "400"}
        answer = CliRunner().invoke(app, arguments, env=wide)
        assert may_fail or answer.exit_code == 0, answer.output
        return answer.stdout

    def program(self, *arguments: str, columns: int = 160, **more: str) -> subprocess.CompletedProcess[str]:
        """The program as a person starts it."""
        environment = os.environ | {"TACHOGRAPH_HOME": str(self.settings.home), "COLUMNS": str(columns)} | more
        command = [str(Path(sys.executable).parent / "tachograph"), *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def landed(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Landed:
    """One pipeline for all tests of this file. Its processes end before the first test: what landed stays."""
    logs = tmp_path_factory.mktemp("logs")
    create_keys(stack)
    recorded = record_stories(stack, SpoolPublisher.from_settings(stack))
    hostile = publish_hostile_run(stack)
    with ExitStack() as running, reader(stack) as database:
        parts = [running.enter_context(Part(name, stack, logs / f"{name}.log")) for name in PARTS]
        wait_until_landed(database, recorded.run_ids, recorded.event_ids)
        outcomes = wait_for_outcomes(database, recorded, PARTS)
        ended = "SELECT count() FROM runs WHERE startsWith(run_id, {run:String}) AND ended_at IS NOT NULL"
        wait_for(lambda: database.rows(ended, {"run": hostile})[0][0] == 1, parts[0].log_tail, *parts)
        wait_for(lambda: not _behind(list(check_lag(stack))), parts[0].log_tail, *parts)
        examined = examine(stack)
    return Landed(stack, recorded, outcomes, examined, hostile)


def _behind(found: list[Finding]) -> bool:
    return any(item.state is not State.OK for item in found)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_each_scenario_becomes_what_it_promises(scenario: Scenario, landed: Landed) -> None:
    """Status, completeness, violations, snapshots and sealed records, all of them and no more."""
    outcome = landed.outcomes[scenario.run_id(landed.recorded.suffix)]
    assert still_missing(scenario, outcome, PARTS) == []


def test_no_row_holds_the_token(landed: Landed) -> None:
    """Not in any text column of any table."""
    about = {"run": landed.run_id("sign_in")}
    with reader(landed.settings) as database:
        for table in tables.TABLES:
            if not any(column.name == "run_id" for column in table.columns):
                continue
            # The names are those of our own tables.
            rows = database.rows(f"SELECT * FROM {table.name} WHERE run_id = {{run:String}}", about)  # noqa: S608
            assert TOKEN[4:] not in repr(rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_report_of_real_rows_keeps_to_the_schema(name: str, landed: Landed) -> None:
    """ClickHouse's types come out as the document wants them, and are what the worker's core alone gives."""
    document = json.loads(landed.cli("report", landed.run_id(name), "--json"))
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))).validate(document)
    assert document["summary"]["run_id"] == landed.run_id(name)


def test_the_report_tells_of_snapshots_and_seals(landed: Landed) -> None:
    """What the snapshot step stored, and where a record is sealed."""
    loop = read_report(landed.settings, landed.run_id("rename"))
    assert loop.snapshots
    assert all(item.stored and item.trigger == "loop_guard" for item in loop.snapshots)
    (deferred,) = read_report(landed.settings, landed.run_id("release")).records
    assert (deferred.proposed_status, deferred.status) == ("DECIDED", "DEFERRED")
    assert [verdict.code for verdict in deferred.verdicts if not verdict.passed] == ["approval.missing"]
    assert deferred.proof is not None
    (decided,) = read_report(landed.settings, landed.run_id("ship")).records
    assert (decided.status, all(verdict.passed for verdict in decided.verdicts)) == ("DECIDED", True)


def test_the_short_form_fits_the_terminal(landed: Landed) -> None:
    """Any run by the beginning of its id, on a narrow screen, without colours."""
    answer = landed.program("report", landed.run_id("sign_in")[:-2], columns=72, NO_COLOR="1", FORCE_COLOR="")
    assert answer.returncode == 0, answer.stderr
    assert "policy.no_secrets" in answer.stdout
    assert "\x1b" not in answer.stdout
    assert max(len(line) for line in answer.stdout.splitlines()) <= 72


def test_the_list_of_runs_fits_a_small_terminal(landed: Landed) -> None:
    """A line for each run with what matters most: how it ended, whether it is whole, what was found."""
    answer = landed.program("runs", "--agent", "demo-coder", "--limit", "500", columns=80, NO_COLOR="1", FORCE_COLOR="")
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert max(len(line) for line in lines) <= 80
    (line,) = (line for line in lines if landed.run_id("sign_in") in line)
    assert line.split()[1:5] == ["succeeded", "complete", "2", "critical"]
    (line,) = (line for line in lines if landed.run_id("speed_up") in line)
    assert "2 error, 2 warn" in line


def test_the_html_file_is_alone_in_the_world(landed: Landed, tmp_path: Path) -> None:
    """Nothing is fetched and nothing runs: it can be mailed."""
    file = tmp_path / "report.html"
    assert landed.cli("report", landed.run_id("upgrade"), "--format", "html", "-o", str(file)) == ""
    text = file.read_text(encoding="utf-8")
    found: list[tuple[str, str | None]] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend((f"{tag} {name}", value) for name, value in attrs if name in {"href", "src", "srcset"})

    Links().feed(text)
    assert found
    assert all(name == "a href" and (value or "").startswith("#") for name, value in found)
    assert "<script" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_a_file_that_cannot_be_written(landed: Landed, tmp_path: Path) -> None:
    """A sentence, and exit code 1."""
    answer = landed.program("report", landed.run_id("ship"), "-f", "md", "-o", str(tmp_path / "no" / "where.md"))
    assert answer.returncode == 1
    assert "choose another file with -o" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_latest_is_the_run_that_began_last(landed: Landed) -> None:
    """Among all runs of all agents."""
    with reader(landed.settings) as database:
        found = find_run(database, "latest")
        (newest,) = database.rows("SELECT max(first_seen_at) FROM runs WHERE run_id != ''")
        (mine,) = database.rows("SELECT first_seen_at FROM runs WHERE run_id = {r:String}", {"r": found.run_id})
    assert mine == newest


def test_an_unknown_run_names_the_nearest(landed: Landed) -> None:
    """A slip of the finger is answered with what was meant."""
    with reader(landed.settings) as database, pytest.raises(UnknownRunError, match="did you mean") as caught:
        find_run(database, landed.run_id("ship").replace("ship", "shpi"))
    assert landed.run_id("ship") in str(caught.value)


def test_an_ambiguous_beginning_lists_the_candidates(landed: Landed) -> None:
    """``run_`` is the beginning of all of them."""
    with reader(landed.settings) as database, pytest.raises(UnknownRunError, match="more than one run"):
        find_run(database, "run_")


def test_another_tenant_has_no_such_run(landed: Landed) -> None:
    """``--tenant`` narrows."""
    with reader(landed.settings) as database, pytest.raises(UnknownRunError):
        find_run(database, landed.run_id("ship"), tenant="nobody")


def test_run_ids_are_completed(landed: Landed) -> None:
    """By the shell, from ClickHouse."""
    start = landed.run_id("fix_test")[:-3]
    words: dict[str, Any] = {
        "COMP_WORDS": f"tachograph report {start}",
        "COMP_CWORD": "2",
        "_TACHOGRAPH_COMPLETE": "complete_bash",
    }
    assert landed.program(columns=160, **words).stdout.split() == [landed.run_id("fix_test")]


def test_without_clickhouse_nothing_is_completed_in_silence(landed: Landed, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unfinished word is no place for an error."""
    monkeypatch.setenv("TACHOGRAPH_HOME", str(landed.settings.home))
    monkeypatch.setenv("TACHOGRAPH_CLICKHOUSE__HTTP_PORT", "9")
    assert complete_run("run_") == []


def test_two_runs_are_compared(landed: Landed) -> None:
    """Typed, as JSON and as a table; a run does not differ from itself."""
    document = json.loads(landed.cli("diff", landed.run_id("fix_test"), landed.run_id("sign_in"), "--json"))
    assert set(document["counts"]) >= {"prompt", "tool", "decision", "output", "cost"}
    assert "policy.no_secrets" in landed.cli("diff", landed.run_id("fix_test"), landed.run_id("sign_in"))
    same = read_report(landed.settings, landed.run_id("ship"))
    assert compare(same, same).differences == ()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("runs", (), id="runs"),
        pytest.param("diff", ("{fix_test}", "{ship}"), id="diff"),
        pytest.param("doctor", (), id="doctor"),
        pytest.param("migrate", ("--dry-run",), id="migrate"),
        pytest.param("topics apply", ("--dry-run",), id="topics apply"),
        pytest.param("violations tail", ("--since", "1h", "--limit", "3"), id="violations tail"),
    ],
)
def test_json_has_the_documented_keys(name: str, arguments: tuple[str, ...], landed: Landed) -> None:
    """The commands of docs/cli.md that need servers."""
    ids = {scenario: landed.run_id(scenario) for scenario in NAMES}
    printed = landed.cli(
        *name.split(), *(part.format(**ids) for part in arguments), "--json", may_fail=name == "doctor"
    )
    check_shape(name, printed)


VIOLATIONS = ("violations", "tail", "--since", "1h", "--agent", f"agent{PAYLOAD}", "--limit", "{violations}")
COMMANDS: list[Any] = [
    pytest.param(("runs",), id="runs"),
    pytest.param(("runs", "--json"), id="runs as JSON"),
    pytest.param(("query", "SELECT * FROM decision_events WHERE startsWith(run_id, '{run}')"), id="query"),
    pytest.param(("query", "SELECT * FROM tool_calls WHERE startsWith(run_id, '{run}')", "--json"), id="query as JSON"),
    pytest.param(("report", "{run}"), id="report"),
    pytest.param(("report", "{run}", "--json"), id="report as JSON"),
    pytest.param(("report", "{run}", "--format", "md"), id="report as Markdown"),
    pytest.param(("report", "{run}", "--format", "html"), id="report as HTML"),
    pytest.param(("diff", "{run}", "{other}"), id="diff"),
    pytest.param(("diff", "{run}", "{other}", "--json"), id="diff as JSON"),
    pytest.param(VIOLATIONS, id="violations"),
    pytest.param((*VIOLATIONS, "--json"), id="violations as JSON"),
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_hostile_content_reaches_no_terminal(arguments: tuple[str, ...], landed: Landed) -> None:
    """A foreign producer wrote what it liked into every field; each command shows it and obeys nothing."""
    with reader(landed.settings) as database:
        about = {"run": landed.hostile, "other": landed.run_id("ship")}
        # As many as the command must find: it would wait for one more for ever.
        (counted,) = database.rows(
            "SELECT toString(count()) FROM violations WHERE startsWith(run_id, {run:String})", {"run": landed.hostile}
        )[0]
    asked = [part.format(**about, violations=counted) if "{" in part else part for part in arguments]
    # Side by side, two runs leave a hostile name no room to stand in one piece.
    shown = landed.program(*asked, columns=400, NO_COLOR="1").stdout if asked[0] == "diff" else landed.cli(*asked)
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "evil.ex" in shown


def test_the_doctor_finds_nothing_wrong(landed: Landed) -> None:
    """With everything at work, every check was ok."""
    wrong = [item for item in landed.examined if item.state is not State.OK]
    assert wrong == []
    assert {item.check for item in landed.examined} == {
        "kafka.broker",
        "kafka.topics",
        "lag.worker",
        "lag.sink",
        "lag.snapshots",
        "schemas",
        "clickhouse.server",
        "clickhouse.accounts",
        "clickhouse.grants",
        "clickhouse.migrations",
        "clock",
        "disk",
        "keys",
        "spool",
    }


def without_members(settings: Settings, check: str) -> Finding:
    """What the doctor says once the broker has given up members that ended: those with a name are kept for a while."""
    found: list[Finding] = []

    def noticed() -> bool:
        found[:] = [item for item in check_broker(settings) if item.check == check]
        return found[0].state is not State.OK

    eventually(noticed, "the broker to give up members that are gone", 90)
    return found[0]


def test_the_doctor_sees_that_nobody_is_at_work(landed: Landed) -> None:
    """The processes have ended: nothing waits, so that is a warning with the command to start one."""
    found = without_members(landed.settings, "lag.worker")
    assert found.state in {State.WARN, State.FAIL}
    assert "tachograph worker" in found.todo


def test_the_doctor_misses_a_topic(landed: Landed) -> None:
    """One that the contract has and the broker has not."""
    missing = replace(TOPICS[0], name="tachograph.never.made.v1")
    found = {item.check: item for item in check_broker(landed.settings, (*TOPICS, missing))}
    assert found["kafka.topics"].state is State.FAIL
    assert "tachograph.never.made.v1" in found["kafka.topics"].detail
    assert "topics apply" in found["kafka.topics"].todo
    assert all(change.action == "keep" for change in plan_topics(landed.settings.kafka))


def test_the_doctor_says_which_password_is_wrong(landed: Landed) -> None:
    """By its variable, and without the password. What the other accounts tell is still told."""
    clickhouse = landed.settings.clickhouse.model_copy(update={"sink_password": SecretStr("canary-1f2e")})
    found = {item.check: item for item in check_tables(landed.settings.model_copy(update={"clickhouse": clickhouse}))}
    assert found["clickhouse.accounts"].state is State.FAIL
    assert "TACHOGRAPH_CLICKHOUSE__SINK_PASSWORD" in found["clickhouse.accounts"].todo
    assert found["clickhouse.migrations"].state is State.OK
    assert "canary" not in str(found)


def test_the_doctor_sees_a_database_without_tables(landed: Landed) -> None:
    """A database that was never migrated."""
    clickhouse = landed.settings.clickhouse.model_copy(update={"database": "nowhere"})
    found = {item.check: item for item in check_tables(landed.settings.model_copy(update={"clickhouse": clickhouse}))}
    assert found["clickhouse.migrations"].state is State.FAIL
    assert "tachograph migrate" in found["clickhouse.migrations"].todo


def test_the_doctor_sees_a_clock_that_is_wrong(landed: Landed) -> None:
    """A machine that lives in another year."""
    found = {item.check: item for item in check_tables(landed.settings, datetime(2020, 1, 1, tzinfo=UTC))}
    assert found["clock"].state is State.FAIL


def test_the_doctor_sees_a_lag(landed: Landed) -> None:
    """More waits than the setting allows, or nobody is there: with the processes gone it is the latter."""
    strict = landed.settings.model_copy(update={"doctor": DoctorSettings(max_lag=0)})
    assert without_members(strict, "lag.sink").state is not State.OK
