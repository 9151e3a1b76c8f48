"""Joins what a model asked for with what the boundary saw: by tool call id, within a run, in any order of arrival.

A call becomes one row: at once when a model asked for it and all three legs are there; otherwise when its run ends, or
after a time without the rest. A leg that comes after that, or comes twice, is kept as a row of its own and reported.
"""

from typing import Any, Final

from tachograph.processors.bounds import packed, state_bytes
from tachograph.processors.calls import Call, lone_leg
from tachograph.processors.failures import Failure
from tachograph.processors.parents import callers, remember_caller
from tachograph.processors.report import Report
from tachograph.processors.rows.shared import Row, artifact_id, identity
from tachograph.processors.state import RunState

MOST_CALLS: Final = 256
"""Open calls remembered for one run."""

MOST_BYTES: Final = 256 * 1024
"""What open calls of one run may take in its state. A state is one Kafka message; the broker takes 1 MB."""

_MOST_OF_A_CALL: Final = 768 * 1024
"""What one call may take: its row is one message, too. A part that does not fit becomes a row of its own."""


def join_leg(state: RunState, row: Row, report: Report) -> None:
    """Take in a pre, post or result leg."""
    call_id, leg = row["tool_use_id"], row["leg"]
    call = state.calls.get(call_id)
    if call is None:
        if state.closed.find(call_id) is not None:
            report.rows([("tool_calls", lone_leg(row))])
            report.fail(Failure.LATE_LEG, f"leg {leg}", **_about(row))
            return
        call = _open(state, call_id, row["received_at"])
    if leg in call.legs:
        report.rows([("tool_calls", lone_leg(row))])
        report.fail(Failure.DUPLICATE_LEG, f"leg {leg}", **_about(row))
        return
    part = packed(row)
    if call.bytes + len(part) > _MOST_OF_A_CALL:
        _set_aside(state, call_id, call, row, report)
        return
    call.legs[leg] = part
    _grow(state, call, len(part))
    if row["parent_tool_use_id"] and remember_caller(state.parents, call_id, row["parent_tool_use_id"]):
        report.fail(Failure.PARENT_CIRCLE, "a tool call", **_about(row))
    _settle(state, call_id, call, report)


def join_event(state: RunState, record: dict[str, Any], append_time: int, report: Report) -> None:
    """Take in what a model asked for in an event, and the results that the event lists."""
    output, action = record["model_output"], record["agent_action"]
    requests = () if output is None else output["tool_calls"]
    results = action["tool_results"]
    if not requests and not results:
        return
    provenance = record["prompt_provenance"]
    about = identity(record, append_time) | {
        "step_id": record["step_id"],
        "capture_mode": "" if provenance is None else provenance["capture_mode"] or "",
    }
    for asked in requests:
        call_id = asked["tool_call_id"]
        call = state.calls.get(call_id)
        if call is None:
            if state.closed.find(call_id) is not None:
                continue  # reported when it was closed; the event itself has what was asked
            call = _open(state, call_id, append_time)
        if call.request is None:
            call.request = _fitting(about | {"name": asked["name"], "arguments": asked["arguments"]}, "arguments")
            _grow(state, call, len(call.request))
            _settle(state, call_id, call, report)
    for result in results:
        call_id = result["tool_call_id"]
        call = state.calls.get(call_id)
        if call is None:
            if state.closed.find(call_id) is not None:
                continue
            call = _open(state, call_id, append_time)
        if call.handed is None:
            handed = about | {
                "name": result["name"],
                "output": result["output"],
                "output_artifact_id": artifact_id(result["output_pointer"]),
                "is_error": result["is_error"],
                "duration_ms": result["duration_ms"],
            }
            call.handed = _fitting(handed, "output")
            _grow(state, call, len(call.handed))
    _keep_within_bounds(state, report)


def close_overdue(state: RunState, now: int, timeout: int, report: Report, closed_by: str) -> None:
    """Close calls whose first part came ``timeout`` ago."""
    while state.calls:
        call_id, call = next(iter(state.calls.items()))
        if call.since + timeout > now:
            return
        _close(state, call_id, call, report, closed_by)


def close_all(state: RunState, report: Report, closed_by: str) -> None:
    """Close every call: nothing more is to come."""
    for call_id, call in [*state.calls.items()]:
        _close(state, call_id, call, report, closed_by)


def _open(state: RunState, call_id: str, since: int) -> Call:
    call = state.calls[call_id] = Call(since)
    _grow(state, call, state_bytes(call_id))
    return call


def _settle(state: RunState, call_id: str, call: Call, report: Report) -> None:
    if call.is_whole():
        _close(state, call_id, call, report, "joined")
    else:
        _keep_within_bounds(state, report)


def _keep_within_bounds(state: RunState, report: Report) -> None:
    """Close the oldest calls of a run that has too many or too large ones, and say so once."""
    calls = state.calls
    while len(calls) > MOST_CALLS or state.open_bytes > MOST_BYTES:
        call_id, call = next(iter(calls.items()))
        _close(state, call_id, call, report, "bound")
        _flag(state, report)


def _set_aside(state: RunState, call_id: str, call: Call, row: Row, report: Report) -> None:
    """Write a leg that is too large to be joined as a row of its own, and what there was of its call before it."""
    if call.has_parts():
        _close(state, call_id, call, report, "bound")
    else:
        _forget(state, call_id, call)
    report.rows([("tool_calls", lone_leg(row))])
    _flag(state, report)


def _flag(state: RunState, report: Report) -> None:
    if Failure.RUN_OVER_BOUND.name not in state.reported:
        state.reported.append(Failure.RUN_OVER_BOUND.name)
        report.fail(Failure.RUN_OVER_BOUND)


def _grow(state: RunState, call: Call, size: int) -> None:
    call.bytes += size
    state.open_bytes += size


def _fitting(part: Row, content: str) -> bytes:
    """A part that an event told of, as it is remembered. Content that is too large for that stays in the event."""
    whole = packed(part)
    return whole if len(whole) <= MOST_BYTES else packed(part | {content: None})


def _close(state: RunState, call_id: str, call: Call, report: Report, closed_by: str) -> None:
    _forget(state, call_id, call)
    state.tool_calls += 1
    row = call.row(call_id, callers(state.parents, call_id), closed_by)
    report.rows([("tool_calls", row)])
    about = _about(row)
    if not row["missing"]:
        state.tool_calls_joined += 1
    if not call.has_result():
        state.results_missing += 1
        report.fail(Failure.MISSING_TOOL_RESULT, f"closed by {closed_by}", **about)
    elif not call.was_asked_for():
        report.fail(Failure.UNREQUESTED_RESULT, **about)
    if call.has_result() and call.was_asked_for() and not {"pre", "post"} <= call.legs.keys():
        report.fail(Failure.HOOKS_DID_NOT_RUN, f"missing {', '.join(row['missing'])}", **about)


def _forget(state: RunState, call_id: str, call: Call) -> None:
    del state.calls[call_id]
    state.open_bytes -= call.bytes
    state.closed.add(call_id)


def _about(row: Row) -> dict[str, Any]:
    return {"event_id": row["event_id"], "step_id": row["step_id"], "tool_use_id": row["tool_use_id"]}
