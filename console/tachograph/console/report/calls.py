"""The boundary's part of a report: model calls, tool calls and actions. Pure."""

from collections.abc import Sequence
from typing import Final

from tachograph.console.report.model import (
    Action,
    AskedTool,
    Content,
    HookVerdict,
    Judged,
    MadeArtifact,
    Message,
    ModelCall,
    ToolCall,
)
from tachograph.console.report.rows import Row, RunRows

_SIDES: Final = ("alignment", "quality", "policy")
_PARAMETERS: Final = ("temperature", "top_p", "max_tokens")


def captured(text: str | None, mode: str, artifact_id: str | None = None) -> Content:
    """A text in its capture mode."""
    return Content(text=text, mode=mode, artifact_id=artifact_id, characters=None if text is None else len(text))


def model_calls_of(rows: RunRows) -> tuple[ModelCall, ...]:
    """Events in which a model was called."""
    return tuple(_model_call(row) for row in rows.decision_events if row["model"] or row["prompt_bundle_hash"])


def _model_call(row: Row) -> ModelCall:
    mode = row["capture_mode"]
    return ModelCall(
        event_id=row["event_id"],
        at=row["occurred_at"],
        step_id=row["step_id"],
        provider=row["provider"],
        model=row["model"],
        capture_mode=mode,
        prompt_bundle_hash=row["prompt_bundle_hash"],
        bundle_artifact_id=row["bundle_artifact_id"],
        sent_as_recorded=None if row["sent_hash"] is None else row["sent_hash"] == row["prompt_bundle_hash"],
        messages=tuple(Message(role=item["role"], content=captured(item["content"], mode)) for item in row["messages"]),
        tools_offered=tuple(item["name"] for item in row["tools"]),
        retrieval_sources=tuple(row["retrieval_sources"]),
        transformations=tuple(f"{item['type']}: {item['summary']}" for item in row["transformations"]),
        parameters={name: row[name] for name in _PARAMETERS if row[name] is not None},
        output=captured(row["output_raw"], mode, row["output_artifact_id"]),
        asked=tuple(
            AskedTool(tool_call_id=item["tool_call_id"], name=item["name"], arguments=captured(item["arguments"], mode))
            for item in row["tool_calls"]
        ),
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        latency_ms=row["latency_ms"],
    )


def actions_of(rows: RunRows) -> tuple[Action, ...]:
    """Every action boundary, and how it was judged."""
    judged = {row["event_id"]: row for row in rows.evaluations}
    overridden = {
        row["overrides_event_id"]: row["event_id"] for row in rows.decision_events if row["overrides_event_id"]
    }
    return tuple(
        Action(
            event_id=row["event_id"],
            at=row["occurred_at"],
            step_id=row["step_id"],
            action_type=row["action_type"],
            summary=row["action_summary"],
            artifacts=tuple(_artifact(item, row["capture_mode"]) for item in row["artifacts"]),
            judged=Judged(by_agent=_sides(row), by_stream=_sides(judged.get(row["event_id"], {}))),
            overrides_event_id=row["overrides_event_id"],
            overridden_by=overridden.get(row["event_id"]),
        )
        for row in rows.decision_events
    )


def _sides(row: Row) -> dict[str, str]:
    return {side: row[f"{side}_status"] for side in _SIDES if row.get(f"{side}_status")}


def _artifact(item: Row, mode: str) -> MadeArtifact:
    return MadeArtifact(
        type=item["type"],
        id=item["id"],
        summary=item["summary"],
        path=item["path"],
        content=captured(item["content"], mode, item["content_ref"]),
        hash=item["hash"],
        lines_added=item["lines_added"],
        lines_removed=item["lines_removed"],
        exit_code=item["exit_code"],
    )


def tool_calls_of(rows: Sequence[Row]) -> tuple[ToolCall, ...]:
    """Tool calls in the order of their start. A leg that came too late to be joined is a call of its own."""
    return tuple(_tool_call(row) for row in rows)


def _tool_call(row: Row) -> ToolCall:
    mode = row["capture_mode"]
    return ToolCall(
        tool_use_id=row["tool_use_id"],
        tool_name=row["tool_name"],
        state=state_of(row),
        task_id=row["task_id"],
        phase=row["phase"],
        parent_tool_use_id=row["parent_tool_use_id"],
        attribution=tuple(row["attribution"]),
        depth=row["depth"],
        step_id=row["step_id"],
        asked_by_model=row["requested"],
        requested_event_id=row["requested_event_id"],
        at=row["started_at"] or row["requested_at"] or row["occurred_at"],
        duration_ms=row["duration_ms"],
        input=captured(_first(row["tool_input"], row["arguments"]), mode, row["input_artifact_id"]),
        output=captured(_first(row["output"], row["error"]), mode, row["output_artifact_id"]),
        error_type=row["error_type"],
        hooks=tuple(
            HookVerdict(
                hook=item["hook"],
                stage=item["stage"],
                action=item["action"],
                reason=item["reason"],
                modified=item["modified"],
            )
            for item in row["hooks"]
        ),
        complete=row["complete"],
        missing=tuple(row["missing"]),
        closed_by=row["closed_by"],
    )


def state_of(row: Row) -> str:
    """How a call went, in one word."""
    if row["hook_action"] == "abort":
        return "aborted"
    if row["skipped"]:
        return "skipped"
    if row["error_type"] is not None or row["result_is_error"]:
        return "failed"
    return "ok" if row["complete"] or not row["missing"] else "lost"


def _first(*texts: str | None) -> str | None:
    return next((text for text in texts if text is not None), None)
