"""The eight rules: for each, what passes, what is blocked and by which code, and the edge between."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.catalog.terms import terms_of
from tachograph.processors.records import EvidenceFact, RunFacts, Verdict, validate
from tachograph.schemas.enums import RecordStatus, RetentionClass, ValidationRule
from tachograph.schemas.plan import CHECKS, PLAN_BUNDLE
from tachograph.schemas.proofs.keys import EPOCH, KeySet
from tachograph.schemas.record_lifecycle import TERMINAL, may_follow
from tests.processors.decisions.proposals import CATALOG, KEYS, NOW, REFS, RUN, proposal

_SPEC = CATALOG.spec("support.refund.execute", "1.0.0")
assert _SPEC is not None
TERMS = terms_of(CATALOG, _SPEC, proposal()["lineage"])
assert TERMS is not None
POLICY = proposal()["policy_decisions"][0]
APPROVAL = proposal()["approvals"][0]
TOOL = {
    "tool_call_id": "tc_121",
    "tool_result_id": "tr_121",
    "approval_mode_effective": "destructive",
    "idempotency_key": "ik_1",
    "reversal_token": "rv_1",
}
MERGE: dict[str, Any] = {
    "decision_key": "coding.pull_request.merge",
    "outputs": {"outcome": "declined", "repository": "acme/shop", "pull_request": 7},
    "evidence_refs": ["artifact:diff_1", "tool:ci.test:tc_1"],
    "policy_decisions": [POLICY | {"bundle_id": "POLICY_CODE_CHANGES", "rule_ids": ["R_TESTS_PASS"]}],
    "approvals": [],
    "controls_active__must_refuse": ["force_push_to_main"],
    "controls_active__must_escalate": ["production_data_loss"],
    "controls_active__redaction_rules_active": ["credentials"],
    "lineage__pack_version": "ctxpack.coding@1.0.0",
    "lineage__policy_versions": ["POLICY_CODE_CHANGES@1.0.0"],
    "lineage__decision_spec": "coding.pull_request.merge@1.0.0",
    "lineage__model_profile": "model_profile.coding@1.0.0",
    "lineage__evaluator_suite": "eval.coding@1.0.0",
}


def judged(run: RunFacts = RUN, now: int = NOW, keys: KeySet = KEYS, **changes: Any) -> Verdict:
    return validate(proposal(**changes), CATALOG, now, run=run, keys=keys)


def codes(verdict: Verdict) -> set[str]:
    return {rule.code for rule in verdict.rules if not rule.passed}


def seen(age_seconds: int, tenant: str = "acme") -> RunFacts:
    return replace(RUN, evidence={ref: EvidenceFact(tenant, NOW - age_seconds * 1_000_000) for ref in REFS})


def test_a_sound_proposal_passes_all_eight() -> None:
    """Each rule has its verdict, in the order of the requirements; the status is as proposed."""
    verdict = judged()
    assert [rule.rule for rule in verdict.rules] == list(ValidationRule)
    assert [rule.code for rule in verdict.rules] == [f"{rule.value}.ok" for rule in ValidationRule]
    assert (verdict.status, verdict.blocked) == (RecordStatus.DECIDED, False)


def test_a_decision_without_gate() -> None:
    """A reversible decision of a coding agent passes without approval."""
    run = replace(RUN, evidence={ref: EvidenceFact("acme", NOW) for ref in MERGE["evidence_refs"]})
    assert codes(judged(run, **MERGE)) == set()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"decision_key": "support.refund.undo"}, "schema.unknown_spec", id="schema: no such decision"),
        pytest.param({"decision_version": "2.0.0"}, "schema.unknown_spec", id="schema: no such version"),
        pytest.param({"outputs__outcome": "maybe"}, "schema.outcome_not_allowed", id="schema: outcome not allowed"),
        pytest.param({"outputs__refund_amount_inr": -1}, "schema.outputs_mismatch", id="schema: below the minimum"),
        pytest.param({"outputs__refund_amount_inr": "4200"}, "schema.outputs_mismatch", id="schema: text for a number"),
        pytest.param({"outputs": {}}, "schema.outputs_mismatch", id="schema: nothing decided"),
        pytest.param({"status": "CLOSED"}, "schema.illegal_transition", id="schema: closed what was never open"),
        pytest.param({"evidence_refs": REFS[1:]}, "evidence.absent", id="evidence: one absent"),
        pytest.param({"evidence_refs": []}, "evidence.absent", id="evidence: none at all"),
        pytest.param(
            {"evidence_refs": [*REFS[:2], "tool:adp_policy.eval:tc_other"]},
            "evidence.unresolvable",
            id="evidence: invented",
        ),
        pytest.param({"policy_decisions": []}, "policy.missing", id="policy: none"),
        pytest.param(
            {"policy_decisions": [POLICY | {"bundle_id": "OTHER"}]}, "policy.missing", id="policy: of another"
        ),
        pytest.param(
            {"policy_decisions": [POLICY | {"bundle_version": "0.9.0"}]},
            "policy.inactive_version",
            id="policy: old version",
        ),
        pytest.param(
            {"lineage__policy_versions": ["POLICY_RETURNS_V1@0.9.0"]},
            "policy.inactive_version",
            id="policy: pinned to old",
        ),
        pytest.param({"policy_decisions": [POLICY | {"rule_ids": ["R_X"]}]}, "policy.unknown_rule", id="policy: rule"),
        pytest.param({"policy_decisions": [POLICY | {"verdict": "deny"}]}, "policy.denied", id="policy: denied"),
        pytest.param({"approvals": []}, "approval.missing", id="approval: none"),
        pytest.param(
            {"approvals": [APPROVAL | {"gate_id": "GATE_X"}]}, "approval.missing", id="approval: of another gate"
        ),
        pytest.param(
            {"approvals": [APPROVAL | {"approval_mode_effective": "reversible"}]},
            "approval.insufficient_mode",
            id="approval: for less",
        ),
        pytest.param(
            {"approvals": [APPROVAL | {"decided_at": NOW + 1}]}, "approval.in_the_future", id="approval: of tomorrow"
        ),
        pytest.param(
            {"controls_active__redaction_rules_active": ["pan"]},
            "controls.missing_redaction_rules_active",
            id="controls: redaction",
        ),
        pytest.param(
            {"controls_active__must_escalate": []}, "controls.missing_must_escalate", id="controls: escalation"
        ),
        pytest.param(
            {"controls_active__approval_gates_active": []},
            "controls.missing_approval_gates_active",
            id="controls: gate",
        ),
        pytest.param({"lineage__pack_version": ""}, "lineage.pack_unpinned", id="lineage: pack"),
        pytest.param(
            {"lineage__pack_version": "ctxpack.coding@1.0.0"},
            "lineage.pack_of_other_decisions",
            id="lineage: foreign pack",
        ),
        pytest.param({"lineage__kg_snapshot": ""}, "lineage.snapshot_unpinned", id="lineage: graph snapshot"),
        pytest.param({"lineage__model_profile": "m"}, "lineage.model_profile_unpinned", id="lineage: model profile"),
        pytest.param({"lineage__evaluator_suite": ""}, "lineage.evaluator_suite_unpinned", id="lineage: suite"),
        pytest.param({"lineage__policy_versions": []}, "lineage.policy_unpinned", id="lineage: policy"),
        pytest.param({"lineage__decision_spec": "x@1.0.0"}, "lineage.spec_unpinned", id="lineage: spec"),
        pytest.param({"trace_id": ""}, "trace.absent", id="trace: absent"),
        pytest.param({"trace_id": None}, "trace.absent", id="trace: null"),
        pytest.param({"trace_id": "0" * 32}, "trace.malformed", id="trace: all zero"),
        pytest.param({"trace_id": "A" * 32}, "trace.malformed", id="trace: upper case"),
        pytest.param({"trace_id": "a" * 32}, "trace.mismatch", id="trace: of another run"),
        pytest.param({"tenant_id": "other"}, "trace.wrong_tenant", id="trace: of another tenant"),
        pytest.param({"outputs__refund_amount_inr": 4200.5}, "seal.no_canonical_form_float", id="seal: float"),
        pytest.param({"outputs__refund_amount_inr": 2**53}, "seal.no_canonical_form_integer_range", id="seal: large"),
        pytest.param({"outputs__größe": 1}, "seal.no_canonical_form_non_ascii_key", id="seal: key beyond ASCII"),
    ],
)
def test_a_rule_blocks(changes: dict[str, Any], expected: str) -> None:
    """The rule's code is in the verdict, its sentence holds no value of the record, and no outcome is accepted."""
    verdict = judged(**changes)
    assert expected in codes(verdict)
    assert verdict.status in (RecordStatus.REJECTED, RecordStatus.DEFERRED)
    assert all("4200" not in rule.message and "ord_881" not in rule.message for rule in verdict.rules)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param(seen(3600), set(), id="as old as allowed"),
        pytest.param(seen(3601), {"evidence.stale"}, id="a second older"),
        pytest.param(seen(-5), set(), id="a clock that runs ahead"),
        pytest.param(seen(60, "other"), {"evidence.wrong_tenant"}, id="another tenant's"),
        pytest.param(replace(RUN, evidence={}), {"evidence.unresolvable"}, id="nothing was recorded"),
    ],
)
def test_evidence_is_what_the_run_recorded(run: RunFacts, expected: set[str]) -> None:
    """Freshness and tenant come from the stream, not from the proposal."""
    assert codes(judged(run)) == expected


PLANNED = {
    "policy_decision_id": "plan_1",
    "bundle_id": PLAN_BUNDLE,
    "bundle_version": "",
    "rule_ids": list(CHECKS),
    "verdict": "allow",
}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(TERMS.hash, set(), id="by the terms of the catalog"),
        pytest.param("sha256:" + "0" * 64, {"policy.plan_of_other_terms"}, id="by other terms"),
        pytest.param(None, {"policy.plan_of_other_terms"}, id="by terms that are not said"),
    ],
)
def test_a_plan_counts_by_the_terms_of_the_catalog(version: str | None, expected: set[str]) -> None:
    """What an agent checked before execution is compared with what the catalog would have had it check."""
    said = [*proposal()["policy_decisions"], PLANNED | {"bundle_version": version}]
    assert codes(judged(policy_decisions=said)) == expected


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        pytest.param("required", {"policy.plan_missing"}, id="asked for"),
        pytest.param("optional", set(), id="not asked for"),
    ],
)
def test_a_spec_can_ask_for_a_checked_plan(plan: str, expected: set[str]) -> None:
    """Then nothing takes effect without one; what takes no effect needs none."""
    wanted = [
        replace(pinned, document=pinned.document.model_copy(update={"plan": plan}))
        if pinned.reference == "support.refund.execute@1.0.0"
        else pinned
        for pinned in CATALOG.documents
    ]
    verdict = validate(proposal(), Catalog(wanted), NOW, run=RUN, keys=KEYS)
    assert codes(verdict) == expected
    refused = validate(proposal(status="REJECTED"), Catalog(wanted), NOW, run=RUN, keys=KEYS)
    assert codes(refused) == set()


def test_missing_things_defer_and_wrong_things_reject() -> None:
    """A run can still bring evidence and approval; with anything else wrong the proposal is rejected."""
    assert judged(approvals=[], evidence_refs=[]).status is RecordStatus.DEFERRED
    assert judged(seen(90_000)).status is RecordStatus.DEFERRED
    assert judged(approvals=[], trace_id="").status is RecordStatus.REJECTED


@pytest.mark.parametrize("status", ["DEFERRED", "REJECTED", "ESCALATED", "IN_FLIGHT"])
def test_what_takes_no_effect_needs_no_evidence(status: str) -> None:
    """A deferral for lack of evidence must not be refused for lack of evidence; controls and lineage still count."""
    assert codes(judged(status=status, evidence_refs=[], approvals=[], policy_decisions=[], outputs={})) == set()
    assert codes(judged(status=status, controls_active__must_escalate=[])) == {"controls.missing_must_escalate"}


def test_a_tool_raises_the_effective_mode() -> None:
    """A decision that needs no gate needs one when a tool of it was destructive."""
    run = replace(RUN, evidence={ref: EvidenceFact("acme", NOW) for ref in MERGE["evidence_refs"]})
    assert codes(judged(run, **MERGE, tool_lineage=[TOOL])) == {"approval.missing"}
    assert codes(judged(run, **MERGE | {"approvals": [APPROVAL]}, tool_lineage=[TOOL])) == set()


def test_a_policy_can_ask_for_approval() -> None:
    """The verdict require_approval needs an approval, whatever the mode."""
    run = replace(RUN, evidence={ref: EvidenceFact("acme", NOW) for ref in MERGE["evidence_refs"]})
    asked = [MERGE["policy_decisions"][0] | {"verdict": "require_approval"}]
    assert codes(judged(run, **MERGE | {"policy_decisions": asked})) == {"approval.missing"}


def test_more_controls_than_the_pack_are_fine() -> None:
    """A record may name controls beyond those of its pack."""
    assert codes(judged(controls_active__must_refuse=["anything"])) == set()


def test_a_bundle_is_in_force_from_its_first_moment() -> None:
    """At active_from the version counts, a microsecond before it does not."""
    (bundle,) = CATALOG.bundles("POLICY_RETURNS_V1")
    start = int((bundle.active_from - EPOCH) / timedelta(microseconds=1))
    assert "policy.inactive_version" not in codes(judged(now=start))
    assert "policy.inactive_version" in codes(judged(now=start - 1))


def test_a_bundle_is_in_force_until_its_end() -> None:
    """At active_until it no longer counts, a microsecond before it does."""
    end = EPOCH + timedelta(microseconds=NOW)
    for until, expected in ((end + timedelta(microseconds=1), set()), (end, {"policy.inactive_version"})):
        ended = [
            replace(pinned, document=pinned.document.model_copy(update={"active_until": until}))
            if pinned.reference == "POLICY_RETURNS_V1@1.0.0"
            else pinned
            for pinned in CATALOG.documents
        ]
        assert codes(validate(proposal(), Catalog(ended), NOW, run=RUN, keys=KEYS)) == expected


def test_the_seal_rule_asks_for_a_key() -> None:
    """A proposal from before the first key, or past the last, cannot be sealed."""
    key = KEYS.keys[0]
    ended = KeySet([key.model_copy(update={"effective_until": key.effective_from + timedelta(days=1)})])
    assert "seal.no_effective_key" in codes(judged(keys=ended))
    revoked = KeySet([key.model_copy(update={"revoked_at": key.effective_from + timedelta(days=1)})])
    assert "seal.no_effective_key" in codes(judged(keys=revoked))


def test_transitions() -> None:
    """Open decisions go anywhere, ended ones nowhere, and only an open one can be closed."""
    for after in RecordStatus:
        assert may_follow(None, after) is (after is not RecordStatus.CLOSED)
        assert may_follow(RecordStatus.IN_FLIGHT, after)
        assert may_follow(RecordStatus.DEFERRED, after)
        assert not any(may_follow(ended, after) for ended in TERMINAL)


def test_one_terminal_record_per_primary_decision() -> None:
    """A second end is refused; a correction supersedes; decisions beside the primary one are free."""
    ended = replace(RUN, terminal_primary="dr_0", statuses={"support.refund.execute": RecordStatus.DECIDED})
    assert codes(judged(ended)) == {"schema.illegal_transition", "schema.second_terminal"}
    assert codes(judged(ended, supersedes="dr_0")) == set()
    assert codes(judged(replace(RUN, terminal_primary="dr_0"), primary=False)) == set()
    resumed = replace(RUN, statuses={"support.refund.execute": RecordStatus.DEFERRED})
    assert codes(judged(resumed)) == codes(judged(resumed, status="CLOSED")) == set()


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        pytest.param({"status": "DEFERRED", "approvals": []}, RetentionClass.STANDARD, id="nothing special"),
        pytest.param({}, RetentionClass.PROTECTED, id="destructive"),
        pytest.param({"approvals": [], "trace_id": ""}, RetentionClass.PROTECTED, id="rejected"),
        pytest.param({"status": "ESCALATED", "approvals": []}, RetentionClass.PROTECTED, id="escalated"),
        pytest.param(
            {"status": "DEFERRED", "approvals": [], "scorecard__utility": "0.69"}, RetentionClass.PROTECTED, id="failed"
        ),
        pytest.param(
            {"status": "DEFERRED", "approvals": [], "incident_id": "inc"}, RetentionClass.PROTECTED, id="incident"
        ),
        pytest.param(
            {"status": "DEFERRED", "approvals": [], "policy_decisions": [POLICY | {"verdict": "deny"}]},
            RetentionClass.PROTECTED,
            id="denied",
        ),
    ],
)
def test_what_is_kept_whatever_is_sampled(changes: dict[str, Any], kept: RetentionClass) -> None:
    """The five protected classes."""
    assert judged(**changes).retention is kept
