"""What is still to be served of one run. Pure: finds the recorded call that a new one repeats, or says what differs.

A call is known by its content hash. Calls with equal content are served in their order, and a call may come before
another only if the two overlapped in time when they were recorded: concurrent code may finish in any order.
"""

from collections.abc import Callable

from tachograph.producers.replay.divergence import Divergence, DivergenceKind
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.recording import RecordedDecision, RecordedModelCall, RecordedToolCall, Recording

Item = RecordedModelCall | RecordedToolCall | RecordedDecision
Captured = Callable[[CaptureMode], str]
"""Hash of the given content as captured in a mode."""


class Tape:
    """The calls and decisions of one run that were not served yet. Not safe for threads: the replay locks."""

    def __init__(self, recording: Recording, run_id: str) -> None:
        self._run_id = run_id
        self._models = [call for call in recording.model_calls if call.run_id == run_id]
        self._tools = [call for call in recording.tool_calls if call.run_id == run_id]
        self._decisions = [item for item in recording.decisions if item.run_id == run_id]
        self.served = 0

    def model_call(self, model: str, sent: str | None, captured: Captured) -> RecordedModelCall | Divergence:
        """The completion of a prompt."""

        def repeats(call: RecordedModelCall) -> bool:
            if sent is not None and call.prompt_bundle_hash == sent:
                return True
            return call.captured_hash == captured(call.capture_mode)

        found = next((call for call in self._models if repeats(call)), None)
        name = f"model {model}"
        if found is None:
            if not self._models:
                return self._differs(DivergenceKind.UNEXPECTED_CALL, name, got=sent)
            expected = self._models[0]
            got = sent or captured(expected.capture_mode)
            return self._differs(DivergenceKind.PROMPT_CHANGED, name, expected, got)
        late = self._overdue(found)
        if late is not None:
            return self._differs(DivergenceKind.ORDER_CHANGED, name, late, _hash(found))
        self._models.remove(found)
        self.served += 1
        return found

    def tool_call(self, tool_name: str, captured: Captured, *, skipped: bool) -> RecordedToolCall | Divergence:
        """What became of a tool call."""
        named = [call for call in self._tools if call.tool_name == tool_name]
        found = next((call for call in named if call.input_hash in {None, captured(call.capture_mode)}), None)
        name = f"tool {tool_name}"
        if found is None:
            if not self._tools:
                return self._differs(DivergenceKind.UNEXPECTED_CALL, name, got=captured(CaptureMode.REDACTED))
            kind = DivergenceKind.TOOL_INPUT_CHANGED if named else DivergenceKind.TOOL_CHANGED
            expected = (named or self._tools)[0]
            return self._differs(kind, name, expected, captured(expected.capture_mode))
        if found.skipped != skipped:
            return self._differs(DivergenceKind.HOOK_CHANGED, name, found, found.input_hash)
        late = self._overdue(found)
        if late is not None:
            return self._differs(DivergenceKind.ORDER_CHANGED, name, late, _hash(found))
        self._tools.remove(found)
        self.served += 1
        return found

    def decision(self, decision_hash: str) -> Divergence | None:
        """Take note of a decision; None if it was taken then, too."""
        found = next((item for item in self._decisions if item.decision_hash == decision_hash), None)
        if found is None:
            if not self._decisions:
                return self._differs(DivergenceKind.UNEXPECTED_CALL, "decision", got=decision_hash)
            return self._differs(DivergenceKind.DECISION_CHANGED, "decision", self._decisions[0], decision_hash)
        self._decisions.remove(found)
        self.served += 1
        return None

    def left(self) -> Divergence | None:
        """What should have come, now that the run is over."""
        missing: list[Item] = [
            *self._models,
            *self._tools,
            *self._decisions,
        ]
        if not missing:
            return None
        first = min(missing, key=lambda item: item.decided_at if isinstance(item, RecordedDecision) else item.began_at)
        return self._differs(DivergenceKind.MISSING_CALL, _name(first), first)

    def _overdue(self, call: RecordedModelCall | RecordedToolCall) -> RecordedModelCall | RecordedToolCall | None:
        waiting: list[RecordedModelCall | RecordedToolCall] = [*self._models, *self._tools]
        return next((other for other in waiting if other is not call and other.ended_at < call.began_at), None)

    def _differs(
        self, kind: DivergenceKind, call: str, expected: Item | None = None, got: str | None = None
    ) -> Divergence:
        return Divergence(
            kind=kind,
            run_id=self._run_id,
            call=call,
            place=self.served,
            expected_call=None if expected is None else _name(expected),
            expected=None if expected is None else _hash(expected),
            got=got,
        )


def _hash(item: Item) -> str | None:
    if isinstance(item, RecordedDecision):
        return item.decision_hash
    return item.input_hash if isinstance(item, RecordedToolCall) else item.prompt_bundle_hash or item.captured_hash


def _name(item: Item) -> str:
    if isinstance(item, RecordedDecision):
        return "decision"
    return f"tool {item.tool_name}" if isinstance(item, RecordedToolCall) else f"model {item.model}"
