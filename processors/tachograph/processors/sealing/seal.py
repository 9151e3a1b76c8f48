"""Sealing one record. No clock and no chance: the same head and proposal give the same bytes, whoever seals."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from tachograph.processors.records.validate import ALL_PASSED, Verdict
from tachograph.processors.sealing.custody import Signer, checked_signature
from tachograph.processors.sealing.errors import UnsealableError
from tachograph.processors.sealing.head import LogHead
from tachograph.schemas.canonical import CanonicalError, sealed_bytes, sealed_bytes_with
from tachograph.schemas.models.record import RuleVerdict
from tachograph.schemas.proofs.chain import PREFIX, RECORD_CONTEXT
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
    content = _content(proposal, verdict)
    content["audit"] = {
        "log_id": head.log_id,
        "log_seq": head.size,
        "prev_hash": head.hash,
        "signed_by": key.key_id,
        "sealed_at": rfc3339(sealed_at),
    }
    body = _canonical(content, verdict.rules, was_checked=verdict.judged is proposal)
    digest = hashlib.sha256(body).digest()
    signature = checked_signature(signer, key, RECORD_CONTEXT + digest)
    record = SealedRecord(body.decode(), PREFIX + digest.hex(), to_base64(signature))
    return Sealed(record, content, head.after_digest(digest, sealed_at))


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
    seconds, micros = divmod(moment_us, 1_000_000)
    return f"{_second(seconds)}.{micros:06}Z"


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    # Records come close together in time, and formatting a date costs as much as hashing a record.
    return (EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")


def _content(proposal: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    content = dict(proposal)
    for name in TRANSPORT:
        content.pop(name, None)
    content["format"] = FORMAT
    content["occurred_at"] = rfc3339(proposal["occurred_at"])
    content["approvals"] = [given | {"decided_at": rfc3339(given["decided_at"])} for given in proposal["approvals"]]
    content["status"] = verdict.status.value
    content["proposed_status"] = proposal["status"]
    content["retention"] = verdict.retention.value
    content["pins"] = list(verdict.pins)
    return content


def _said(rules: tuple[RuleVerdict, ...]) -> list[dict[str, Any]]:
    return [rule.model_dump(mode="json") for rule in rules]


_PASSED_SAID: Final = _said(ALL_PASSED)
_PASSED_BYTES: Final = sealed_bytes(_PASSED_SAID)
"""What most records say of the rules: taken once. Nobody changes it; it is read into rows and bytes."""


def _canonical(content: dict[str, Any], rules: tuple[RuleVerdict, ...], *, was_checked: bool) -> bytes:
    try:
        if rules is ALL_PASSED:
            body = sealed_bytes_with(content, "verdicts", _PASSED_BYTES, was_checked=was_checked)
            content["verdicts"] = _PASSED_SAID
            return body
        content["verdicts"] = _said(rules)
        return sealed_bytes(content)
    except CanonicalError:
        pass
    # Outputs are free JSON. What has no exact form is left out, and the seal rule's verdict in the record says why.
    content["verdicts"] = _said(rules)
    content["outputs"] = {}
    content["outputs_withheld"] = True
    reason = ""
    try:
        return sealed_bytes(content)
    except CanonicalError as error:
        reason = error.reason.value
    raise UnsealableError(f"the proposal has no canonical form ({reason}): dead-letter it")
