"""A sealed record in words, from nothing but itself: outcome, evidence, policy, approvals, controls, lineage."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

Lines = list[tuple[str, str]]
"""What a line is about, and what it says."""

_CONTROLS: Final = ("must_refuse", "must_escalate", "approval_gates_active", "redaction_rules_active")


def explain(content: Mapping[str, Any]) -> Lines:
    """Lines for a person, in the order in which one asks."""
    audit, actor = content["audit"], content["actor"]
    return [
        ("record", f"{content['record_id']}, {content['status']} (proposed: {content['proposed_status']})"),
        ("decision", f"{content['decision_key']} {content['decision_version']}"),
        ("decided by", f"{actor['type']} {actor['id']}" + _for(actor.get("delegated_user_id"))),
        ("about", _listed(content["subject_ids"])),
        *(("outcome", f"{name} = {value}") for name, value in sorted(content["outputs"].items())),
        *(("evidence", reference) for reference in content["evidence_refs"]),
        *(
            ("policy", f"{item['bundle_id']} said {item['verdict']} by {_listed(item['rule_ids'])}")
            for item in content["policy_decisions"]
        ),
        *(
            ("approval", f"{item['gate_id']} opened by {item['approver']} ({item['approval_mode_effective']})")
            for item in content["approvals"]
        ),
        *(("control", f"{name}: {_listed(content['controls_active'][name])}") for name in _CONTROLS),
        *(("rule", f"{item['code']}: {item['message']}") for item in content["verdicts"] if not item["passed"]),
        *(("pinned", pin) for pin in content["pins"]),
        ("knowledge", content["lineage"]["kg_snapshot"]),
        *_corrections(content),
        ("trace", f"{content['trace_id']}, run {content['run_id']}"),
        ("sealed", f"{audit['sealed_at']} by {audit['signed_by']}, place {audit['log_seq']} of log {audit['log_id']}"),
    ]


def _corrections(content: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if content.get("supersedes"):
        yield "supersedes", content["supersedes"]
    if content.get("incident_id"):
        yield "incident", content["incident_id"]


def _for(user: str | None) -> str:
    return "" if user is None else f" for {user}"


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items) or "-"
