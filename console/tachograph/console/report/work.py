"""Sections on what the agent did: tool calls, model calls, actions, decisions and signals. Pure."""

from collections.abc import Iterator

from tachograph.console.report.model import (
    ModelCall,
    RunReport,
    ToolCall,
)
from tachograph.console.report.page import Block, Part, Sentence, grid
from tachograph.console.report.timeline import tone_of
from tachograph.console.report.words import content, seconds, sides

SIGNALS_NOTE = "Signals are facts correlated with the quality of outcomes; they are no scores."
DECISIONS_NOTE = "Choices as the agent recorded them, with their coded reasons."


def tools(report: RunReport) -> Iterator[Part]:
    """Tool calls, with who asked for them."""
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


def models(report: RunReport) -> Iterator[Part]:
    """Model calls: tokens, time, and what was sent and answered."""
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


def actions(report: RunReport) -> Iterator[Part]:
    """What the agent did, and how it was judged."""
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


def decisions(report: RunReport) -> tuple[Part, ...]:
    """Choices of the agent."""
    if not report.decisions:
        return ()
    rows = [
        (item.decision_type, item.selected, item.candidates, item.reason_code, item.confidence)
        for item in report.decisions
    ]
    return grid(("type", "selected", "candidates", "reason", "confidence"), rows), Sentence(DECISIONS_NOTE)


def signals(report: RunReport) -> tuple[Part, ...]:
    """Facts about quality."""
    if not report.signals:
        return ()
    ordered = sorted(report.signals, key=lambda item: item.signal_type)
    rows = [(item.signal_type, item.signal_code, item.value, item.weight) for item in ordered]
    return grid(("type", "code", "holds", "weight"), rows), Sentence(SIGNALS_NOTE)
