"""The eight rules of a decision record. Each yields what it finds wrong, as a code and a sentence without content."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jsonschema import Draft202012Validator

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.catalog.documents import ContextPack, DecisionSpec, EvaluatorSuite, ModelProfile
from tachograph.processors.catalog.terms import terms_of
from tachograph.processors.records.facts import RunFacts
from tachograph.schemas.canonical import CanonicalError, sealed_bytes
from tachograph.schemas.enums import PolicyVerdict, RecordStatus
from tachograph.schemas.obligations import Finding, approval_findings, evidence_findings, policy_findings
from tachograph.schemas.plan import PLAN_BUNDLE
from tachograph.schemas.proofs.keys import KeyNotEffectiveError, KeySet
from tachograph.schemas.record_lifecycle import ACCEPTED, TERMINAL, may_follow

STATUSES: Final = frozenset(RecordStatus)

CONTROLS: Final = ("must_refuse", "must_escalate", "approval_gates_active", "redaction_rules_active")


@dataclass(frozen=True, slots=True)
class Case:
    """A proposal and all it is judged by."""

    proposal: Mapping[str, Any]
    catalog: Catalog
    spec: DecisionSpec | None
    run: RunFacts
    keys: KeySet
    now: int
    """Broker's append time of the proposal, microseconds since 1970."""
    unreadable: str | None = None
    """Why the text of the outputs could not be read; they are taken as empty then."""
    status: RecordStatus = field(init=False)
    """Status that is proposed. A word that is no status takes no effect, and the schema rule says so."""
    takes_effect: bool = field(init=False)
    """Whether an outcome is accepted by this record."""

    def __post_init__(self) -> None:
        word = self.proposal["status"]
        status = RecordStatus(word) if word in STATUSES else RecordStatus.REJECTED
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "takes_effect", status in ACCEPTED)


def schema(case: Case) -> Iterator[Finding]:
    """The spec is known, the status may follow, and the outputs are what the spec allows."""
    spec, proposal = case.spec, case.proposal
    if proposal["status"] not in STATUSES:
        yield "unknown_status", "the status is none of the six: propose one of them"
    yield from _identity(case)
    if spec is None:
        yield "unknown_spec", "the catalog has no such decision in that version: add it, or propose one that it has"
        return
    if proposal.get("supersedes") is None:
        if not may_follow(case.run.statuses.get(spec.key), case.status):
            yield "illegal_transition", "this status cannot follow the last one of the decision: supersede that record"
        if proposal["primary"] and case.status in TERMINAL and case.run.terminal_primary is not None:
            yield "second_terminal", "the run's primary decision has its terminal record: supersede that one"
    if not case.takes_effect:
        return
    outputs = proposal["outputs"]
    if outputs.get(spec.outcome_field) not in spec.allowed_outcomes:
        yield "outcome_not_allowed", "the outcome is none of the spec's allowed outcomes"
    if next(Draft202012Validator(spec.output_schema).iter_errors(outputs), None) is not None:
        yield "outputs_mismatch", "the outputs do not match the output schema of the spec"


def _identity(case: Case) -> Iterator[Finding]:
    """The record's id is its own, and what it supersedes is another of the same decision."""
    own, corrected, known = case.proposal["record_id"], case.proposal.get("supersedes"), case.run.record_ids
    if own in known:
        yield "record_id_reused", "the run has a record of that id: give each record an id of its own"
    if corrected == own:
        yield "supersedes_itself", "a record cannot supersede itself: name the record that it corrects"
    elif corrected is not None and known.get(corrected, case.proposal["decision_key"]) != case.proposal["decision_key"]:
        yield "supersedes_other", "the superseded record is one of another decision"


def evidence(case: Case) -> Iterator[Finding]:
    """Every reference is this tenant's; each required fact is there, resolves, and is fresh."""
    known, refs = case.run.evidence, case.proposal["evidence_refs"]
    if any(ref in known and known[ref].tenant_id != case.proposal["tenant_id"] for ref in refs):
        yield "wrong_tenant", "a reference resolves to evidence of another tenant: remove it"
    if case.spec is None or not case.takes_effect:
        return
    observed = {ref: known[ref].observed_at for ref in refs if ref in known}
    yield from evidence_findings(case.spec.required_evidence, refs, observed, case.now)


def policy(case: Case) -> Iterator[Finding]:
    """Each bundle of the spec has spoken in an active version, by rules it has, and none said no."""
    if case.spec is None or not case.takes_effect:
        return
    decisions, pinned = case.proposal["policy_decisions"], set(case.proposal["lineage"]["policy_versions"])
    for bundle_id in case.spec.policies:
        versions = {
            bundle.version: bundle
            for bundle in case.catalog.bundles(bundle_id)
            if f"{bundle_id}@{bundle.version}" in pinned
        }
        yield from policy_findings(bundle_id, versions, decisions, case.now)
    yield from _planned(case, case.spec)
    if any(decision["verdict"] == PolicyVerdict.DENY for decision in decisions):
        yield "denied", "a policy denied this outcome"


def _planned(case: Case, spec: DecisionSpec) -> Iterator[Finding]:
    """A plan was checked before execution where the spec asks for it, and by the terms that this catalog gives."""
    checked = [given for given in case.proposal["policy_decisions"] if given["bundle_id"] == PLAN_BUNDLE]
    if not checked and spec.plan == "required":
        yield "plan_missing", "the spec asks that the plan is checked before execution, and no check is attached"
    for given in checked:
        terms = terms_of(case.catalog, spec, case.proposal["lineage"])
        if terms is not None and given["bundle_version"] != terms.hash:
            yield "plan_of_other_terms", "the plan was checked by other terms than the catalog gives: ship them again"


def approval(case: Case) -> Iterator[Finding]:
    """Where the effective mode or a policy needs a gate, it was opened, over frozen evidence, before now."""
    if case.spec is None or not case.takes_effect:
        return
    proposal = case.proposal
    yield from approval_findings(
        case.spec.approval,
        [tool["approval_mode_effective"] for tool in proposal["tool_lineage"]],
        proposal["policy_decisions"],
        proposal["approvals"],
        gates_active=proposal["controls_active"]["approval_gates_active"],
        now=case.now,
    )


def controls(case: Case) -> Iterator[Finding]:
    """Whatever the pinned context pack compiles in is in the record."""
    pack = case.catalog.find(ContextPack, case.proposal["lineage"]["pack_version"])
    if pack is None:
        return  # the lineage rule says so
    active = case.proposal["controls_active"]
    for name in CONTROLS:
        if not set(getattr(pack.controls, name)) <= set(active[name]):
            yield f"missing_{name}", f"the context pack has controls in {name} that the record does not name"


def lineage(case: Case) -> Iterator[Finding]:
    """Pack, policies, spec, snapshot, model profile and suite are pinned to what the catalog has."""
    pinned, catalog = case.proposal["lineage"], case.catalog
    pack = catalog.find(ContextPack, pinned["pack_version"])
    if pack is None:
        yield "pack_unpinned", "pack_version names no context pack of the catalog"
    elif case.proposal["decision_key"] not in pack.decisions:
        yield "pack_of_other_decisions", "the context pack does not serve this decision"
    if pinned["decision_spec"] != f"{case.proposal['decision_key']}@{case.proposal['decision_version']}":
        yield "spec_unpinned", "decision_spec is not the decision and version of the record"
    if catalog.find(ModelProfile, pinned["model_profile"]) is None:
        yield "model_profile_unpinned", "model_profile names none of the catalog"
    if catalog.find(EvaluatorSuite, pinned["evaluator_suite"]) is None:
        yield "evaluator_suite_unpinned", "evaluator_suite names none of the catalog"
    if not pinned["kg_snapshot"]:
        yield "snapshot_unpinned", "kg_snapshot is empty"
    named = {reference.partition("@")[0] for reference in pinned["policy_versions"]}
    if case.spec is not None and not set(case.spec.policies) <= named:
        yield "policy_unpinned", "policy_versions does not name every bundle of the spec"
    if any("@" not in reference for reference in pinned["policy_versions"]):
        yield "policy_unpinned", "policy_versions names a bundle without its version"


def trace(case: Case) -> Iterator[Finding]:
    """The trace is there, in W3C form, and is the run's."""
    trace_id = case.proposal["trace_id"] or ""
    if not case.run.is_known:
        yield "unknown_run", "the run has recorded nothing under this trace before the proposal"
    if not trace_id:
        yield "absent", "the record has no trace_id"
    elif len(trace_id) != 32 or set(trace_id) - set("0123456789abcdef") or not set(trace_id) - {"0"}:  # noqa: PLR2004 - W3C
        yield "malformed", "trace_id is not 32 lower-case hexadecimal digits, not all zero"
    elif case.run.is_known and trace_id != case.run.trace_id:
        yield "mismatch", "trace_id is not that of the run"
    if case.run.is_known and case.proposal["tenant_id"] != case.run.tenant_id:
        yield "wrong_tenant", "the record is of another tenant than its run"


def seal(case: Case) -> Iterator[Finding]:
    """The record has exactly one canonical form, and a key may sign it now."""
    if case.unreadable is not None:
        yield f"no_canonical_form_{case.unreadable}", "the outputs are no JSON object that all readers agree on"
    try:
        sealed_bytes(dict(case.proposal))
    except CanonicalError as error:
        yield (
            f"no_canonical_form_{error.reason.value}",
            "the record has no exact canonical form: write decimals as text",
        )
    try:
        case.keys.at(case.now)
    except KeyNotEffectiveError:
        yield "no_effective_key", "no signing key is effective at the time of the proposal"
