"""The edges of each rule: the last that passes, and the first that does not."""

from dataclasses import replace
from typing import Any

import pytest

from tachograph.processors.records import EvidenceFact, RunFacts, validate
from tachograph.processors.records.facts import UNKNOWN_RUN
from tachograph.schemas.enums import ValidationRule
from tests.processors.decisions.proposals import CATALOG, KEYS, NOW, REFS, RUN, TRACE, proposal

POLICY = proposal()["policy_decisions"][0]
APPROVAL = proposal()["approvals"][0]
TOOL = {"tool_call_id": "t", "tool_result_id": "r", "idempotency_key": None, "reversal_token": None}
LEAST = 2**53 - 1

Edge = tuple[dict[str, Any], RunFacts, set[str]]

EDGES: dict[ValidationRule, dict[str, Edge]] = {
    ValidationRule.SCHEMA: {
        "passes: another allowed outcome": ({"outputs__outcome": "partial"}, RUN, set()),
        "passes: an amount at its maximum": ({"outputs__refund_amount_inr": 10_000_000}, RUN, set()),
        "blocks: one above it": ({"outputs__refund_amount_inr": 10_000_001}, RUN, {"outputs_mismatch"}),
        "blocks: a member that the schema does not have": ({"outputs__extra": 1}, RUN, {"outputs_mismatch"}),
        "blocks: a word that is no status": ({"status": "MAYBE"}, RUN, {"unknown_status"}),
        "blocks: an id that the run has used": (
            {},
            replace(RUN, record_ids={"dr_1": "support.refund.execute"}),
            {"record_id_reused"},
        ),
        "blocks: a record that supersedes itself": ({"supersedes": "dr_1"}, RUN, {"supersedes_itself"}),
        "blocks: superseding another decision": (
            {"supersedes": "dr_0"},
            replace(RUN, record_ids={"dr_0": "coding.data.delete"}),
            {"supersedes_other"},
        ),
        "passes: superseding a record of an earlier run": ({"supersedes": "dr_0"}, RUN, set()),
    },
    ValidationRule.EVIDENCE: {
        "passes: more than is required": ({"evidence_refs": [*REFS, "kg:extra"]}, RUN, set()),
        "passes: one of two that match is fresh": (
            {"evidence_refs": [*REFS, "tool:adp_orders.lookup:old"]},
            replace(RUN, evidence=dict(RUN.evidence) | {"tool:adp_orders.lookup:old": EvidenceFact("acme", 0)}),
            set(),
        ),
        "blocks: the name of a tool only": ({"evidence_refs": [*REFS[:2], "tool:adp_policy.eval"]}, RUN, {"absent"}),
        "blocks: another tenant's beside our own": (
            {"evidence_refs": [*REFS, "kg:theirs"]},
            replace(RUN, evidence=dict(RUN.evidence) | {"kg:theirs": EvidenceFact("other", NOW)}),
            {"wrong_tenant"},
        ),
    },
    ValidationRule.POLICY: {
        "passes: two rules of the bundle": (
            {"policy_decisions": [POLICY, POLICY | {"rule_ids": ["R_HIGH_VALUE_REQUIRES_APPROVAL"]}]},
            RUN,
            set(),
        ),
        "passes: the version is named too": ({"policy_decisions": [POLICY | {"bundle_version": "1.0.0"}]}, RUN, set()),
        "blocks: one allows and one denies": (
            {"policy_decisions": [POLICY, POLICY | {"verdict": "deny"}]},
            RUN,
            {"denied"},
        ),
        "blocks: a version that does not exist": (
            {"policy_decisions": [POLICY | {"bundle_version": "1.0.1"}]},
            RUN,
            {"inactive_version"},
        ),
    },
    ValidationRule.APPROVAL: {
        "passes: given at the last moment": ({"approvals": [APPROVAL | {"decided_at": NOW}]}, RUN, set()),
        "blocks: a microsecond later": ({"approvals": [APPROVAL | {"decided_at": NOW + 1}]}, RUN, {"in_the_future"}),
        "blocks: a mode that is none": (
            {"approvals": [APPROVAL | {"approval_mode_effective": "godlike"}]},
            RUN,
            {"insufficient_mode"},
        ),
        "passes: a tool of no known mode under the highest approval": (
            {"tool_lineage": [TOOL | {"approval_mode_effective": "godlike"}]},
            RUN,
            set(),
        ),
    },
    ValidationRule.CONTROLS: {
        "passes: in another order": ({"controls_active__redaction_rules_active": ["credit_card", "pan"]}, RUN, set()),
        "passes: more than the pack has": ({"controls_active__must_refuse": ["x"]}, RUN, set()),
        "blocks: one of two is missing": (
            {"controls_active__redaction_rules_active": ["credit_card"]},
            RUN,
            {"missing_redaction_rules_active"},
        ),
        "blocks: the same word in another list": (
            {"controls_active__must_escalate": [], "controls_active__must_refuse": ["fraud_signal_high"]},
            RUN,
            {"missing_must_escalate"},
        ),
    },
    ValidationRule.LINEAGE: {
        "passes: a further policy, pinned": (
            {"lineage__policy_versions": ["POLICY_RETURNS_V1@1.0.0", "OTHER@2.0.0"]},
            RUN,
            set(),
        ),
        "blocks: a policy without its version": (
            {"lineage__policy_versions": ["POLICY_RETURNS_V1@1.0.0", "OTHER"]},
            RUN,
            {"policy_unpinned"},
        ),
        "blocks: the pack without its version": ({"lineage__pack_version": "ctxpack.support"}, RUN, {"pack_unpinned"}),
        "blocks: the spec of another version": (
            {"lineage__decision_spec": "support.refund.execute@1.0.1"},
            RUN,
            {"spec_unpinned"},
        ),
    },
    ValidationRule.TRACE: {
        "passes: the smallest trace there is": (
            {"trace_id": "0" * 31 + "1"},
            replace(RUN, trace_id="0" * 31 + "1"),
            set(),
        ),
        "blocks: a digit too few": ({"trace_id": TRACE[1:]}, RUN, {"malformed"}),
        "blocks: a run that recorded nothing": ({}, UNKNOWN_RUN, {"unknown_run"}),
        "blocks: the run of another tenant": ({}, replace(RUN, tenant_id="other"), {"wrong_tenant"}),
    },
    ValidationRule.SEAL: {
        "passes: the largest integer": ({"status": "DEFERRED", "outputs": {"n": LEAST, "m": -LEAST}}, RUN, set()),
        "blocks: one more": (
            {"status": "DEFERRED", "outputs": {"n": LEAST + 1}},
            RUN,
            {"no_canonical_form_integer_range"},
        ),
        "passes: text beyond ASCII as a value": (
            {"status": "DEFERRED", "outputs": {"n": "gr\u00f6\u00dfe"}},
            RUN,
            set(),
        ),
        "blocks: half a character": (
            {"status": "DEFERRED", "outputs": {"n": "\ud800"}},
            RUN,
            {"no_canonical_form_surrogate"},
        ),
        "blocks: a float that is whole": (
            {"status": "DEFERRED", "outputs": {"n": 1.0}},
            RUN,
            {"no_canonical_form_float"},
        ),
    },
}


@pytest.mark.parametrize(
    ("rule", "edge"),
    [
        pytest.param(rule, edge, id=f"{rule.value} {name}")
        for rule, edges in EDGES.items()
        for name, edge in edges.items()
    ],
)
def test_the_edge_of_a_rule(rule: ValidationRule, edge: Edge) -> None:
    """What this rule says, whatever the others say; its code begins with its name and its sentence is there."""
    changes, run, expected = edge
    said = [
        verdict
        for verdict in validate(proposal(**changes), CATALOG, NOW, run=run, keys=KEYS).rules
        if verdict.rule is rule
    ]
    assert {verdict.code.removeprefix(f"{rule.value}.") for verdict in said if not verdict.passed} == expected
    assert all(verdict.code.startswith(f"{rule.value}.") for verdict in said)
    assert all(verdict.message for verdict in said if not verdict.passed)


def test_every_rule_has_its_edges() -> None:
    """Something that passes and something that is blocked, three of them at least."""
    assert set(EDGES) == set(ValidationRule)
    for edges in EDGES.values():
        assert len(edges) >= 3
        assert {name.partition(":")[0] for name in edges} == {"passes", "blocks"}
