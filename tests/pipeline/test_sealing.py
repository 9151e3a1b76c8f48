"""Proposals through the real pipeline: from `run.propose_record` to sealed rows that verify, whatever is killed."""

import json
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tachograph.console.database import Reader, reader
from tachograph.console.verify.log import verify_log
from tachograph.deploy.topics import apply_topics
from tachograph.processors.names import TopicNames
from tachograph.processors.sealing.key_set import create_keys, key_set_of, read_key_set
from tachograph.processors.sealing.reader import RangeReader
from tachograph.processors.sealing.service import run_sealer
from tachograph.schemas.headers import Header
from tachograph.schemas.proofs import open_heads
from tachograph.schemas.proofs.heads import heads_origin
from tachograph.schemas.proofs.sealed import SealedRecord
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import CHECKPOINTS, DLQ, HEADS, RECORDS, VIOLATIONS
from tests.pipeline.processes import Part, wait_for
from tests.pipeline.refunds import evidence, refund, refunding

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

QUICK = {
    "TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05",
    "TACHOGRAPH_SEALER__SESSION_TIMEOUT_S": "1",
    "TACHOGRAPH_ANCHORS__EVERY_S": "1",
    # Nobody listens there: an anchor that is down.
    "TACHOGRAPH_ANCHORS__RFC3161_URL": "http://127.0.0.1:1/tsr",
    "TACHOGRAPH_ANCHORS__TIMEOUT_S": "2",
}
PROPOSED: dict[str, dict[str, Any]] = {
    "dr_1": {},
    "dr_2": {"approvals": []},
    "dr_3": {"evidence_refs": ["tool:adp_orders.lookup:tc_117", "tool:adp_policy.eval:invented"]},
    "dr_4": {"status": "ESCALATED", "outputs": {}},
}


@dataclass(frozen=True)
class Sealed:
    """A pipeline that has sealed what an agent proposed."""

    settings: Settings
    agent: str
    database: Reader

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.database.rows(sql, {"agent": self.agent})]


@pytest.fixture(scope="module")
def sealed(sealed_stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    """An agent proposes four refunds; sealer and sink run until all of it has landed."""
    create_keys(sealed_stack)
    folder = tmp_path_factory.mktemp("sealed")
    own = QUICK | {"TACHOGRAPH_ANCHORS__FILE": str(folder / "heads.jsonl")}
    sealer, sink = (Part(name, sealed_stack, folder / f"{name}.log", **own) for name in ("sealer", "sink"))
    with reader(sealed_stack) as database:
        found = Sealed(sealed_stack, f"refunds-{uuid.uuid4().hex[:8]}", database)
        with sealer, sink:
            with refunding(sealed_stack, found.agent) as tracer:
                for name, changes in PROPOSED.items():
                    with tracer.start_run() as run:
                        refs = evidence(run)
                        assert run.propose_record(**refund(refs, run, record_id=name) | changes)
            enough = """
            SELECT (SELECT count() FROM decision_records WHERE agent_id = {agent:String}) = 4
               AND (SELECT count() FROM violations WHERE agent_id = {agent:String} AND code LIKE 'record.%') = 4
               AND (SELECT sum(size) FROM (SELECT log_id, max(tree_size) AS size FROM checkpoints GROUP BY log_id))
                   = (SELECT uniqExact(log_id, log_seq) FROM decision_records)
               AND (SELECT sum(log.tree_size) FROM (SELECT arrayJoin(argMax(logs, minute)) AS log
                                                    FROM log_heads GROUP BY tenant_id))
                   = (SELECT uniqExact(log_id, log_seq) FROM decision_records)
            """
            wait_for(lambda: bool(found.rows(enough)[0][0]), sealer.log_tail, sealer, sink)
        yield found


def test_every_proposal_is_judged_sealed_and_landed(sealed: Sealed) -> None:
    """A sound refund is DECIDED; what lacks approval or evidence is DEFERRED and says why; nothing is dropped."""
    found = sealed.rows("""
    SELECT record_id, status, proposed_status,
           arraySort(arrayMap(v -> v.code, arrayFilter(v -> NOT v.passed, verdicts)))
    FROM decision_records WHERE agent_id = {agent:String} ORDER BY record_id
    """)
    assert found == [
        ("dr_1", "DECIDED", "DECIDED", []),
        ("dr_2", "DEFERRED", "DECIDED", ["approval.missing"]),
        ("dr_3", "DEFERRED", "DECIDED", ["evidence.absent", "evidence.unresolvable"]),
        ("dr_4", "ESCALATED", "ESCALATED", []),
    ]


def test_what_blocked_a_record_can_raise_an_incident(sealed: Sealed) -> None:
    """Each rule that blocked, and each escalation, is a violation that leads to its record."""
    assert sealed.rows("""
    SELECT code, evidence FROM violations WHERE agent_id = {agent:String} AND code LIKE 'record.%' ORDER BY code
    """) == [
        ("record.approval.missing", "record:dr_2"),
        ("record.escalated", "record:dr_4"),
        ("record.evidence.absent", "record:dr_3"),
        ("record.evidence.unresolvable", "record:dr_3"),
    ]


def test_every_log_verifies(sealed: Sealed) -> None:
    """Chain, signatures and checkpoints, as ClickHouse holds them."""
    keys = read_key_set(key_set_of(sealed.settings))
    logs: dict[str, tuple[list[SealedRecord], list[str]]] = {}
    listed = "SELECT log_id, body, record_hash, signature FROM decision_records ORDER BY log_id, log_seq"
    for name, body, record_hash, signature in sealed.rows(listed):
        logs.setdefault(name, ([], []))[0].append(SealedRecord(body, record_hash, signature))
    for name, note in sealed.rows("SELECT log_id, note FROM checkpoints ORDER BY log_id, tree_size"):
        logs[name][1].append(note)
    assert logs
    assert [finding for name, log in logs.items() for finding in verify_log(name, *log, keys)] == []


def test_the_heads_of_all_logs_are_signed_and_anchored(sealed: Sealed) -> None:
    """Where an anchor is down, sealing went on; the record says who took it, a violation who did not."""
    keys = read_key_set(key_set_of(sealed.settings))
    (tenant, note, anchors), *_ = sealed.rows(
        "SELECT tenant_id, note, arrayMap(a -> a.kind, anchors) FROM log_heads ORDER BY minute DESC LIMIT 1"
    )
    heads, _ = open_heads(note, [key.note_key(heads_origin(tenant)) for key in keys.keys], tenant_id=tenant)
    sizes = sealed.rows("SELECT log_id, count() FROM decision_records GROUP BY log_id ORDER BY log_id")
    assert [(log.log_id, log.size) for log in heads.logs] == sizes
    assert anchors == ["file"]
    assert sealed.rows("SELECT DISTINCT kind, agent_id FROM violations WHERE code = 'integrity.anchor_failed'") == [
        ("integrity", "tachograph-sealer")
    ]


def test_records_are_found_by_what_auditors_ask_for(sealed: Sealed) -> None:
    """Decision, subject, status, approval mode, policy decision, trace and approver: each is indexed, and is used."""
    (trace,) = sealed.rows(
        "SELECT trace_id FROM decision_records WHERE agent_id = {agent:String} AND record_id = 'dr_1'"
    )
    asked = {
        "decision_key_bloom": "decision_key = 'support.refund.execute'",
        "subject_ids_bloom": "has(subject_ids, 'order:ord_881')",
        "status_set": "status = 'DECIDED'",
        "approval_modes_bloom": "has(approval_modes, 'destructive')",
        "policy_decision_ids_bloom": "has(policy_decision_ids, 'pol_1')",
        "trace_id_bloom": f"trace_id = '{trace[0]}'",
        "approvers_bloom": "has(approvers, 'lead_77')",
    }
    for index, condition in asked.items():
        counted = f"SELECT count() FROM decision_records WHERE agent_id = {{agent:String}} AND {condition}"  # noqa: S608 - ours
        assert sealed.rows(counted)[0][0] >= 1, condition
        plan = "\n".join(row[0] for row in sealed.rows(f"EXPLAIN indexes = 1 {counted}"))
        assert index in plan, plan


def outputs_of(settings: Settings) -> str:
    """Topics for a sealer beside the real one; the prefix of their names."""
    prefix = f"t{uuid.uuid4().hex[:8]}."
    topics = (RECORDS, CHECKPOINTS, HEADS, DLQ, *VIOLATIONS)
    apply_topics(settings.kafka, [replace(topic, name=prefix + topic.name) for topic in topics])
    return prefix


def written(settings: Settings, prefix: str) -> dict[int, list[tuple[bytes, bytes]]]:
    """Source and bytes of every record of each partition, repeats included."""
    found: dict[int, list[tuple[bytes, bytes]]] = {}
    topic, reading = prefix + RECORDS.name, RangeReader(settings, uuid.uuid4().hex)
    try:
        for partition in range(settings.kafka.partitions):
            found[partition] = [
                (dict(message.headers() or [])[Header.SOURCE.value], message.value() or b"")  # type: ignore[misc]
                for message in reading.messages(topic, partition, *reading.bounds(topic, partition))
            ]
    finally:
        reading.close()
    return found


def once(rows: dict[int, list[tuple[bytes, bytes]]]) -> dict[int, list[bytes]]:
    """As a reader that drops repeats has them; a source with two contents is a fork."""
    for messages in rows.values():
        contents: dict[bytes, bytes] = {}
        assert all(contents.setdefault(source, value) == value for source, value in messages)
    return {partition: list(dict(messages).values()) for partition, messages in rows.items()}


def sealing_until(settings: Settings, prefix: str, count: int, *groups: str) -> None:
    """Sealers of these groups, at once, until there are so many records."""
    stop, failed = threading.Event(), []

    def work(group: str) -> None:
        section = settings.sealer.model_copy(update={"group_id": group, "session_timeout_s": 1.0, "batch_size": 2})
        try:
            run_sealer(settings.model_copy(update={"sealer": section}), stop=stop, outputs=TopicNames(prefix))
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(group,)) for group in groups]
    for thread in threads:
        thread.start()
    try:
        wait_for(
            lambda: bool(failed) or sum(map(len, once(written(settings, prefix)).values())) >= count,
            lambda: f"{sum(map(len, written(settings, prefix).values()))} of {count}",
        )
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert not failed


def test_killed_at_every_step_and_run_twice_the_log_is_the_same(sealed: Sealed, tmp_path: Path) -> None:
    """One sealer is killed -9 at each step and followed by another; two work at once; all logs are byte-identical."""
    settings = sealed.settings
    expected = once(written(settings, ""))
    count = sum(map(len, expected.values()))
    assert count >= len(PROPOSED)

    prefix, group = outputs_of(settings), uuid.uuid4().hex
    for moment in ("judged", "warned", "sealed", "checkpointed", "committed"):
        told = {
            "home": str(settings.home),
            "prefix": prefix,
            "moment": moment,
            "sealer": {"group_id": group, "instance_id": "s", "session_timeout_s": 1.0, "batch_size": 2},
        }
        with (tmp_path / "sealer.log").open("ab") as log:
            died = subprocess.run(
                [sys.executable, "-m", "tests.pipeline.sealer_process"],
                input=json.dumps(told).encode(),
                stdout=log,
                stderr=log,
                check=False,
                timeout=120,
            )
        assert died.returncode == -9, (tmp_path / "sealer.log").read_text()[-2000:]
    sealing_until(settings, prefix, count, group)
    assert once(written(settings, prefix)) == expected

    twice = outputs_of(settings)
    sealing_until(settings, twice, count, uuid.uuid4().hex, uuid.uuid4().hex)
    assert once(written(settings, twice)) == expected
