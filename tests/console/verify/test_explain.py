"""A sealed record explains itself."""

import json

from tachograph.console.verify.explain import explain
from tests.console.replay.packets import packet


def test_the_record_alone_says_what_was_decided_and_why() -> None:
    """Outcome, evidence, policy, approvals, controls and lineage, with no store at hand."""
    lines = explain(json.loads(packet().record.body))
    assert {about for about, _ in lines} >= {
        "outcome",
        "evidence",
        "policy",
        "approval",
        "control",
        "pinned",
        "knowledge",
    }
    said = dict(lines)
    assert said["record"] == "dr_1, DECIDED (proposed: DECIDED)"
    assert said["decided by"] == "AGENT agt_support for usr_771"
    assert said["policy"] == "POLICY_RETURNS_V1 said allow by R_REFUND_REQUIRES_IDV"
    assert said["approval"] == "GATE_FINANCE_APPROVAL opened by lead_77 (destructive)"
    assert said["sealed"].endswith("by key-1, place 3 of log acme/0")


def test_a_blocked_record_says_which_rule_refused() -> None:
    """In the rule's own words."""
    lines = explain(json.loads(packet(approvals=[], supersedes="dr_0", incident_id="inc_1").record.body))
    said = dict(lines)
    assert said["rule"].startswith("approval.missing: ")
    assert (said["supersedes"], said["incident"]) == ("dr_0", "inc_1")
