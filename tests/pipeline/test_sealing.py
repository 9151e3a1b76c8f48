"""Proposals through the real pipeline: from `run.propose_record` to sealed rows that verify."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from tachograph.console.database import Reader, reader
from tachograph.console.verify.log import verify_log
from tachograph.processors.sealing.key_set import create_keys, key_set_of, read_key_set
from tachograph.schemas.proofs.sealed import SealedRecord
from tachograph.schemas.settings import Settings
from tests.pipeline.processes import Part, wait_for
from tests.pipeline.refunds import evidence, refund, refunding

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

QUICK = {"TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05", "TACHOGRAPH_SEALER__SESSION_TIMEOUT_S": "1"}
RECORDS = """
SELECT record_id, status, proposed_status, retention, log_id, log_seq,
       arrayMap(v -> v.code, arrayFilter(v -> NOT v.passed, verdicts))
FROM decision_records WHERE agent_id = {agent:String} ORDER BY record_id
"""


def rows(database: Reader, sql: str, **values: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in database.rows(sql, values)]


def whole_logs(database: Reader) -> dict[str, tuple[list[SealedRecord], list[str]]]:
    """Every log that ClickHouse holds, with its checkpoints."""
    found: dict[str, tuple[list[SealedRecord], list[str]]] = {}
    listed = rows(
        database, "SELECT log_id, body, record_hash, signature FROM decision_records ORDER BY log_id, log_seq"
    )
    for name, body, record_hash, signature in listed:
        found.setdefault(name, ([], []))[0].append(SealedRecord(body, record_hash, signature))
    for name, note in rows(database, "SELECT log_id, note FROM checkpoints ORDER BY log_id, tree_size"):
        found[name][1].append(note)
    return found


def test_a_proposal_is_judged_sealed_and_landed(stack: Settings, tmp_path: Path) -> None:
    """A sound refund is DECIDED, one without approval DEFERRED, one with an invented fact too; all of it verifies."""
    create_keys(stack)
    agent = f"refunds-{uuid.uuid4().hex[:8]}"
    sealer, sink = (Part(name, stack, tmp_path / f"{name}.log", **QUICK) for name in ("sealer", "sink"))
    with reader(stack) as database, sealer, sink:
        with refunding(stack, agent) as tracer:
            proposed: dict[str, dict[str, Any]] = {
                "dr_1": {},
                "dr_2": {"approvals": []},
                "dr_3": {"evidence_refs": ["tool:adp_orders.lookup:tc_117", "tool:adp_policy.eval:invented"]},
                "dr_4": {"status": "ESCALATED", "outputs": {}},
            }
            for name, changes in proposed.items():
                with tracer.start_run() as run:
                    refs = evidence(run)
                    assert run.propose_record(**refund(refs, run, record_id=name) | changes)
        wait_for(lambda: len(rows(database, RECORDS, agent=agent)) == 4, sealer.log_tail, sealer, sink)
        found = rows(database, RECORDS, agent=agent)
        assert [(row[0], row[1], row[2], sorted(row[6])) for row in found] == [
            ("dr_1", "DECIDED", "DECIDED", []),
            ("dr_2", "DEFERRED", "DECIDED", ["approval.missing"]),
            ("dr_3", "DEFERRED", "DECIDED", ["evidence.absent", "evidence.unresolvable"]),
            ("dr_4", "ESCALATED", "ESCALATED", []),
        ]
        codes = (
            "SELECT code FROM violations WHERE agent_id = {agent:String} AND startsWith(code, 'record.') ORDER BY code"
        )
        wait_for(lambda: len(rows(database, codes, agent=agent)) == 4, sealer.log_tail, sealer, sink)
        assert rows(database, codes, agent=agent) == [
            ("record.approval.missing",),
            ("record.escalated",),
            ("record.evidence.absent",),
            ("record.evidence.unresolvable",),
        ]

        def covered() -> bool:
            return all(
                any(f"\n{len(records)}\n" in note for note in notes) for records, notes in whole_logs(database).values()
            )

        wait_for(covered, sealer.log_tail, sealer, sink)
        keys = read_key_set(key_set_of(stack))
        for name, (records, notes) in whole_logs(database).items():
            assert verify_log(name, records, notes, keys) == []
