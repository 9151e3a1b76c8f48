"""What a decision must have before it takes effect: evidence, policy and approval. Pure, and said once.

The sealer asks when a record is proposed; the recorder asks before the tools are executed. Each function yields what it
finds wrong, as a code and a sentence without content.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final, Protocol

from tachograph.schemas.enums import ApprovalMode, PolicyVerdict
from tachograph.schemas.models.terms import ApprovalRule, RequiredEvidence
from tachograph.schemas.proofs.keys import micros

Finding = tuple[str, str]
"""Code, without the rule's name, and sentence."""

MODES: Final = tuple(ApprovalMode)
"""From least to most authority."""


class Windowed(Protocol):
    """A version of a policy bundle: when it is in force, and which rules it has."""

    @property
    def active_from(self) -> datetime:
        """First moment at which it is in force."""

    @property
    def active_until(self) -> datetime | None:
        """First moment at which it no longer is."""

    @property
    def rule_ids(self) -> Collection[str]:
        """Names of its rules."""


def evidence_findings(
    required: Iterable[RequiredEvidence], references: Sequence[str], observed: Mapping[str, int], now: int
) -> Iterator[Finding]:
    """Each required fact is referred to, resolves, and is fresh. ``observed``: when each known reference was made."""
    for number, fact in enumerate(required, 1):
        named = f"required evidence {number} of the spec"
        matching = [reference for reference in references if fnmatchcase(reference, fact.pattern)]
        moments = [observed[reference] for reference in matching if reference in observed]
        if not matching:
            yield "absent", f"{named} is not referred to: attach it and propose again"
        elif not moments:
            yield "unresolvable", f"{named} is referred to, but the run has recorded no such thing"
        elif fact.max_age_seconds is not None and now - max(moments) > fact.max_age_seconds * 1_000_000:
            yield "stale", f"{named} is older than {fact.max_age_seconds} s: fetch it again and propose again"


def policy_findings(
    bundle_id: str, versions: Mapping[str, Windowed], decisions: Iterable[Mapping[str, Any]], now: int
) -> Iterator[Finding]:
    """A bundle has spoken, in a version of these that is in force, by rules it has."""
    spoken = [decision for decision in decisions if decision["bundle_id"] == bundle_id]
    if not spoken:
        yield "missing", f"no decision of policy bundle {bundle_id} is attached"
        return
    active = {version: bundle for version, bundle in versions.items() if _in_force(bundle, now)}
    for decision in spoken:
        version = decision.get("bundle_version")
        candidates = list(active.values()) if version is None else [active[version]] if version in active else []
        if not candidates:
            yield "inactive_version", f"policy bundle {bundle_id} was used in a version that is not in force"
        elif not any(set(bundle.rule_ids) >= set(decision["rule_ids"]) for bundle in candidates):
            yield "unknown_rule", f"policy bundle {bundle_id} has no such rule in that version"


def _in_force(bundle: Windowed, now: int) -> bool:
    until = bundle.active_until
    return micros(bundle.active_from) <= now and (until is None or now < micros(until))


def approval_findings(
    rule: ApprovalRule,
    modes: Iterable[str],
    decisions: Iterable[Mapping[str, Any]],
    approvals: Iterable[Mapping[str, Any]],
    *,
    gates_active: Sequence[str],
    now: int,
) -> Iterator[Finding]:
    """Where the effective mode or a policy needs a gate, it was opened for as much authority, before now."""
    effective = max([rule.mode, *map(_mode, modes)], key=MODES.index)
    gated = effective is not ApprovalMode.NONE and MODES.index(effective) >= MODES.index(rule.gate_from)
    asked = any(decision["verdict"] == PolicyVerdict.REQUIRE_APPROVAL for decision in decisions)
    if not gated and not asked:
        return
    opened = {given["gate_id"]: given for given in approvals}
    needed = rule.gates or tuple(gates_active)
    if not opened or any(gate not in opened for gate in needed):
        yield "missing", "a gate must be opened for this outcome and no approval of it is attached"
    for given in opened.values():
        if given["approval_mode_effective"] not in MODES or MODES.index(
            ApprovalMode(given["approval_mode_effective"])
        ) < MODES.index(effective):
            yield "insufficient_mode", "an approval was given for less authority than the decision uses"
        if given["decided_at"] > now:
            yield "in_the_future", "an approval is dated after the broker had the proposal"


def _mode(word: str) -> ApprovalMode:
    """Mode of a tool. A word that is no mode counts as the most authority there is."""
    return ApprovalMode(word) if word in MODES else ApprovalMode.DESTRUCTIVE
