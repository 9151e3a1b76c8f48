"""What all methods of a run stand on: who it is, what it records through, where in it the current code is."""

from contextvars import Token
from typing import TYPE_CHECKING, Any, cast

from tachograph.producers import checks, position
from tachograph.producers.audit import AuditTrail
from tachograph.producers.errors import RecordRefusedError, SystemErrorStop
from tachograph.producers.faults import Faults
from tachograph.producers.observed import Observed
from tachograph.producers.position import Position
from tachograph.producers.recorder import Recorder
from tachograph.producers.results import PendingResults
from tachograph.producers.run_start import RunStart
from tachograph.producers.step import Step
from tachograph.producers.tools.executor import ToolExecutor
from tachograph.producers.transcript import Transcript
from tachograph.schemas.enums import PHASES, FaultTrigger, RunStatus

if TYPE_CHECKING:
    from tachograph.producers.artifacts import ArtifactBuilder
    from tachograph.producers.replay.session import RunReplay
    from tachograph.producers.run.life import Run
    from tachograph.producers.tracer import Tracer


class RunCore:
    """State of one run, and its questions about itself."""

    def __init__(
        self, tracer: "Tracer", recorder: Recorder, start: RunStart, replay: "RunReplay | None" = None
    ) -> None:
        self._whole = cast("Run", self)
        """What the parts of a run are given."""
        self._tracer = tracer
        self._start = start
        self.recorder = recorder
        self.agent_id = tracer.agent_id
        self.replay = replay
        """What serves the run's calls, if it is one that is run again."""
        self.run_id = start.run_id
        self.trace_id = start.trace_id
        self.session_id = start.session_id
        self.session_body = start.session_body
        self.request_body = start.request_body
        self.audit: AuditTrail | None = None
        self.results = PendingResults()
        self.transcript = Transcript()
        self.observed = Observed()
        self._artifacts: ArtifactBuilder | None = None
        self.faults = Faults(
            recorder, start.run_id, tracer.capture_key, self._stopping, loop_threshold=tracer.options.loop_threshold
        )
        self.tools = ToolExecutor(
            tracer.tools,
            tracer.hooks,
            run=self._whole,
            hook_timeout=tracer.options.hook_timeout,
            tool_timeout=tracer.options.tool_timeout,
            on_hook_error=tracer.options.on_hook_error,
        )
        self._status: RunStatus | None = None
        self._error_type: str | None = None
        self._stop: SystemErrorStop | None = None
        self._outermost = Position(self._whole, None, start.parent_span_id)
        self._token: Token[Position | None] | None = None
        self._steps: dict[str, Step] = {}
        self._tokens: list[int | None] = [None, None]
        self._model_calls = 0
        self._began = 0
        self._duration = 0
        self._is_open = False
        self.wants_manifests = tracer.options.manifests == "every_step"

    def check_going(self) -> None:
        """Raise the stop again if the run was stopped."""
        if self._stop is not None:
            raise self._stop

    def position(self) -> Position:
        """The current place in this run."""
        around = position.current_position()
        return around if around is not None and around.run is self._whole else self._outermost

    def current_step(self) -> Step | None:
        """The innermost step of this run around the current code."""
        return self.position().step

    def names(self, *given: str | None) -> tuple[str | None, ...]:
        """Names that the user gave, fit for records."""
        label = self.recorder.label
        return tuple(checks.maybe_name(name, label) for name in given)

    def phase(self, given: str | None) -> str | None:
        """The phase of a tool call. Another word than the four is refused: hooks that go by phases would miss it."""
        if given is None or given in PHASES:
            return given
        self.recorder.guard.swallow("phase", RecordRefusedError("phase", f"is one of {', '.join(PHASES)}"))
        return None

    def opened(self, step: Step) -> None:
        """A step began."""
        self._steps[step.step_id] = step

    def closed(self, step: Step) -> None:
        """A step ended."""
        self._steps.pop(step.step_id, None)

    def _fault(self, trigger: FaultTrigger, **fields: Any) -> tuple[str, ...]:
        around = self.position()
        step_id = None if around.step is None else around.step.step_id
        return self.faults.fault(trigger, step_id=step_id, span_id=around.span_id, **fields)

    def _stopping(self, sentence: str, missing: str) -> SystemErrorStop:
        self._stop = SystemErrorStop(f"{sentence}; the run ends with SYSTEM_ERROR", missing=missing)
        self._fault(FaultTrigger.SYSTEM_ERROR, error=self._stop, error_type="SystemErrorStop", missing_pointer=missing)
        return self._stop

    def _step_id(self, given: str | None) -> str | None:
        if given is not None:
            return checks.maybe_name(given, self.recorder.label)
        step = self.current_step()
        return None if step is None else step.step_id
