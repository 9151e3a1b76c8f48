"""A tool call while its parts come in, and the one row it becomes. Any order of the parts gives the same row.

The parts wait as the JSON that they are in the run's state: a third of what dicts take, and measured and saved without
being written again.
"""

from typing import Any, Final

import orjson

from tachograph.processors.bounds import packed, state_bytes
from tachograph.processors.rows.shared import Row

_LEGS: Final = ("pre", "post", "result")
_NEWEST_FIRST: Final = ("result", "post", "pre")
_STRENGTH: Final = {"": 0, "continue": 1, "skip": 2, "abort": 3}


class Call:
    """Parts of one tool call that have arrived."""

    __slots__ = ("bytes", "handed", "legs", "request", "since")

    def __init__(self, since: int) -> None:
        self.since = since
        """Broker time of the first part that arrived."""
        self.legs: dict[str, bytes] = {}
        """Rows of the pre, post and result legs, as they came."""
        self.request: bytes | None = None
        """That a model asked for it: the event's identity, the tool, its arguments."""
        self.handed: bytes | None = None
        """That an event lists its result: the event's identity, and the result."""
        self.bytes: int = 0
        """What its id and its parts take in a state."""

    def has_parts(self) -> bool:
        """Whether anything of it is there."""
        return bool(self.legs) or self.request is not None or self.handed is not None

    def is_whole(self) -> bool:
        """Whether every part is there, so that nothing more is to come."""
        return self.request is not None and len(self.legs) == len(_LEGS)

    def missing(self) -> list[str]:
        """Legs that are not there. A result that an event lists was handed over, leg or not."""
        return [leg for leg in _LEGS if leg not in self.legs and not (leg == "result" and self.handed is not None)]

    def has_result(self) -> bool:
        """Whether anything came back from the tool to the agent."""
        return "result" in self.legs or self.handed is not None

    def was_asked_for(self) -> bool:
        """Whether a model asked for it, or the agent began it at the boundary."""
        return self.request is not None or "pre" in self.legs

    def row(self, tool_use_id: str, attribution: list[str], closed_by: str) -> Row:
        """The row of ``tool_calls``."""
        legs: dict[str, Row] = {leg: orjson.loads(row) for leg, row in self.legs.items()}
        request, handed = _read(self.request), _read(self.handed)
        newest = next((legs[leg] for leg in _NEWEST_FIRST if leg in legs), None)
        base: Row = newest if newest is not None else _without_legs(tool_use_id, request, handed)
        missing = self.missing()
        parts = [part for part in (request, *(legs[leg] for leg in _LEGS if leg in legs)) if part is not None]
        requested_at = _time(request)
        started_at, finished_at = _time(legs.get("pre")), _time(legs.get("post"))
        handed_at = _time(legs.get("result")) or _time(handed)
        began, hooks = requested_at or started_at, _hooks(legs)
        row = {
            **base,
            "leg": "call",
            "occurred_at": started_at or requested_at or base["occurred_at"],
            "received_at": max([part["received_at"] for part in parts] or [base["received_at"]]),
            "tool_input": _first("tool_input", legs, ("pre", "post", "result")),
            "input_artifact_id": _first("input_artifact_id", legs, ("pre", "post", "result")),
            "output": _first("output", legs, ("post", "result", "pre")),
            "output_artifact_id": _first("output_artifact_id", legs, ("post", "result", "pre")),
            "duration_ms": _first("duration_ms", legs, ("post", "result")),
            "error_type": _first("error_type", legs, ("post", "result", "pre")),
            "error": _first("error", legs, ("post", "result", "pre")),
            "skipped": any(leg["skipped"] for leg in legs.values()),
            "hooks": hooks,
            "metadata": _metadata(legs),
            "event_ids": [legs[leg]["event_id"] for leg in _LEGS if leg in legs],
            "requested": request is not None,
            "requested_event_id": None if request is None else request["event_id"],
            "arguments": None if request is None else request["arguments"],
            "requested_at": requested_at,
            "started_at": started_at,
            "finished_at": finished_at,
            "handed_at": handed_at,
            "latency_ms": None if handed_at is None or began is None else max(0, handed_at - began) // 1000,
            "attribution": attribution,
            "hook_action": max((hook["action"] for hook in hooks), key=lambda word: _STRENGTH.get(word, 0), default=""),
            "complete": not missing,
            "missing": missing,
            "closed_by": closed_by,
        }
        if handed is not None and row["output"] is None and row["output_artifact_id"] is None:
            row["output"], row["output_artifact_id"] = handed["output"], handed["output_artifact_id"]
        if handed is not None and row["duration_ms"] is None:
            row["duration_ms"] = handed["duration_ms"]
        row["result_is_error"] = row["error_type"] is not None or (handed is not None and handed["is_error"])
        return row

    def to_json(self) -> list[Any]:
        """As part of a state."""
        legs = {leg: orjson.Fragment(row) for leg, row in self.legs.items()}
        return [self.since, legs, _as_is(self.request), _as_is(self.handed)]

    @classmethod
    def from_json(cls, call_id: str, value: list[Any]) -> "Call":
        """Read :meth:`to_json` back."""
        call = cls(value[0])
        call.legs = {leg: packed(row) for leg, row in value[1].items()}
        call.request, call.handed = (None if part is None else packed(part) for part in value[2:])
        parts = (*call.legs.values(), call.request, call.handed)
        call.bytes = state_bytes(call_id) + sum(len(part) for part in parts if part is not None)
        return call


def _read(part: bytes | None) -> Row | None:
    row: Row | None = None if part is None else orjson.loads(part)
    return row


def _as_is(part: bytes | None) -> orjson.Fragment | None:
    return None if part is None else orjson.Fragment(part)


_UNJOINED: Final[Row] = {
    "event_ids": [],
    "requested": False,
    "requested_event_id": None,
    "arguments": None,
    "requested_at": None,
    "started_at": None,
    "finished_at": None,
    "handed_at": None,
    "latency_ms": None,
    "attribution": [],
    "hook_action": "",
    "result_is_error": False,
    "complete": False,
    "missing": [],
    "closed_by": "",
}


def lone_leg(row: Row) -> Row:
    """Row of a leg that could not be joined."""
    return row | _UNJOINED | {"event_ids": [row["event_id"]], "result_is_error": row["error_type"] is not None}


def _without_legs(tool_use_id: str, request: Row | None, handed: Row | None) -> Row:
    known = request if request is not None else handed
    assert known is not None
    return {name: known[name] for name in _IDENTITY} | {
        "tool_use_id": tool_use_id,
        "tool_name": known["name"],
        "span_id": None,
        "step_id": known["step_id"],
        "task_id": None,
        "parent_tool_use_id": None,
        "phase": "",
        "depth": 0,
        "capture_mode": known["capture_mode"],
    }


_IDENTITY: Final = ("tenant_id", "agent_id", "run_id", "trace_id", "event_id", "seq", "occurred_at", "received_at")


def _time(part: Row | None) -> int | None:
    return None if part is None else part["occurred_at"]


def _first(name: str, legs: dict[str, Row], order: tuple[str, ...]) -> Any:
    return next((legs[leg][name] for leg in order if leg in legs and legs[leg][name] is not None), None)


def _hooks(legs: dict[str, Row]) -> list[Row]:
    hooks: list[Row] = []
    for leg in _LEGS:
        if leg in legs:
            hooks += [hook for hook in legs[leg]["hooks"] if hook not in hooks]
    return hooks


def _metadata(legs: dict[str, Row]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for leg in _LEGS:
        if leg in legs:
            merged |= legs[leg]["metadata"]
    return merged
