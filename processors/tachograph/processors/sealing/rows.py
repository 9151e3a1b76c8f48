"""Rows of sealed records and checkpoints. Every column is taken from what was sealed; nothing is said twice."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tachograph.processors.rows.records import decision_body
from tachograph.processors.rows.shared import Row, identity
from tachograph.processors.sealing.head import LogHead
from tachograph.processors.sealing.seal import Sealed
from tachograph.schemas.canonical import sealed_bytes
from tachograph.schemas.proofs.encoding import to_base64
from tachograph.schemas.proofs.keys import micros


def record_row(sealed: Sealed, append_time: int) -> Row:
    """A row of ``decision_records``."""
    content, record, audit = sealed.content, sealed.record, sealed.content["audit"]
    said = dict(content) | {
        "occurred_at": moment(content["occurred_at"]),
        "outputs": sealed_bytes(content["outputs"]).decode(),
        "approvals": [given | {"decided_at": moment(given["decided_at"])} for given in content["approvals"]],
    }
    return (
        identity(said, append_time)
        | decision_body(said)
        | {
            "proposed_status": content["proposed_status"],
            "verdicts": content["verdicts"],
            "retention": content["retention"],
            "log_id": audit["log_id"],
            "log_seq": audit["log_seq"],
            "prev_hash": audit["prev_hash"],
            "record_hash": record.record_hash,
            "signed_by": audit["signed_by"],
            "signature": record.signature,
            "sealed_at": moment(audit["sealed_at"]),
            "body": record.body,
        }
    )


def checkpoint_row(tenant_id: str, head: LogHead, note: str, signed_by: str) -> Row:
    """A row of ``checkpoints``."""
    return {
        "tenant_id": tenant_id,
        "log_id": head.log_id,
        "tree_size": head.size,
        "root_hash": to_base64(head.root()),
        "head_hash": head.hash,
        "note": note,
        "signed_by": signed_by,
        "occurred_at": head.sealed_at,
        "anchor": None,
    }


def moment(text: str) -> int:
    """Microseconds since 1970 of a moment as it is sealed."""
    return micros(datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC))


def sealed_fact(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the next record of the run is judged by."""
    return {
        "tenant_id": content["tenant_id"],
        "run_id": content["run_id"] or "",
        "trace_id": content["trace_id"] or "",
        "record_id": content["record_id"],
        "decision_key": content["decision_key"],
        "status": content["status"],
        "primary": content["primary"],
    }
