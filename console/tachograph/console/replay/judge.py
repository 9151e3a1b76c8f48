"""Replays one record from its packet. Pure: the functions are those of the sealer, and nothing can act.

A signer that knows one signature stands in for the key. It gives it for the bytes it was made over, and refuses others:
a replay can sign nothing new.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tachograph.console.replay.groups import explained_by, type_of_column, type_of_pin, type_of_verdict
from tachograph.console.replay.packet import Diff, Packet
from tachograph.console.replay.values import hash_of, same
from tachograph.processors.records.memory import Memory, SealedFact
from tachograph.processors.records.validate import Verdict, validate
from tachograph.processors.rows.records import decision_body
from tachograph.processors.sealing.errors import CustodyError, UnsealableError
from tachograph.processors.sealing.head import LogHead
from tachograph.processors.sealing.partition import readable
from tachograph.processors.sealing.rows import moment, record_row, sealed_fact
from tachograph.processors.sealing.seal import Sealed, seal
from tachograph.schemas.enums import ReplayStatus
from tachograph.schemas.proofs.chain import GENESIS
from tachograph.schemas.proofs.encoding import from_base64
from tachograph.schemas.proofs.keys import KeyNotEffectiveError
from tachograph.schemas.proofs.sealed import Checked, check_record
from tachograph.schemas.transcripts import CONTEXT, TRANSCRIPT, chain, packet_sizes

SEVERITY: Final = (
    ReplayStatus.TAMPER_DETECTED,
    ReplayStatus.CHANGED_EVIDENCE,
    ReplayStatus.CHANGED_POLICY,
    ReplayStatus.CHANGED_TOOL_TRANSCRIPT,
    ReplayStatus.CHANGED_COMPILED_CONTEXT,
    ReplayStatus.CHANGED_SCORECARD,
)
"""Which type names the outcome where there are several."""

_ADDED: Final = frozenset({"format", "verdicts", "retention", "pins", "audit", "proposed_status", "outputs_withheld"})
"""What sealing added to the proposal."""


OTHER_TERMS: Final = "policy.plan_of_other_terms"
"""What the policy rule says of a plan when any document behind its terms says something else."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a record."""

    outcome: ReplayStatus
    diffs: tuple[Diff, ...]
    unchecked: tuple[str, ...] = ()
    """Inputs that the record does not bind, or that are no longer kept."""


def replayed(packet: Packet) -> Replayed:
    """Replay a record."""
    found = check_record(packet.record, packet.keys)
    tampered = list(_tampered(packet, found))
    if tampered:  # what cannot be believed is not compared
        return _outcome(tampered, ())
    unchecked = []
    if packet.proposal is None:
        unchecked.append("proposal")
    transcript = list(_transcript(packet, found.content))
    if packet_sizes(_packet_id(found.content)) is None:
        unchecked += ["tool transcript", "compiled context"]
    diffs = [*_proposal(packet, found.content), *transcript]
    if not packet.has_run_context:
        diffs.append(Diff(ReplayStatus.CHANGED_COMPILED_CONTEXT, "run context", "recorded", "missing"))
    verdict = _judged(packet, found.content, lost_calls=any(diff.place == "transcript" for diff in transcript))
    diffs += _verdicts(found.content, verdict)
    if not diffs:
        diffs += _resealed(packet, found, verdict)
    return _outcome(diffs, tuple(unchecked))


def _outcome(diffs: list[Diff], unchecked: tuple[str, ...]) -> Replayed:
    types = {diff.type for diff in diffs}
    outcome = next((kind for kind in SEVERITY if kind in types), ReplayStatus.EQUAL)
    return Replayed(outcome, tuple(diffs), unchecked)


def _tampered(packet: Packet, found: Checked) -> Iterator[Diff]:
    """The record itself, its place, and the columns made of it."""
    kind = ReplayStatus.TAMPER_DETECTED
    if found.problem is not None:
        yield Diff(kind, "record", None, found.problem.value)
        return
    before = packet.previous
    if before is None:
        if (found.log_seq, found.prev_hash) != (0, GENESIS):
            yield Diff(kind, "record before", found.prev_hash, "missing")
    else:
        checked = check_record(before, packet.keys)
        if checked.problem is not None:
            yield Diff(kind, "record before", None, checked.problem.value)
        elif (before.record_hash, checked.log_seq + 1) != (found.prev_hash, found.log_seq):
            yield Diff(kind, "record before", found.prev_hash, before.record_hash)
    derived = record_row(Sealed(packet.record, found.content, LogHead(found.log_id)), packet.stored["received_at"])
    for name, value in derived.items():
        if not same(value, packet.stored[name]):
            yield Diff(kind, f"column {name}", hash_of(value), hash_of(packet.stored[name]))


def _proposal(packet: Packet, content: Mapping[str, Any]) -> Iterator[Diff]:
    """The proposal as stored against what was sealed of it."""
    if packet.proposal is None:
        return
    given, _ = _given(packet, content)
    stored, unreadable = readable(dict(packet.proposal))  # outputs as values: their text may be spelled otherwise
    sealed = decision_body(given | {"outputs": content["outputs"]})
    if content.get("outputs_withheld") or unreadable is not None:
        sealed.pop("outputs")
    for name, value in sealed.items():
        if not same(value, stored[name]):
            yield Diff(type_of_column(name), f"proposal.{name}", hash_of(value), hash_of(stored[name]))


def _transcript(packet: Packet, content: Mapping[str, Any]) -> Iterator[Diff]:
    """What the run's calls and prompts hash to, if the record binds them."""
    sizes = packet_sizes(_packet_id(content))
    if sizes is None:
        return
    bound = content["replay"]
    calls, contexts = chain(TRANSCRIPT, packet.calls), chain(CONTEXT, packet.contexts)
    if (len(packet.calls), calls) != (sizes[0], bound["tool_transcript_chain_hash"]):
        kind = ReplayStatus.CHANGED_TOOL_TRANSCRIPT
        yield Diff(kind, "transcript", bound["tool_transcript_chain_hash"], calls)
    if (len(packet.contexts), contexts) != (sizes[1], bound["compiled_context_hash"]):
        yield Diff(ReplayStatus.CHANGED_COMPILED_CONTEXT, "compiled context", bound["compiled_context_hash"], contexts)


def _judged(packet: Packet, content: Mapping[str, Any], *, lost_calls: bool) -> Verdict:
    """Judge the proposal again, by what the stores hold of its run and by the catalog as it is."""
    given, unreadable = _given(packet, content)
    now = packet.stored["received_at"]
    memory = Memory(packet.silence_us)
    for place, seen in enumerate(packet.observed):
        memory.observe(seen.name, seen.record, place, seen.at)
    if lost_calls:  # said once: as a transcript, not as evidence too
        for reference in given["evidence_refs"]:
            kind, _, rest = reference.partition(":")
            if kind == "tool":
                tool, _, call = rest.rpartition(":")
                memory.observe("ToolCallRecord", _call(given, tool, call), 0, now)
    memory.repeats(given, b"", 0, now)
    for earlier in packet.earlier:
        memory.sealed(SealedFact(**sealed_fact(earlier)))
    facts = memory.facts(given, now)
    return validate(given, packet.catalog, now, run=facts, keys=packet.keys, unreadable=unreadable)


def _verdicts(content: Mapping[str, Any], verdict: Verdict) -> Iterator[Diff]:
    """Pins first: what a changed document explains is not a change of its own."""
    then, now = ({_pin(pin) for pin in pins} for pins in (content["pins"], verdict.pins))
    changed = {kind for kind, _, _ in then ^ now}
    hashes = {(kind, name): found for kind, name, found in now}
    for kind, name, pinned in sorted(then - now):
        yield Diff(type_of_pin(kind), f"pin {kind} {name}", pinned, hashes.get((kind, name), "missing"))
    for kind, name, found in sorted(now - then):
        if not any(item[:2] == (kind, name) for item in then):
            yield Diff(type_of_pin(kind), f"pin {kind} {name}", "missing", found)
    explained = explained_by(changed)
    sealed = {(item["rule"], item["code"]) for item in content["verdicts"]}
    found_now = {(item.rule.value, item.code) for item in verdict.rules}
    for rule, code in sorted(sealed ^ found_now):
        if changed and code == OTHER_TERMS:
            continue  # terms are taken from all documents: whichever changed has been told
        if rule not in explained and not code.endswith(".ok"):
            was = (rule, code) in sealed
            yield Diff(
                type_of_verdict(rule, code), f"rule {rule}", code if was else "passed", "passed" if was else code
            )
    if content["retention"] != verdict.retention.value and "retention" not in explained and sealed == found_now:
        yield Diff(ReplayStatus.CHANGED_SCORECARD, "retention", content["retention"], verdict.retention.value)


def _resealed(packet: Packet, found: Checked, verdict: Verdict) -> Iterator[Diff]:
    """Seal again. Equal inputs must give equal bytes."""
    before = 0 if packet.previous is None else check_record(packet.previous, packet.keys).sealed_at
    edge = (bytes(32),) * found.log_seq.bit_count()  # the root is not asked for
    head = LogHead(found.log_id, found.log_seq, found.prev_hash, before, edge)
    given, _ = _given(packet, found.content)
    try:
        again = seal(
            head,
            given,
            verdict,
            keys=packet.keys,
            signer=RecordedSigner(packet),
            append_time=packet.stored["received_at"],
        )
        got = again.record.record_hash
    except (CustodyError, UnsealableError, KeyNotEffectiveError) as error:
        got = type(error).__name__
    if got != packet.record.record_hash:
        yield Diff(ReplayStatus.TAMPER_DETECTED, "sealed bytes", packet.record.record_hash, got)


class RecordedSigner:
    """Holds no key: repeats the signature of the record for the bytes that it was made over."""

    def __init__(self, packet: Packet) -> None:
        self._packet = packet

    def public(self, key_id: str) -> str:
        """The public half, from the key set."""
        key = self._packet.keys.get(key_id)
        return "" if key is None else key.public_key

    def sign(self, key_id: str, message: bytes) -> bytes:
        """The signature of then, if it fits."""
        signature, key = from_base64(self._packet.record.signature), self._packet.keys.get(key_id)
        if key is None or not key.note_key("-").verifies(signature, message):
            raise CustodyError("a replay has no key: it signs nothing that was not signed before")
        return signature


def _given(packet: Packet, content: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The proposal, from what was sealed of it; and why its outputs could not be read, if so."""
    said = {name: value for name, value in content.items() if name not in _ADDED} | {
        "status": content["proposed_status"],
        "occurred_at": moment(content["occurred_at"]),
        "approvals": [given | {"decided_at": moment(given["decided_at"])} for given in content["approvals"]],
    }
    if content.get("outputs_withheld") and packet.proposal is not None:
        return readable(said | {"outputs": packet.proposal["outputs"]})
    return said, _unreadable(packet)


def _unreadable(packet: Packet) -> str | None:
    return None if packet.proposal is None else readable({"outputs": packet.proposal["outputs"]})[1]


def _call(given: Mapping[str, Any], tool: str, call: str) -> dict[str, Any]:
    identity = {name: given[name] for name in ("tenant_id", "run_id", "trace_id")}
    result = {"leg": "post", "skipped": False, "error_type": None, "output_pointer": None}
    return identity | result | {"tool_name": tool, "tool_use_id": call}


def _packet_id(content: Mapping[str, Any]) -> str | None:
    return None if content["replay"] is None else content["replay"]["replay_packet_id"]


def _pin(text: str) -> tuple[str, str, str]:
    kind, name, found = text.split(" ")
    return kind, name, found
