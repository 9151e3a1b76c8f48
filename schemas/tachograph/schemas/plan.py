"""The check of a plan before anything is executed: evidence, tools, policy, approval, budget. Pure.

Its verdict goes into the record as a policy decision of the bundle `PLAN_BUNDLE`: the version is the hash of the terms
that were used, the rules are what was found. The sealer's eight rules stay what decides; this one comes before the
damage.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any, Final

from tachograph.schemas.enums import ApprovalMode, PolicyVerdict, RecordStatus
from tachograph.schemas.models.terms import DecisionTerms
from tachograph.schemas.obligations import Finding, approval_findings, evidence_findings, policy_findings

PLAN_BUNDLE: Final = "tachograph.plan"
"""Bundle under which the verdict is recorded."""

CHECKS: Final = ("evidence", "tools", "policy", "approval", "budget")
"""What a plan is checked for. Codes of findings begin with one of these."""

_BRINGABLE: Final = frozenset(
    {
        "evidence.absent",
        "evidence.stale",
        "evidence.unresolvable",
        "policy.missing",
        "approval.missing",
        "approval.other_evidence",
    }
)
"""What a run can still bring: if nothing else is wrong, the decision is deferred and not rejected."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to be executed, and what is there for it."""

    tools: tuple[str, ...]
    mode: ApprovalMode = ApprovalMode.NONE
    references: Sequence[str] = ()
    observed: Mapping[str, int] = field(default_factory=dict)
    """When each known reference was recorded, microseconds since 1970."""
    policy_decisions: Sequence[Mapping[str, Any]] = ()
    approvals: Sequence[Mapping[str, Any]] = ()
    """With ``decided_at`` in microseconds since 1970."""
    gates_active: Sequence[str] = ()
    shown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """References that were frozen when a gate was opened, by gate; those that we did not freeze are not in it."""
    budget: Mapping[str, int | Decimal] = field(default_factory=dict)
    """What will have been used when all of it is done."""


def check_plan(terms: DecisionTerms, plan: Plan, now: int) -> tuple[Finding, ...]:
    """Everything that speaks against executing it, as full codes and sentences. Nothing found: it may go on."""
    spoken = [decision for decision in plan.policy_decisions if decision["bundle_id"] != PLAN_BUNDLE]
    found = [
        *_named("evidence", evidence_findings(terms.required_evidence, plan.references, plan.observed, now)),
        *_named("tools", _tools(terms, plan.tools)),
        *_named("policy", _policy(terms, spoken, now)),
        *_named(
            "approval",
            approval_findings(
                terms.approval, (plan.mode,), spoken, plan.approvals, gates_active=plan.gates_active, now=now
            ),
        ),
        *_named("approval", _frozen(terms, plan)),
        *_named("budget", _budget(terms, plan.budget)),
    ]
    return tuple(dict.fromkeys(found))


def status_after(findings: Iterable[Finding]) -> RecordStatus:
    """What the decision becomes if its plan was refused for these."""
    codes = {code for code, _ in findings}
    if codes <= _BRINGABLE:
        return RecordStatus.DEFERRED
    return RecordStatus.ESCALATED if codes - _BRINGABLE == {"policy.escalated"} else RecordStatus.REJECTED


def plan_decision(
    decision_id: str, terms: DecisionTerms, findings: Sequence[Finding], status: RecordStatus | None
) -> dict[str, Any]:
    """The verdict, as a policy decision of the record."""
    verdict = PolicyVerdict.DENY if findings else PolicyVerdict.ALLOW
    if status is RecordStatus.ESCALATED:
        verdict = PolicyVerdict.ESCALATE
    return {
        "policy_decision_id": decision_id,
        "bundle_id": PLAN_BUNDLE,
        "bundle_version": terms.hash,
        "rule_ids": [code for code, _ in findings] or list(CHECKS),
        "verdict": verdict.value,
    }


def governs(terms: DecisionTerms, tool: str) -> bool:
    """Whether a tool carries the decision out, and so may not be executed before the plan is checked."""
    return any(fnmatchcase(tool, pattern) for pattern in terms.governed_tools)


def _named(check: str, found: Iterable[Finding]) -> Iterator[Finding]:
    return ((f"{check}.{code}", sentence) for code, sentence in found)


def _tools(terms: DecisionTerms, tools: Sequence[str]) -> Iterator[Finding]:
    if not tools:
        yield "none", "the plan names no tool"
    for tool in tools:
        if not any(fnmatchcase(tool, pattern) for pattern in terms.tools):
            yield "outside_pack", "a tool of the plan is none of the context pack's: take it out, or add it there"
        elif terms.governed_tools and not governs(terms, tool):
            yield "outside_spec", "a tool of the plan is none that the spec lets carry the decision out"


def _policy(terms: DecisionTerms, spoken: Sequence[Mapping[str, Any]], now: int) -> Iterator[Finding]:
    for bundle in terms.policies:
        yield from policy_findings(bundle.id, {bundle.version: bundle}, spoken, now)
    if any(decision["verdict"] == PolicyVerdict.DENY for decision in spoken):
        yield "denied", "a policy denied this outcome"
    if any(decision["verdict"] == PolicyVerdict.ESCALATE for decision in spoken):
        yield "escalated", "a policy sends this decision to a person"


def _frozen(terms: DecisionTerms, plan: Plan) -> Iterator[Finding]:
    """Who opened a gate had all required evidence before them: the hash that the approval binds is over that."""
    for given in plan.approvals:
        shown = plan.shown.get(given["gate_id"])
        if shown is not None and any(
            not any(fnmatchcase(reference, fact.pattern) for reference in shown) for fact in terms.required_evidence
        ):
            yield "other_evidence", "an approval was given before all required evidence was attached: ask for it again"


def _budget(terms: DecisionTerms, used: Mapping[str, int | Decimal]) -> Iterator[Finding]:
    for name in type(terms.budget).model_fields:
        limit = getattr(terms.budget, name)
        if limit is not None and used.get(name, 0) > limit:
            yield name, f"more {name} would be used than the spec's budget of {limit}"
