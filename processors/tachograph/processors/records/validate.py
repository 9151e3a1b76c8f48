"""From a proposal to what becomes of it. A blocked proposal is not dropped: it becomes a record that says why."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.catalog.documents import EvaluatorSuite
from tachograph.processors.records import rules
from tachograph.processors.records.facts import RunFacts
from tachograph.schemas.enums import ApprovalMode, PolicyVerdict, RecordStatus, RetentionClass, ValidationRule
from tachograph.schemas.models.record import RuleVerdict
from tachograph.schemas.obligations import Finding
from tachograph.schemas.proofs.keys import KeySet

RULES: Final[dict[ValidationRule, Callable[[rules.Case], Iterator[Finding]]]] = {
    ValidationRule.SCHEMA: rules.schema,
    ValidationRule.EVIDENCE: rules.evidence,
    ValidationRule.POLICY: rules.policy,
    ValidationRule.APPROVAL: rules.approval,
    ValidationRule.CONTROLS: rules.controls,
    ValidationRule.LINEAGE: rules.lineage,
    ValidationRule.TRACE: rules.trace,
    ValidationRule.SEAL: rules.seal,
}

PASSED: Final = {rule: RuleVerdict(rule=rule, passed=True, code=f"{rule.value}.ok") for rule in RULES}
"""What each rule says when it finds nothing."""

ALL_PASSED: Final = tuple(PASSED.values())
"""What all rules say of a sound proposal."""

CURABLE: Final = frozenset(
    {"evidence.absent", "evidence.stale", "evidence.unresolvable", "policy.missing", "approval.missing"}
)
"""What a run can still bring: if nothing else is wrong, the decision is deferred and not rejected."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules said, and the status that the record gets by it."""

    status: RecordStatus
    rules: tuple[RuleVerdict, ...]
    retention: RetentionClass
    pins: tuple[str, ...] = ()
    """Kind, reference and hash of every catalog document that the verdict stands on."""
    failed_scorecard: bool = False
    judged: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The very proposal that was judged. If all rules passed, it has exactly one canonical form: the seal rule took it.
    Whoever changes it after that must have it judged again."""

    @property
    def blocked(self) -> bool:
        """Whether any rule refused."""
        return any(not rule.passed for rule in self.rules)


def validate(
    proposal: Mapping[str, Any],
    catalog: Catalog,
    now: int,
    *,
    run: RunFacts,
    keys: KeySet,
    unreadable: str | None = None,
) -> Verdict:
    """Judge a proposal by the broker's time and what the stream knows of its run."""
    spec = catalog.spec(proposal["decision_key"], proposal["decision_version"])
    case = rules.Case(proposal, catalog, spec, run, keys, now, unreadable)
    said = [verdict for rule in RULES for verdict in _verdicts(rule, case)]
    codes = {verdict.code for verdict in said if not verdict.passed}
    status = case.status
    if codes:
        status = RecordStatus.DEFERRED if codes <= CURABLE else RecordStatus.REJECTED
    failed = _failed(proposal, catalog)
    rules_said = tuple(said) if codes else ALL_PASSED
    retention = _retention(proposal, status, failed=failed)
    return Verdict(status, rules_said, retention, _pins(proposal, catalog), failed, proposal)


def _verdicts(rule: ValidationRule, case: rules.Case) -> Iterator[RuleVerdict]:
    found = dict.fromkeys(RULES[rule](case))
    if not found:
        yield PASSED[rule]
    for code, message in found:
        yield RuleVerdict(rule=rule, passed=False, code=f"{rule.value}.{code}", message=message)


def _pins(proposal: Mapping[str, Any], catalog: Catalog) -> tuple[str, ...]:
    pinned = proposal["lineage"]
    named = [
        ("decision_spec", f"{proposal['decision_key']}@{proposal['decision_version']}"),
        ("context_pack", pinned["pack_version"]),
        *(("policy_bundle", reference) for reference in pinned["policy_versions"]),
        ("model_profile", pinned["model_profile"]),
        ("evaluator_suite", pinned["evaluator_suite"]),
    ]
    hashes = [(kind, reference, catalog.hash_of(kind, reference)) for kind, reference in named]
    return tuple(f"{kind} {reference} {found}" for kind, reference, found in hashes if found is not None)


def _retention(proposal: Mapping[str, Any], status: RecordStatus, *, failed: bool) -> RetentionClass:
    """Destructive, denied, escalated, failed and incident-linked records are kept whatever is sampled."""
    modes = [item["approval_mode_effective"] for item in (*proposal["approvals"], *proposal["tool_lineage"])]
    denied = any(decision["verdict"] == PolicyVerdict.DENY for decision in proposal["policy_decisions"])
    protected = (
        ApprovalMode.DESTRUCTIVE in modes
        or denied
        or status in (RecordStatus.REJECTED, RecordStatus.ESCALATED)
        or bool(proposal.get("incident_id"))
        or failed
    )
    return RetentionClass.PROTECTED if protected else RetentionClass.STANDARD


def _failed(proposal: Mapping[str, Any], catalog: Catalog) -> bool:
    suite = catalog.find(EvaluatorSuite, proposal["lineage"]["evaluator_suite"])
    card = proposal.get("scorecard")
    if suite is None or card is None:
        return False
    return any(_below(card[name], least) for name, least in suite.minimum.items())


def _below(score: str, least: Decimal) -> bool:
    """Whether a score is too low. What is no number is."""
    try:
        return not Decimal(score) >= least
    except InvalidOperation:
        return True
