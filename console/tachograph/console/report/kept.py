"""Sections on what was kept of a run: its context, faults with their snapshots, and sealed records. Pure."""

from collections.abc import Iterator

from tachograph.console.report.model import (
    RunReport,
    StepContext,
)
from tachograph.console.report.page import NOTHING, Block, Facts, Part, grid, shown
from tachograph.console.report.records import Record
from tachograph.console.report.words import content, when


def context(report: RunReport) -> Iterator[Part]:
    """What each step had in its context, and what was left out."""
    if not report.context.steps:
        return
    sources = list(report.context.tokens_by_source)
    yield grid(
        ("step", "used", "limit", *(f"{name} tokens" for name in sources), "included", "excluded"),
        [_context_row(step, sources) for step in report.context.steps],
    )
    yield grid(
        ("step", "", "item", "type", "reason", "tokens", "score"),
        [
            (step.step_name or step.step_id, word, item.item_id, item.item_type, item.reason, item.tokens, item.score)
            for step in report.context.steps
            for word, items in (("in", step.included), ("out", step.excluded))
            for item in items
        ],
    )


def _context_row(step: StepContext, sources: list[str]) -> tuple[object, ...]:
    by_source = [step.tokens_by_source.get(name, 0) for name in sources]
    counts = (len(step.included), len(step.excluded))
    return step.step_name or step.step_id, step.tokens_used, step.token_limit, *by_source, *counts


def faults(report: RunReport) -> Iterator[Part]:
    """Failures, and the snapshots they asked for."""
    if report.faults:
        yield grid(
            ("fault", "error", "tool call", "lost", "missing", "time"),
            [
                (
                    item.trigger or item.kind,
                    item.error_type,
                    item.tool_use_id,
                    f"{item.dropped} records ({item.drop_reason})" if item.dropped else "",
                    item.missing_pointer,
                    when(item.at),
                )
                for item in report.faults
            ],
            ["fail" for _ in report.faults],
        )
    for fault in report.faults:
        if fault.message.characters:
            yield Block(f"{fault.trigger or fault.kind}: message", content(fault.message))
    if report.snapshots:
        yield grid(
            ("snapshot", "because of", "stored", "bytes", "artifact"),
            [
                (
                    item.kind,
                    item.trigger,
                    "removed" if item.deleted_at else item.stored,
                    item.size_bytes,
                    item.artifact_id,
                )
                for item in report.snapshots
            ],
            ["ok" if item.stored else "fail" for item in report.snapshots],
        )


def records(report: RunReport) -> Iterator[Part]:
    """Each sealed record: what it decides, and on what basis it holds."""
    for record in report.records:
        yield Facts(tuple(_record_facts(record)))
        yield Block(f"{record.decision_key}: outcome", record.outputs)
        if record.verdicts:
            yield grid(
                ("rule", "passed", "code", "message"),
                [(item.rule, item.passed, item.code, item.message) for item in record.verdicts],
                ["ok" if item.passed else "fail" for item in record.verdicts],
            )


def _record_facts(record: Record) -> Iterator[tuple[str, str]]:
    yield "decision", f"{record.decision_key}@{record.decision_version}"
    yield "status", f"{record.status} (proposed as {record.proposed_status})"
    yield "decided by", record.actor + (f" for {record.on_behalf_of}" if record.on_behalf_of else "")
    yield "about", shown(record.subject_ids)
    yield "evidence", shown(record.evidence_refs)
    policies = [f"{item.bundle} {'+'.join(item.rule_ids)}: {item.verdict}" for item in record.policies]
    yield "policy", shown(policies)
    yield "approvals", shown([f"{item.gate_id} by {item.approver} ({item.mode})" for item in record.approvals])
    yield (
        "controls",
        "; ".join(f"{name}: {shown(items)}" for name, items in record.controls.items() if items) or NOTHING,
    )
    yield "lineage", "; ".join(f"{name} {value}" for name, value in record.lineage.items() if value)
    yield "supersedes", shown(record.supersedes)
    proof = record.proof
    if proof is None:
        yield "proof", "proposed, not sealed"
        return
    yield "sealed", f"log {proof.log_id}, place {proof.log_seq:,}, {when(proof.sealed_at)}, key {proof.signed_by}"
    yield "record hash", proof.record_hash
    size = "no checkpoint yet" if proof.checkpoint_size is None else f"latest has {proof.checkpoint_size:,} records"
    yield "checkpoint", f"covers this record ({size})" if proof.covered else f"does not cover this record yet ({size})"
