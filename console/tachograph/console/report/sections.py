"""From a report to its page: which sections there are, and what stands in each. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tachograph.console.report.model import (
    Content,
    ModelCall,
    RunReport,
    StepContext,
    ToolCall,
    Violation,
)
from tachograph.console.report.page import NOTHING, Block, Facts, Grid, Page, Part, Section, Sentence, grid, shown
from tachograph.console.report.records import Record
from tachograph.console.report.timeline import spans_of, tone_of

SIGNALS_NOTE = "Signals are facts correlated with the quality of outcomes; they are no scores."
DECISIONS_NOTE = "Choices as the agent recorded them, with their coded reasons."


def page_of(report: RunReport) -> Page:
    """The whole page. A section without content says so: an empty one and a missing one are different things."""
    summary = report.summary
    severity = summary.worst_severity
    worst = (
        severity if severity in {"error", "critical"} else summary.status if summary.status != "succeeded" else severity
    )
    return Page(
        title=f"Run {summary.run_id}",
        tone=tone_of(worst or summary.status),
        headline=summary.headline,
        sections=tuple(
            Section(name, title, parts or (Sentence("None."),))
            for name, title, parts in (
                ("summary", "Summary", _summary(report)),
                ("request", "Request and constraints", _request(report)),
                ("violations", "Top violations", tuple(_violations(report))),
                ("timeline", "Timeline", _timeline(report)),
                ("tools", "Tool calls", tuple(_tools(report))),
                ("models", "Model calls", tuple(_models(report))),
                ("actions", "Actions", tuple(_actions(report))),
                ("decisions", "Decisions", _decisions(report)),
                ("signals", "Quality signals", _signals(report)),
                ("context", "Context in and out", tuple(_context(report))),
                ("faults", "Faults and snapshots", tuple(_faults(report))),
                ("completeness", "Completeness", _completeness(report)),
                ("records", "Records and proof", tuple(_records(report))),
                ("cost", "Cost", _cost(report)),
            )
        ),
    )


def _summary(report: RunReport) -> tuple[Part, ...]:
    run = report.summary
    return (
        Facts(
            (
                ("status", run.status),
                ("agent", f"{run.agent_id} {run.agent_version}"),
                ("environment", shown(run.environment)),
                ("started", when(run.started_at)),
                ("took", seconds(run.duration_ms)),
                ("error", shown(run.error_type)),
                ("capture mode", shown(run.capture_mode)),
                ("session", shown(run.session_id)),
                ("trace", shown(run.trace_id)),
                ("tenant", run.tenant_id),
                ("parent run", shown(run.parent_run_id)),
                ("counts", ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in run.counts.items())),
            )
        ),
    )


def _request(report: RunReport) -> tuple[Part, ...]:
    request = report.request
    where = Facts(
        (
            ("channel", shown(request.channel)),
            ("repository", shown(request.repo)),
            ("branch", shown(request.branch)),
            ("ticket", shown(request.ticket_id)),
            ("request id", shown(request.request_id)),
        )
    )
    constraints = [(item.id, item.type, item.rule, item.status) for item in request.constraints]
    return (
        Block("the request", content(request.text)),
        where,
        grid(
            ("constraint", "type", "rule", "the stream says"),
            constraints,
            [tone_of(item.status) for item in request.constraints],
        )
        if constraints
        else Sentence("The request came without explicit constraints."),
    )


def _violations(report: RunReport) -> Iterator[Part]:
    if report.top_violations:
        yield grid(
            ("severity", "code", "times", "first message"),
            [(item.severity, item.code, item.count, item.message) for item in report.top_violations],
            [tone_of(item.severity) for item in report.top_violations],
        )
        yield grid(
            ("time", "code", "evidence", "verdict", "enforced"),
            [_violation_row(item, report) for item in report.violations],
            [tone_of(item.severity) for item in report.violations],
        )


def _violation_row(item: Violation, report: RunReport) -> tuple[object, ...]:
    code = f"{item.code} ({item.constraint_id})" if item.constraint_id else item.code
    start = report.summary.started_at
    at = when(item.at) if start is None else since((item.at - start) // timedelta(milliseconds=1))
    return at, code, item.evidence, item.verdict, item.action


def _timeline(report: RunReport) -> tuple[Part, ...]:
    listed = _timeline_grid(report)
    return (replace(listed, spans=spans_of(report.timeline)),)


def _timeline_grid(report: RunReport) -> Grid:
    return grid(
        ("time", "kind", "what", "detail", "took"),
        [
            (
                since(entry.offset_ms),
                entry.kind.replace("_", " "),
                f"{'· ' * min(entry.depth, 8)}{entry.title}",
                entry.detail,
                seconds(entry.duration_ms) if entry.duration_ms is not None else "",
            )
            for entry in report.timeline
        ],
        [entry.tone for entry in report.timeline],
    )


def _tools(report: RunReport) -> Iterator[Part]:
    if report.tool_calls:
        yield grid(
            ("tool", "state", "phase", "task", "called by", "asked by model", "hooks", "took"),
            [_tool_row(call) for call in report.tool_calls],
            [tone_of(call.state) for call in report.tool_calls],
        )
    for call in report.tool_calls:
        yield Block(f"{call.tool_name} {call.tool_use_id}: input", content(call.input))
        yield Block(f"{call.tool_name} {call.tool_use_id}: output", content(call.output))


def _tool_row(call: ToolCall) -> tuple[object, ...]:
    missing = f": no {', '.join(call.missing)}" if call.missing else ""
    hooks = [f"{item.hook} {item.action}{f' ({item.reason})' if item.reason else ''}" for item in call.hooks]
    return (
        f"{'· ' * min(len(call.attribution), 8)}{call.tool_name} {call.tool_use_id}",
        f"{call.state}{f' ({call.error_type})' if call.error_type else ''}{missing}",
        call.phase,
        call.task_id,
        " > ".join(call.attribution) or call.parent_tool_use_id or "the agent",
        call.asked_by_model,
        hooks,
        seconds(call.duration_ms),
    )


def _models(report: RunReport) -> Iterator[Part]:
    if report.model_calls:
        yield grid(
            (
                "model",
                "bundle",
                "capture",
                "sent as recorded",
                "messages",
                "tokens in",
                "tokens out",
                "took",
                "asks for",
            ),
            [_model_row(call) for call in report.model_calls],
        )
    for place, call in enumerate(report.model_calls, 1):
        for message in call.messages:
            yield Block(f"call {place}: {message.role}", content(message.content))
        yield Block(f"call {place}: output", content(call.output))


def _model_row(call: ModelCall) -> tuple[object, ...]:
    return (
        f"{call.provider} {call.model}".strip(),
        call.prompt_bundle_hash[:12],
        call.capture_mode,
        call.sent_as_recorded,
        len(call.messages),
        call.input_tokens,
        call.output_tokens,
        seconds(call.latency_ms),
        [item.name for item in call.asked],
    )


def _actions(report: RunReport) -> Iterator[Part]:
    if report.actions:
        rows = []
        for action in report.actions:
            set_aside = "set aside by a person" if action.overridden_by else ""
            sets_aside = f"sets aside {action.overrides_event_id}" if action.overrides_event_id else ""
            rows.append(
                (
                    action.action_type,
                    action.summary,
                    [item.summary for item in action.artifacts],
                    sides(action.judged.by_agent),
                    sides(action.judged.by_stream),
                    set_aside or sets_aside,
                )
            )
        yield grid(("action", "summary", "made", "the agent says", "the stream says", "person"), rows)
    for action in report.actions:
        for made in action.artifacts:
            yield Block(f"{action.action_type}: {made.summary}", content(made.content))


def _decisions(report: RunReport) -> tuple[Part, ...]:
    if not report.decisions:
        return ()
    rows = [
        (item.decision_type, item.selected, item.candidates, item.reason_code, item.confidence)
        for item in report.decisions
    ]
    return grid(("type", "selected", "candidates", "reason", "confidence"), rows), Sentence(DECISIONS_NOTE)


def _signals(report: RunReport) -> tuple[Part, ...]:
    if not report.signals:
        return ()
    ordered = sorted(report.signals, key=lambda item: item.signal_type)
    rows = [(item.signal_type, item.signal_code, item.value, item.weight) for item in ordered]
    return grid(("type", "code", "holds", "weight"), rows), Sentence(SIGNALS_NOTE)


def _context(report: RunReport) -> Iterator[Part]:
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


def _faults(report: RunReport) -> Iterator[Part]:
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


def _completeness(report: RunReport) -> tuple[Part, ...]:
    found = report.completeness
    return (
        Facts(
            (
                ("the record is", found.state),
                ("records counted by the agent", shown(found.emitted)),
                ("records received", shown(found.received)),
                ("lost by the recorder", shown(found.dropped)),
                ("arrived more than once", shown(found.repeats)),
                ("tool calls joined", f"{shown(found.tool_calls_joined)} of {shown(found.tool_calls)}"),
                ("missing", "; ".join(found.missing) or "nothing"),
            )
        ),
    )


def _records(report: RunReport) -> Iterator[Part]:
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


def _cost(report: RunReport) -> tuple[Part, ...]:
    cost = report.cost
    totals = Facts(
        (
            ("tokens", f"{cost.input_tokens:,} in, {cost.output_tokens:,} out"),
            ("tool calls", f"{cost.tool_calls:,}, {seconds(cost.tool_ms)}"),
            ("wall clock", seconds(cost.duration_ms)),
            ("price", f"${cost.usd}" if cost.usd is not None else "no price is known for its models"),
        )
    )
    rows = [
        (
            item.provider,
            item.model,
            item.calls,
            item.input_tokens,
            item.output_tokens,
            seconds(item.latency_ms),
            item.usd,
        )
        for item in cost.by_model
    ]
    return (totals, grid(("provider", "model", "calls", "in", "out", "took", "USD"), rows)) if rows else (totals,)


def content(value: Content) -> str:
    """A captured text, or why there is none."""
    if value.text is not None:
        return value.text
    if value.artifact_id is not None:
        return f"(stored as artifact {value.artifact_id})"
    if value.characters is not None:
        return f"({value.characters:,} characters, left out of this report)"
    return "(not captured)"


def sides(statuses: dict[str, str]) -> str:
    """Statuses by side."""
    return ", ".join(f"{side} {status}" for side, status in statuses.items()) or NOTHING


def when(at: datetime | None) -> str:
    """A moment, in UTC."""
    return NOTHING if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"


def since(milliseconds: int) -> str:
    """How long after the run's start; before it if the producer's clock says so."""
    return f"{milliseconds / 1000:+.3f} s"


def seconds(milliseconds: int | None) -> str:
    """A duration."""
    return NOTHING if milliseconds is None else f"{milliseconds / 1000:,.3f} s"
