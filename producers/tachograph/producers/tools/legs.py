"""The witness of a tool call inside a run: writes its legs, keeps its output for faults, and watches for them."""

from collections.abc import Hashable
from contextvars import Token
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tachograph.producers import position
from tachograph.producers.errors import RecorderStop
from tachograph.producers.hooks.types import ToolUseContext
from tachograph.producers.pointers import pair
from tachograph.producers.position import Position
from tachograph.producers.recorder import error_name
from tachograph.producers.tools.conduct import Outcome, Telling
from tachograph.producers.tools.leg_bytes import CallIdentity, leg_tail
from tachograph.schemas.enums import FaultTrigger, ToolLeg

if TYPE_CHECKING:
    from tachograph.producers.run import Run

RECORD_NAME: Final = "ToolCallRecord"
NANOS_PER_MS: Final = 1_000_000


class CallLegs:
    """Witness of one call. Recording must not break it: every method ends in the guard, but for stops."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._recorder = run.recorder
        self._span_id = run.recorder.ids.span_id()
        self.steady_ns = run.recorder.clock.steady_ns
        around = position.current_position()
        self._step = around.step if around is not None and around.run is run else None
        self._telling: Telling | None = None
        self._shared: CallIdentity | None = None
        self._call: Hashable = None
        """What tells this call from others in the eyes of the loop guard."""
        self._looped: bool | None = None
        self._output: str | None = None
        self._given: tuple[str | None, dict[str, Any] | None] = (None, None)
        self._tool_name = ""

    def shown(self, name: str) -> str:
        """The name as records carry it."""
        return self._recorder.label(name) or "unnamed"

    def hook_failed(self, outcome: Outcome) -> None:
        """Count it; the leg's record has the rest."""
        self._recorder.guard.note(f"hook {outcome.stage.value}", self.shown(outcome.error_type or ""))

    def before(self, telling: Telling) -> None:
        """Write the pre leg."""
        try:
            self._before(telling)
        except RecorderStop:
            raise
        except Exception as error:  # noqa: BLE001 - the guard decides
            self._recorder.channel.lose(RECORD_NAME)
            self._recorder.guard.swallow("tool call", error)

    def inside(self, telling: Telling) -> Token[Position | None]:  # noqa: ARG002 - the seam's shape
        """What the tool records hangs on this call's span."""
        return position.enter(Position(self._run, self._step, self._span_id))

    def outside(self, token: Token[Position | None]) -> None:
        """Back to where the call was made."""
        position.leave(token)

    def after(self, telling: Telling) -> None:
        """Write the post leg; see whether there is a fault."""
        try:
            self._after(telling)
        except RecorderStop:
            raise
        except Exception as error:  # noqa: BLE001 - the guard decides
            self._recorder.channel.lose(RECORD_NAME)
            self._recorder.guard.swallow("tool call", error)
        self._watch(telling)

    def handed_back(self, telling: Telling) -> None:
        """Write the result leg. It repeats no content: the post leg has what the agent gets."""
        if not self._begun:
            return
        duration = telling.duration_ns // NANOS_PER_MS
        failed = None if telling.error is None else self._recorder.label(error_name(telling.error), 200)
        tail = leg_tail(
            self._identity, ToolLeg.RESULT, duration_ms=duration, error_type=failed, skipped=telling.skipped
        )
        self._recorder.channel.emit(RECORD_NAME, tail, span_id=self._span_id)

    @property
    def _begun(self) -> bool:
        """Whether the call could be named: without that there is nothing to tell of it."""
        return self._telling is not None

    def _identify(self, telling: Telling) -> None:
        self._tool_name = self._recorder.label(telling.context.tool_name) or "unnamed"
        self._telling = telling

    @property
    def _identity(self) -> CallIdentity:
        """What all legs share. Two threads may both make it; they make the same."""
        if self._shared is None:
            assert self._telling is not None
            self._shared = CallIdentity(
                self._telling.context,
                self._telling.execution,
                tool_name=self._tool_name,
                span_id=self._span_id,
                step_id=None if self._step is None else self._step.step_id,
                capture_mode=self._recorder.policy.mode.value,
            )
        return self._shared

    def _before(self, telling: Telling) -> None:
        recorder, context = self._recorder, telling.context
        self._identify(telling)
        captured = recorder.policy.value(context.tool_input)
        self._call = captured.text
        inline, pointer = self._given = (captured.text, None) if captured.pointer is None else pair(captured)
        tail = leg_tail(
            self._identity,
            ToolLeg.PRE,
            tool_input=inline,
            input_pointer=pointer,
            skipped=telling.skipped,
            outcomes=self._outcomes(telling.outcomes),
            metadata=recorder.metadata(telling.metadata),
        )
        at = recorder.clock.now_micros()
        recorder.channel.emit(RECORD_NAME, tail, at=at, span_id=self._span_id)
        if self._run.audit is not None:
            self._run.audit.log_tool_start(self._named(context), captured.text, at=at)

    def _after(self, telling: Telling) -> None:
        recorder = self._recorder
        if not self._begun:
            return
        duration = telling.duration_ns // NANOS_PER_MS
        inline = pointer = error_type = error_text = None
        if telling.error is not None:
            error_type = recorder.label(error_name(telling.error), 200)
            self._output = error_text = recorder.policy.text(_text_of(telling.error)).text
        elif not telling.skipped:
            captured = recorder.policy.value(telling.output)
            self._output = captured.text
            inline, pointer = (captured.text, None) if captured.pointer is None else pair(captured)
        tail = leg_tail(
            self._identity,
            ToolLeg.POST,
            output=inline,
            output_pointer=pointer,
            duration_ms=duration,
            error_type=error_type,
            error=error_text,
            skipped=telling.skipped,
            outcomes=self._outcomes(telling.outcomes),
            metadata=recorder.metadata(telling.metadata),
        )
        at = recorder.clock.now_micros()
        recorder.channel.emit(RECORD_NAME, tail, at=at, span_id=self._span_id)
        if error_type is None and not telling.skipped:
            self._run.observed.calls[telling.context.tool_use_id] = (self._tool_name, at)
            if pointer is not None:
                self._run.observed.stored(pointer, at)
        name, output = self._tool_name, (inline if error_text is None else error_text, pointer)
        self._run.transcript.called(
            telling.context.tool_use_id, name, self._given, output, error_type, skipped=telling.skipped
        )
        self._run.results.add(
            tool_call_id=telling.context.tool_use_id,
            name=self._tool_name,
            output=inline if error_text is None else error_text,
            output_pointer=pointer,
            is_error=telling.error is not None,
            duration_ms=duration,
        )
        if self._run.audit is not None:
            self._run.audit.log_tool_complete(
                self._named(telling.context),
                self._output if telling.error is None else None,
                duration,
                error_text,
                at=at,
            )

    def _watch(self, telling: Telling) -> None:
        """Keep the raw output, and take a capture if the call was a fault. Raises SystemErrorStop if it is not kept."""
        faults = self._run.faults
        step_id = None if self._step is None else self._step.step_id
        tool_use_id = telling.context.tool_use_id
        error = telling.error
        if error is None:
            if not telling.skipped:
                faults.saw_output(step_id, tool_use_id, telling.output)
            if not self._loops():
                return
        if isinstance(error, Exception) and not isinstance(error, RecorderStop):
            self._run.seen(error)
            trigger = FaultTrigger.TOOL_TIMEOUT if isinstance(error, TimeoutError) else FaultTrigger.TOOL_ERROR
            faults.fault(trigger, error=error, step_id=step_id, span_id=self._span_id, tool_use_id=tool_use_id)
        elif self._loops():
            faults.fault(
                FaultTrigger.LOOP_GUARD,
                error_type="LoopGuard",
                step_id=step_id,
                span_id=self._span_id,
                tool_use_id=tool_use_id,
            )

    def _loops(self) -> bool:
        """Whether this call is one too many of its kind. Counted when first asked."""
        if self._looped is None:
            self._looped = self._call is not None and self._run.faults.loops(self._tool_name, self._call)
        return self._looped

    def _named(self, context: ToolUseContext) -> ToolUseContext:
        return replace(context, tool_name=self._tool_name)

    def _outcomes(self, outcomes: list[Outcome]) -> list[Outcome]:
        if not outcomes:
            return outcomes
        label = self._recorder.label
        return [
            outcome._replace(
                hook=label(outcome.hook, 200) or "unnamed",
                reason=label(outcome.reason, 500),
                error_type=None if outcome.error_type is None else label(outcome.error_type, 200),
            )
            for outcome in outcomes
        ]


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the guard decides
        return ""
