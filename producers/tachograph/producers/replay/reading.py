"""A recording from the records of its runs, as a reader of the topic sees them."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from tachograph.schemas.enums import CaptureMode, ToolLeg
from tachograph.schemas.recording import (
    RecordedDecision,
    RecordedModelCall,
    RecordedRun,
    RecordedToolCall,
    Recording,
    RequestedTool,
    bundle_hash,
    decision_hash,
    made,
    text_hash,
)

FAILED_CALL: Final = "the model call failed with "
"""How the summary of a model call that failed begins."""

_CUT: Final = re.compile(r"\[(TRUNCATED|DROPPED)[^\]]*\]\Z")
_ONE_MS: Final = 1000


Fetch = Callable[[str], str | None]
"""Content of an artifact by its id; None where it cannot be had."""


def _nowhere(_artifact_id: str) -> None:
    return None


def recording_of(
    run_id: str, records: Iterable[tuple[str, Mapping[str, Any]]], *, fetch: Fetch = _nowhere
) -> Recording:
    """From pairs of type and record. Records of other runs are left out, but for those of the run's sub-agents.

    What was done inside a tool is left out: the tool is not run again, its result is served. ``fetch`` brings back
    content that was too large for its record.
    """
    kept = [(kind, record) for kind, record in records]
    runs = _family(run_id, [record for kind, record in kept if kind == "RunStarted"])
    ended = {record["run_id"]: record["status"] for kind, record in kept if kind == "RunEnded"}
    mine = [(kind, record) for kind, record in kept if record["run_id"] in runs]
    spans = Spans(
        steps={record["span_id"]: record["parent_span_id"] for kind, record in mine if kind == "StepStarted"},
        tools={record["span_id"] for kind, record in mine if kind == "ToolCallRecord"},
    )
    entries: list[Any] = [_run(record, ended.get(name, "running")) for name, record in runs.items()]
    entries += [
        _model_call(record, fetch)
        for kind, record in mine
        if kind == "DecisionEvent"
        and record["prompt_provenance"] is not None
        and not spans.inside_tool(record["parent_span_id"])
    ]
    entries += [_decision(record) for kind, record in mine if kind == "AgentDecision"]
    entries += _tool_calls([record for kind, record in mine if kind == "ToolCallRecord"], fetch)
    return made(run_id, entries)


class Spans:
    """Who was called from where."""

    def __init__(self, *, steps: Mapping[str, str | None], tools: set[str | None]) -> None:
        self._steps = steps
        self._tools = tools

    def inside_tool(self, span_id: str | None) -> bool:
        """Whether a span, or one around it, is that of a tool call."""
        seen: set[str] = set()
        while span_id is not None and span_id not in seen:
            if span_id in self._tools:
                return True
            seen.add(span_id)
            span_id = self._steps.get(span_id)
        return False


def _whole(text: str | None, pointer: Mapping[str, Any] | None, fetch: Fetch) -> tuple[str | None, bool]:
    """Content from its record or from where the record points; and whether it is all there."""
    if pointer is None:
        return text, not _is_cut(text)
    fetched = fetch(pointer["artifact_id"])
    return fetched, fetched is not None


def _json(text: str | None) -> tuple[Any, bool]:
    """Captured JSON text as data, and whether it is whole."""
    if text is None:
        return None, True
    try:
        return orjson.loads(text), True
    except orjson.JSONDecodeError:
        return None, False


def _is_cut(text: str | None) -> bool:
    """Whether captured text was cut off, or is not there any more."""
    return text is not None and _CUT.search(text) is not None


def _family(run_id: str, started: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found = {record["run_id"]: record for record in started if record["run_id"] == run_id}
    for record in sorted(started, key=lambda item: item["occurred_at"]):
        if record["parent_run_id"] in found:
            found[record["run_id"]] = record
    return found


def _run(record: Mapping[str, Any], status: str) -> RecordedRun:
    return RecordedRun(
        run_id=record["run_id"],
        trace_id=record["trace_id"],
        session_id=record["session_id"],
        agent_id=record["agent_id"],
        agent_version=record["agent_version"],
        parent_run_id=record["parent_run_id"],
        capture_mode=CaptureMode(record["capture_mode"]),
        request_hash=text_hash(record["request"]["user_request_raw"]),
        status=status,
        started_at=record["occurred_at"],
    )


def _model_call(record: Mapping[str, Any], fetch: Fetch) -> RecordedModelCall:
    provenance, output = record["prompt_provenance"], record["model_output"] or {}
    usage = output.get("usage") or {}
    summary = record["agent_action"]["action_summary"]
    structured, _ = _json(output.get("output_structured"))
    text, whole = _whole(output.get("output_raw"), output.get("output_pointer"), fetch)
    ended = record["occurred_at"]
    return RecordedModelCall(
        run_id=record["run_id"],
        event_id=record["event_id"],
        # A millisecond more than was measured: what was rounded away must not make concurrent calls look like a row.
        began_at=max(0, ended - ((usage.get("latency_ms") or 0) + 1) * _ONE_MS),
        ended_at=ended,
        provider=provenance["provider"],
        model=provenance["model"],
        capture_mode=CaptureMode(provenance["capture_mode"]),
        prompt_bundle_hash=provenance["prompt_bundle_hash"],
        captured_hash=bundle_hash(provenance["prompt_bundle"]),
        text=text,
        structured=structured,
        tool_calls=tuple(
            RequestedTool(tool_call_id=call["tool_call_id"], name=call["name"], arguments=_json(call["arguments"])[0])
            for call in output.get("tool_calls") or ()
        ),
        completion_id=output.get("completion_id"),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        error_type=summary.removeprefix(FAILED_CALL) if summary.startswith(FAILED_CALL) else None,
        is_whole=whole,
    )


def _decision(record: Mapping[str, Any]) -> RecordedDecision:
    return RecordedDecision(
        run_id=record["run_id"],
        decided_at=record["occurred_at"],
        decision_hash=decision_hash(record["decision_type"], record["selected"], record["reason_code"]),
    )


def _tool_calls(records: list[Mapping[str, Any]], fetch: Fetch) -> list[RecordedToolCall]:
    calls: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for record in records:
        calls.setdefault((record["run_id"], record["tool_use_id"]), {})[record["leg"]] = record
    entries = []
    for (run_id, tool_use_id), legs in calls.items():
        pre, post = legs.get(ToolLeg.PRE.value), legs.get(ToolLeg.POST.value)
        if pre is None or (run_id, pre["parent_tool_use_id"]) in calls:
            continue
        given, _ = _whole(pre["tool_input"], pre["input_pointer"], fetch)
        text, whole = (None, False) if post is None else _whole(post["output"], post["output_pointer"], fetch)
        output, parsed = _json(text)
        result = legs.get(ToolLeg.RESULT.value) or post or pre
        entries.append(
            RecordedToolCall(
                run_id=run_id,
                tool_use_id=tool_use_id,
                tool_name=pre["tool_name"],
                began_at=pre["occurred_at"],
                ended_at=result["occurred_at"],
                capture_mode=CaptureMode(pre["capture_mode"]),
                input_hash=None if given is None else text_hash(given),
                output=output,
                error_type=None if post is None else post["error_type"],
                error=None if post is None else post["error"],
                skipped=pre["skipped"],
                is_whole=whole and parsed,
            )
        )
    return entries
