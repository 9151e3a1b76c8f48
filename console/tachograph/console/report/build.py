"""From rows to a report. Pure: the same rows and the same moment give the same report."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from tachograph.console.report.calls import actions_of, model_calls_of, tool_calls_of
from tachograph.console.report.model import (
    SCHEMA_VERSION,
    Completeness,
    Constraint,
    Content,
    Context,
    ContextItem,
    Cost,
    Decision,
    Fault,
    ModelCall,
    ModelCost,
    Request,
    RunReport,
    Signal,
    Snapshot,
    Step,
    StepContext,
    Summary,
    ToolCall,
    TopViolation,
    Violation,
)
from tachograph.console.report.records import records_of
from tachograph.console.report.rows import Row, RunRows
from tachograph.console.report.timeline import timeline_of
from tachograph.schemas.enums import Severity

_PER: Final = 1_000_000
"""Tokens that a price is for."""
_SEVERITIES: Final = [severity.value for severity in reversed(Severity)]
_ANSWERS: Final = ("fail", "warn", "unknown", "pass")


def build_report(rows: RunRows, *, generated_at: datetime) -> RunReport:
    """The report of one run."""
    run = rows.run
    steps = steps_of(rows.steps)
    calls, actions, tools = model_calls_of(rows), actions_of(rows), tool_calls_of(rows.tool_calls)
    violations = violations_of(rows.violations)
    faults = tuple(_fault(row, run["capture_mode"]) for row in rows.agent_failures)
    snapshots = snapshots_of(rows.snapshots)
    counts = {
        "steps": len(steps),
        "model_calls": len(calls),
        "actions": len(actions),
        "tool_calls": len(tools),
        "tool_errors": sum(call.state == "failed" for call in tools),
        "decisions": len(rows.agent_decisions),
        "signals": len(rows.agent_quality_signals),
        "violations": len(violations),
        "faults": len(faults),
        "snapshots": len(snapshots),
    }
    return RunReport(
        schema_version=SCHEMA_VERSION,
        generated_at=generated_at,
        summary=_summary(run, counts, violations[0].severity if violations else None),
        request=_request(rows),
        top_violations=top_of(violations),
        timeline=timeline_of(rows, steps, tools),
        steps=steps,
        model_calls=calls,
        actions=actions,
        tool_calls=tools,
        decisions=tuple(_decision(row) for row in rows.agent_decisions),
        signals=tuple(_signal(row) for row in rows.agent_quality_signals),
        context=_context(rows, {step.step_id: step.name for step in steps}),
        violations=violations,
        faults=faults,
        snapshots=snapshots,
        completeness=_completeness(run),
        records=records_of(rows.record_proposals, rows.decision_records, rows.checkpoints),
        cost=_cost(rows, calls, tools),
    )


def steps_of(rows: Sequence[Row]) -> tuple[Step, ...]:
    """Steps in the order of their start, each with its depth."""
    parents = {row["step_id"]: row["parent_step_id"] for row in rows}
    return tuple(
        Step(
            step_id=row["step_id"],
            parent_step_id=row["parent_step_id"],
            step_type=row["step_type"],
            name=row["name"],
            status=row["status"] or "running",
            started_at=row["first_seen_at"],
            duration_ms=row["duration_ms"],
            error_type=row["error_type"],
            depth=_depth(row["step_id"], parents),
        )
        for row in rows
    )


def violations_of(rows: Sequence[Row]) -> tuple[Violation, ...]:
    """Violations, the worst first."""
    once = {row["violation_id"]: row for row in rows}  # a repeat has the same id
    found = [
        Violation(
            violation_id=row["violation_id"],
            kind=row["kind"],
            code=row["code"],
            severity=row["severity"],
            message=row["message"],
            evidence=row["evidence"],
            verdict=row["verdict"],
            action=row["action"],
            constraint_id=row["constraint_id"],
            at=row["occurred_at"],
            event_id=row["event_id"],
            step_id=row["step_id"],
            tool_use_id=row["tool_use_id"],
        )
        for row in once.values()
    ]
    return tuple(sorted(found, key=lambda item: (_rank(item.severity), item.at, item.code, item.violation_id)))


def top_of(violations: Sequence[Violation]) -> tuple[TopViolation, ...]:
    """Violations by code: the worst first, then the most frequent."""
    counts = Counter(item.code for item in violations)
    first: dict[str, Violation] = {}
    for item in violations:
        first.setdefault(item.code, item)
    found = [
        TopViolation(code=code, kind=item.kind, severity=item.severity, count=counts[code], message=item.message)
        for code, item in first.items()
    ]
    return tuple(sorted(found, key=lambda item: (_rank(item.severity), -item.count, item.code)))


def snapshots_of(rows: Sequence[Row]) -> tuple[Snapshot, ...]:
    """Each snapshot as it is now: the row that was written last counts."""
    once = {row["snapshot_id"]: row for row in rows}
    return tuple(
        Snapshot(
            snapshot_id=row["snapshot_id"],
            at=row["occurred_at"],
            step_id=row["step_id"],
            kind=row["kind"],
            trigger=row["trigger"],
            stored=row["stored"],
            artifact_id=row["artifact_id"],
            size_bytes=row["size_bytes"],
            hash=row["hash"],
            deleted_at=row["deleted_at"],
        )
        for row in once.values()
    )


def headline(run: Row, counts: Mapping[str, int], worst: str | None) -> str:
    """The run in one sentence."""
    took = f" after {run['duration_ms'] / 1000:.1f} s" if run["duration_ms"] is not None else ""
    error = f" ({run['error_type']})" if run["error_type"] else ""
    many = counts["violations"]
    broken = f"{many} violation{'' if many == 1 else 's'}, the worst {worst}" if many else "no violations"
    return f"{run['agent_id']} {run['status'] or 'running'}{took}{error}: {broken}; the record is {run['completeness']}"


def _summary(run: Row, counts: dict[str, int], worst: str | None) -> Summary:
    return Summary(
        headline=headline(run, counts, worst),
        run_id=run["run_id"],
        trace_id=run["trace_id"],
        session_id=run["session_id"],
        tenant_id=run["tenant_id"],
        agent_id=run["agent_id"],
        agent_version=run["agent_version"],
        environment=run["environment"],
        status=run["status"] or "running",
        capture_mode=run["capture_mode"],
        started_at=run["started_at"],
        ended_at=run["ended_at"],
        duration_ms=run["duration_ms"],
        error_type=run["error_type"],
        parent_run_id=run["parent_run_id"],
        worst_severity=worst,
        counts=counts,
    )


def _request(rows: RunRows) -> Request:
    run = rows.run
    answers: dict[str, set[str]] = {}
    for row in rows.evaluations:
        for check in (*row["alignment_checks"], *row["quality_checks"], *row["policy_checks"]):
            if check["constraint_id"]:
                answers.setdefault(check["constraint_id"], set()).add(check["status"])
    return Request(
        request_id=run["request_id"],
        text=Content(text=run["user_request_raw"], mode=run["capture_mode"], characters=len(run["user_request_raw"])),
        channel=run["channel"],
        repo=run["repo"],
        branch=run["branch"],
        ticket_id=run["ticket_id"],
        constraints=tuple(
            Constraint(id=item["id"], type=item["type"], rule=item["rule"], status=_worst(answers.get(item["id"], ())))
            for item in rows.constraints
        ),
    )


def _worst(answers: Iterable[str]) -> str:
    return next((answer for answer in _ANSWERS if answer in answers), "unchecked")


def _decision(row: Row) -> Decision:
    return Decision(
        decision_id=row["decision_id"],
        at=row["occurred_at"],
        step_id=row["step_id"],
        decision_type=row["decision_type"],
        selected=row["selected"],
        candidates=tuple(row["candidates"]),
        reason_code=row["reason_code"],
        confidence=row["confidence"],
    )


def _signal(row: Row) -> Signal:
    return Signal(
        signal_id=row["signal_id"],
        at=row["occurred_at"],
        step_id=row["step_id"],
        signal_type=row["signal_type"],
        signal_code=row["signal_code"],
        value=row["value"],
        weight=row["weight"],
    )


def _fault(row: Row, mode: str) -> Fault:
    return Fault(
        event_id=row["event_id"],
        at=row["occurred_at"],
        kind=row["kind"],
        step_id=row["step_id"],
        trigger=row["trigger"],
        error_type=row["error_type"],
        message=Content(text=row["message"], mode=mode, characters=len(row["message"])),
        tool_use_id=row["tool_use_id"],
        missing_pointer=row["missing_pointer"],
        dropped=row["dropped"],
        drop_reason=row["drop_reason"],
    )


def _context(rows: RunRows, names: Mapping[str, str]) -> Context:
    items: dict[str, list[Row]] = {}
    for item in rows.context_items:
        items.setdefault(item["manifest_id"], []).append(item)
    total: Counter[str] = Counter()
    for row in rows.context_manifests:
        total.update(row["tokens_by_source"])
    return Context(
        tokens_by_source=dict(sorted(total.items())),
        steps=tuple(
            StepContext(
                step_id=row["step_id"],
                step_name=names.get(row["step_id"], ""),
                token_limit=row["token_limit"],
                tokens_used=row["tokens_used"],
                tokens_by_source=dict(sorted(row["tokens_by_source"].items())),
                included=_items(items.get(row["manifest_id"], ()), is_included=True),
                excluded=_items(items.get(row["manifest_id"], ()), is_included=False),
            )
            for row in rows.context_manifests
        ),
    )


def _items(rows: Iterable[Row], *, is_included: bool) -> tuple[ContextItem, ...]:
    return tuple(
        ContextItem(
            item_id=row["item_id"],
            item_type=row["item_type"],
            source_ref=row["source_ref"],
            reason=row["reason"],
            tokens=row["tokens"],
            score=row["score"],
        )
        for row in rows
        if row["is_included"] is is_included
    )


def _completeness(run: Row) -> Completeness:
    return Completeness(
        state=run["completeness"],
        emitted=run["emitted"],
        received=run["received"],
        dropped=run["dropped"],
        repeats=run["repeats"],
        tool_calls=run["tool_calls"],
        tool_calls_joined=run["tool_calls_joined"],
        missing=tuple(run["missing"]),
    )


def _cost(rows: RunRows, calls: Sequence[ModelCall], tools: Sequence[ToolCall]) -> Cost:
    models = sorted({(call.provider, call.model) for call in calls})
    by_model = tuple(_model_cost(rows, name, [c for c in calls if (c.provider, c.model) == name]) for name in models)
    priced = [item.usd for item in by_model]
    return Cost(
        input_tokens=sum(item.input_tokens for item in by_model),
        output_tokens=sum(item.output_tokens for item in by_model),
        tool_calls=len(tools),
        tool_ms=sum(call.duration_ms or 0 for call in tools if not call.attribution),
        duration_ms=rows.run["duration_ms"],
        usd=f"{sum(Decimal(usd) for usd in priced if usd is not None):f}" if priced and None not in priced else None,
        by_model=by_model,
    )


def _model_cost(rows: RunRows, name: tuple[str, str], calls: Sequence[ModelCall]) -> ModelCost:
    sent = sum(call.input_tokens or 0 for call in calls)
    received = sum(call.output_tokens or 0 for call in calls)
    per_sent, per_received = rows.prices.get(name, (None, None))
    usd = None
    if per_sent is not None and per_received is not None:
        usd = (sent * per_sent + received * per_received) / _PER
    return ModelCost(
        provider=name[0],
        model=name[1],
        calls=len(calls),
        input_tokens=sent,
        output_tokens=received,
        latency_ms=sum(call.latency_ms or 0 for call in calls),
        usd=None if usd is None else f"{usd:f}",
    )


def _depth(step_id: str, parents: Mapping[str, Any]) -> int:
    depth, seen = 0, {step_id}
    parent = parents.get(step_id)
    while parent is not None and parent not in seen:  # a producer may claim that a step is its own parent
        seen.add(parent)
        depth += 1
        parent = parents.get(parent)
    return depth


def _rank(severity: str) -> int:
    # A severity that this version does not know may be a newer, worse one.
    return _SEVERITIES.index(severity) if severity in _SEVERITIES else -1
