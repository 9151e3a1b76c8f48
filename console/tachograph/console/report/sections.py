"""From a report to its page: which sections there are, and what stands in the general ones. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from tachograph.console.report.kept import context, faults, records
from tachograph.console.report.model import (
    RunReport,
    Violation,
)
from tachograph.console.report.page import Block, Facts, Grid, Page, Part, Section, Sentence, grid, shown
from tachograph.console.report.timeline import spans_of, tone_of
from tachograph.console.report.words import content, seconds, since, when
from tachograph.console.report.work import actions, decisions, models, signals, tools


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
                ("tools", "Tool calls", tuple(tools(report))),
                ("models", "Model calls", tuple(models(report))),
                ("actions", "Actions", tuple(actions(report))),
                ("decisions", "Decisions", decisions(report)),
                ("signals", "Quality signals", signals(report)),
                ("context", "Context in and out", tuple(context(report))),
                ("faults", "Faults and snapshots", tuple(faults(report))),
                ("completeness", "Completeness", _completeness(report)),
                ("records", "Records and proof", tuple(records(report))),
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
