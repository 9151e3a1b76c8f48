"""Runs through the whole pipeline, then what can be shown of them: replay, recordings, verification, completeness."""

import json
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tachograph.console.cli.app import app
from tachograph.console.database import reader
from tachograph.console.replay.fetch import Stores
from tachograph.console.replay.whole import replay_all
from tachograph.console.verify.stored import StoredLogs
from tachograph.processors.sealing.key_set import create_keys, key_set_of, read_key_set
from tachograph.producers import Tracer
from tachograph.producers.replay import DivergenceKind, ReplayDivergedError
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.enums import ReplayStatus
from tachograph.schemas.settings import Settings
from tests.deploy.test_roles import login
from tests.pipeline.processes import Part, wait_for
from tests.pipeline.refunds import TOOLS, evidence, refund, refunding

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

QUICK = {"TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05", "TACHOGRAPH_SEALER__SESSION_TIMEOUT_S": "1"}


def complete(model: str, messages: list[str]) -> str:  # noqa: ARG001 - a client's shape
    return "refund it"


def refund_agent(tracer: Tracer, record_id: str, *, question: str = "twice?", **changes: Any) -> str:
    """Ask, look up, decide, propose."""
    tracer.tools.update(TOOLS)
    with tracer.start_run("Why was I charged twice?") as run:
        with run.step("answer", "ask the model"):
            assert run.model_call(complete, model="m-1", messages=[question]) == "refund it"
        run.record_decision(decision_type="tool_selection", selected="refund", reason_code="fresh_data_required")
        refs = evidence(run)
        assert run.propose_record(**refund(refs, run, record_id=record_id, **changes))
        return run.run_id


@dataclass(frozen=True)
class Landed:
    """Three runs in the stores: one accepted, one deferred, one whose rows a test may take away."""

    settings: Settings
    agent_id: str
    run_id: str
    record_id: str
    deferred: str
    victim_run: str
    victim: str
    parts: tuple[Part, ...]

    def command(self, *arguments: str) -> Result:
        """A command of the command line, in this process."""
        return CliRunner().invoke(app, [*arguments], env={"TACHOGRAPH_HOME": str(self.settings.home), "COLUMNS": "200"})

    def log_tail(self) -> str:
        return "".join(part.log_tail() for part in self.parts)


@pytest.fixture(scope="module")
def landed(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Landed]:
    create_keys(stack)
    folder = tmp_path_factory.mktemp("proof")
    name = uuid.uuid4().hex[:8]
    records, agent = [f"dr_{name}_{number}" for number in range(3)], f"proof-{name}"
    parts = tuple(Part(part, stack, folder / f"{part}.log", **QUICK) for part in ("worker", "sealer", "sink"))
    with reader(stack) as database, parts[0], parts[1], parts[2]:
        with refunding(stack, agent) as tracer:
            run_id = refund_agent(tracer, records[0])
            refund_agent(tracer, records[1], approvals=[])
            victim_run = refund_agent(tracer, records[2])
        made = Landed(stack, agent, run_id, records[0], records[1], victim_run, records[2], parts)

        def there() -> bool:
            counted = [
                database.rows(sql, {"agent": agent})[0][0]
                for sql in (
                    "SELECT count() FROM decision_records WHERE agent_id = {agent:String}",
                    "SELECT count() FROM agent_runs WHERE agent_id = {agent:String} AND event_type = 'run_ended'",
                    "SELECT count() FROM tool_calls WHERE agent_id = {agent:String}",
                    "SELECT count() FROM context_items WHERE agent_id = {agent:String}",
                )
            ]
            covered = database.rows(
                "SELECT count() FROM decision_records AS r INNER JOIN checkpoints AS c ON c.log_id = r.log_id "
                "WHERE r.agent_id = {agent:String} AND c.tree_size > r.log_seq",
                {"agent": agent},
            )[0][0]
            return counted == [3, 3, 6, 6] and covered >= 3

        wait_for(there, made.log_tail, *parts)
        yield made


def test_unchanged_runs_and_records_replay_equal(landed: Landed) -> None:
    """From ClickHouse, the catalog and Kafka's events; every input is there, and nothing goes unchecked."""
    with reader(landed.settings) as database:
        for name in (landed.run_id, landed.deferred):
            outcomes = replay_all(database, landed.settings, "default", name)
            assert outcomes
            for item in outcomes:
                assert (item.result.outcome, item.result.diffs, item.result.unchecked) == (ReplayStatus.EQUAL, (), ())
        packet = Stores(database, landed.settings, "default").packets(landed.record_id)[0]
    assert packet.proposal is not None
    assert (len(packet.calls), len(packet.contexts)) == (2, 3)


def test_results_land_and_the_health_of_replays_is_a_query(landed: Landed) -> None:
    """`tachograph replay RECORD`, then the rate of equal replays by pack version."""
    answer = landed.command("replay", landed.record_id, "--json")
    assert answer.exit_code == 0, answer.output
    assert [item["outcome"] for item in json.loads(answer.stdout)] == ["replay_equal"]
    sql = """
    SELECT pack_version, countIf(outcome = 'replay_equal') / count() FROM replays
    WHERE replayed_at >= now() - INTERVAL 30 DAY AND agent_id = {agent:String} AND record_id = {record:String}
    GROUP BY pack_version
    """
    asked = {"agent": landed.agent_id, "record": landed.record_id}
    with reader(landed.settings) as database:
        wait_for(lambda: bool(database.rows(sql, asked)), landed.log_tail, *landed.parts)
        assert [tuple(row) for row in database.rows(sql, asked)] == [("ctxpack.support@1.0.0", 1.0)]
        joined = """
        SELECT count() FROM replays INNER JOIN decision_records USING (trace_id, record_id)
        WHERE record_id = {record:String} AND trace_id IN (SELECT trace_id FROM decision_events)
          AND trace_id IN (SELECT trace_id FROM tool_calls)
        """
        assert database.rows(joined, asked)[0][0] >= 1


def test_a_run_can_be_given_to_its_agent_s_code(landed: Landed, tmp_path: Path) -> None:
    """Exported from ClickHouse; the code runs against it without any server, and changed code is caught."""
    answer = landed.command("recording", "export", landed.run_id, str(tmp_path))
    assert answer.exit_code == 0, answer.output
    tracer = Tracer(agent_id=landed.agent_id, publisher=InMemoryPublisher())
    with tracer.replaying(landed.run_id, tmp_path):
        assert refund_agent(tracer, "dr_again") == landed.run_id
    tracer = Tracer(agent_id=landed.agent_id, publisher=InMemoryPublisher())
    with pytest.raises(ReplayDivergedError) as raised, tracer.replaying(landed.run_id, tmp_path):
        refund_agent(tracer, "dr_again", question="thrice?")
    assert raised.value.divergence.kind is DivergenceKind.PROMPT_CHANGED


def test_what_is_stored_verifies_and_says_on_what_basis(landed: Landed, tmp_path: Path) -> None:
    """A record by its log's checkpoints; with a checkpoint that was kept, by that; completeness counts four ways."""
    answer = landed.command("verify", "--record", landed.record_id, "--json")
    assert answer.exit_code == 0, answer.output
    [record] = json.loads(answer.stdout)["records"]
    assert record["basis"] == "checkpoint"
    with reader(landed.settings) as database:
        kept = StoredLogs(database, "default").checkpoints(record["log_id"])
    (tmp_path / "kept").write_text(kept[-1])
    answer = landed.command("verify", "--record", landed.record_id, "--anchor", str(tmp_path / "kept"), "--json")
    assert json.loads(answer.stdout)["records"][0]["basis"] == "anchor"
    answer = landed.command("verify", "--run", landed.run_id, "--complete", "--json")
    assert answer.exit_code == 0, answer.output
    [account] = json.loads(answer.stdout)["runs"]
    assert account["missing"] == []
    assert account["counted"] == account["kafka"] == account["clickhouse"] > 10
    assert account["sealed"] == 1
    answer = landed.command("evidence", "show", landed.record_id)
    assert answer.exit_code == 0, answer.output
    assert "GATE_FINANCE_APPROVAL opened by lead_77" in answer.stdout


def test_evidence_for_an_auditor_who_has_nothing_of_ours(landed: Landed, tmp_path: Path) -> None:
    """A zip and two proofs, checked by the file inside, with nothing but its two packages."""
    bundle, kept = tmp_path / "evidence.zip", tmp_path / "kept"
    answer = landed.command("evidence", "export", landed.run_id, "-o", str(bundle))
    assert answer.exit_code == 0, answer.output
    with zipfile.ZipFile(bundle) as archive:
        assert "README.md" in archive.namelist()
        (tmp_path / "tachograph_verify.py").write_bytes(archive.read("tachograph_verify.py"))
        kept.write_text(json.loads(archive.read("proofs.jsonl").splitlines()[0])["checkpoint"])
    assert landed.command("proof", "inclusion", landed.deferred, "-o", str(tmp_path / "in.json")).exit_code == 0
    assert landed.command("proof", "consistency", str(kept), "-o", str(tmp_path / "grew.json")).exit_code == 0
    trusted = read_key_set(key_set_of(landed.settings)).keys[0].public_key
    for name in ("evidence.zip", "in.json", "grew.json"):
        checked = subprocess.run(
            [sys.executable, "-I", str(tmp_path / "tachograph_verify.py"), str(tmp_path / name), "--trust", trusted],
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stderr
        assert landed.command("verify", str(tmp_path / name), "--trust", trusted).exit_code == 0
    assert landed.command("evidence", "export", landed.run_id, "-o", str(bundle)).exit_code != 0
    whole = tmp_path / "whole"
    assert landed.command("evidence", "export", landed.run_id, "-o", str(whole), "--whole-logs").exit_code == 0
    with reader(landed.settings) as database:
        assert json.loads((whole / "bundle.json").read_text())["logs"] == StoredLogs(database, "default").names()
    assert landed.command("verify", str(whole), "--trust", trusted, "--anchor", str(kept)).exit_code == 0


def test_a_row_that_was_taken_away_is_named_and_changes_the_replay(landed: Landed) -> None:
    """By somebody with the rights of a migration: the account names the row, the replay gives its type."""
    house = landed.settings.clickhouse
    as_migration = login(landed.settings, house.migrate_user, house.migrate_password.get_secret_value())
    as_migration(
        f"ALTER TABLE tachograph.context_items DELETE WHERE run_id = '{landed.victim_run}' "
        "AND startsWith(source_ref, 'kg:') SETTINGS mutations_sync = 2"
    )
    answer = landed.command("verify", "--run", landed.victim_run, "--complete", "--json")
    assert answer.exit_code == 1
    [account] = json.loads(answer.stdout)["runs"]
    assert [item["where"] for item in account["missing"]] == ["clickhouse"]
    assert "row of context_items" in account["missing"][0]["what"]
    answer = landed.command("replay", landed.victim, "--json", "--no-store")
    assert answer.exit_code == 1
    [replayed] = json.loads(answer.stdout)
    assert replayed["outcome"] == "changed_evidence"
    assert {diff["type"] for diff in replayed["diffs"]} == {"changed_evidence"}
