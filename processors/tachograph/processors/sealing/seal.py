"""Sealing one record. No clock and no chance: the same head and proposal give the same bytes, whoever seals."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from tachograph.processors.records.validate import Verdict
from tachograph.processors.sealing.custody import Signer, checked_signature
from tachograph.processors.sealing.errors import UnsealableError
from tachograph.processors.sealing.head import LogHead
from tachograph.schemas.canonical import CanonicalError, sealed_bytes
from tachograph.schemas.proofs.chain import body_hash, signed_message
from tachograph.schemas.proofs.checkpoint import TreeHead, sign_checkpoint
from tachograph.schemas.proofs.encoding import to_base64
from tachograph.schemas.proofs.keys import EPOCH, KeySet
from tachograph.schemas.proofs.sealed import FORMAT, SealedRecord, origin_of

TRANSPORT: Final = frozenset({"received_at", "_partition", "_offset"})
"""Fields of the way a proposal came, and not of what it says. All others are hashed."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed record and the head that it makes."""

    record: SealedRecord
    content: Mapping[str, Any]
    head: LogHead


def seal(
    head: LogHead, proposal: Mapping[str, Any], verdict: Verdict, *, keys: KeySet, signer: Signer, append_time: int
) -> Sealed:
    """Append a judged proposal to a log. Raises before anything unsigned exists outside of this call."""
    sealed_at = max(append_time, head.sealed_at)
    key = keys.at(sealed_at)
    content = _content(proposal, verdict) | {
        "audit": {
            "log_id": head.log_id,
            "log_seq": head.size,
            "prev_hash": head.hash,
            "signed_by": key.key_id,
            "sealed_at": rfc3339(sealed_at),
        }
    }
    body = _canonical(content)
    record_hash = body_hash(body)
    signature = checked_signature(signer, key, signed_message(record_hash))
    record = SealedRecord(body.decode(), record_hash, to_base64(signature))
    return Sealed(record, content, head.after(record_hash, sealed_at))


def checkpoint(head: LogHead, *, keys: KeySet, signer: Signer) -> str:
    """A signed checkpoint of a log, by the key that is effective at its last record."""
    key = keys.at(head.sealed_at)
    origin = origin_of(head.log_id)
    return sign_checkpoint(
        TreeHead(origin, head.size, head.root()),
        [(key.note_key(origin), lambda text: checked_signature(signer, key, text))],
    )


def rfc3339(moment_us: int) -> str:
    """A moment as text, always with six digits, so that it has one spelling."""
    return (EPOCH + timedelta(microseconds=moment_us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _content(proposal: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    said = {name: value for name, value in proposal.items() if name not in TRANSPORT}
    return said | {
        "format": FORMAT,
        "occurred_at": rfc3339(proposal["occurred_at"]),
        "approvals": [given | {"decided_at": rfc3339(given["decided_at"])} for given in proposal["approvals"]],
        "status": verdict.status.value,
        "proposed_status": proposal["status"],
        "verdicts": [rule.model_dump(mode="json") for rule in verdict.rules],
        "retention": verdict.retention.value,
        "pins": list(verdict.pins),
    }


def _canonical(content: dict[str, Any]) -> bytes:
    try:
        return sealed_bytes(content)
    except CanonicalError:
        pass
    # Outputs are free JSON. What has no exact form is left out, and the seal rule's verdict in the record says why.
    content["outputs"] = {}
    content["outputs_withheld"] = True
    reason = ""
    try:
        return sealed_bytes(content)
    except CanonicalError as error:
        reason = error.reason.value
    raise UnsealableError(f"the proposal has no canonical form ({reason}): dead-letter it")
