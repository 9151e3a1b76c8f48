"""A run: everything an agent does for one request, from its first record to its last."""

from collections.abc import Callable, Iterable, Mapping
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from tachograph.producers import checks, lifetimes, position
from tachograph.producers.actions import Acting
from tachograph.producers.audit import AuditTrail
from tachograph.producers.decision_event import event_body
from tachograph.producers.errors import HookAbortError, RecorderStop, SystemErrorStop
from tachograph.producers.faults import Faults
from tachograph.producers.manifest import ContextBuilder
from tachograph.producers.model.call import ModelCall
from tachograph.producers.model.response import ModelResponse
from tachograph.producers.observations import decision_body, signal_body
from tachograph.producers.position import Position
from tachograph.producers.proposals import proposal_body
from tachograph.producers.recorder import Recorder, error_name
from tachograph.producers.repair import Repair
from tachograph.producers.results import PendingResults
from tachograph.producers.run_start import RunStart
from tachograph.producers.step import Step
from tachograph.producers.tools.conduct import Witness
from tachograph.producers.tools.executor import ToolExecutor
from tachograph.producers.tools.late_legs import LateLegs
from tachograph.producers.tools.legs import CallLegs
from tachograph.schemas.enums import ActionType, DecisionType, FaultTrigger, RunStatus, SignalType

if TYPE_CHECKING:
    from tachograph.producers.artifacts import ArtifactBuilder
    from tachograph.producers.tracer import Tracer

T = TypeVar("T")
_NANOS_PER_MS = 1_000_000
_REPORTED = "__tachograph_reported__"


class Run:
    """One run. Made by ``Tracer.start_run``; a context manager, plain or async. Safe to use from many threads.

    Its methods record and return; they raise nothing, but for the stops in ``errors`` and for what the agent's own
    code raises. Ids they return are None where the record could not be kept.
    """

    def __init__(self, tracer: "Tracer", recorder: Recorder, start: RunStart) -> None:
        self._tracer = tracer
        self._start = start
        self.recorder = recorder
        self.run_id = start.run_id
        self.trace_id = start.trace_id
        self.session_id = start.session_id
        self.session_body = start.session_body
        self.request_body = start.request_body
        self.audit: AuditTrail | None = None
        self.results = PendingResults()
        self._artifacts: ArtifactBuilder | None = None
        self.faults = Faults(
            recorder, start.run_id, tracer.capture_key, self._stopping, loop_threshold=tracer.options.loop_threshold
        )
        self.tools = ToolExecutor(
            tracer.tools,
            tracer.hooks,
            run=self,
            hook_timeout=tracer.options.hook_timeout,
            tool_timeout=tracer.options.tool_timeout,
            on_hook_error=tracer.options.on_hook_error,
        )
        self._status: RunStatus | None = None
        self._error_type: str | None = None
        self._stop: SystemErrorStop | None = None
        self._outermost = Position(self, None, start.parent_span_id)
        self._token: Token[Position | None] | None = None
        self._steps: dict[str, Step] = {}
        self._tokens: list[int | None] = [None, None]
        self._model_calls = 0
        self._began = 0
        self._duration = 0
        self._is_open = False
        self.wants_manifests = tracer.options.manifests == "every_step"

    # Life

    def start(self) -> Self:
        """Record the run's start. ``with`` does this."""
        self._began = self.recorder.clock.steady_ns()
        self.audit = self._tracer.audit_trail(self.session_id)
        self.recorder.audit = self.audit
        self.recorder.record("RunStarted", lambda: self._start.body(self.recorder), at=self._start.at)
        # Entered last: a start that raises leaves nothing behind.
        self._is_open = True
        self._token = position.enter(self._outermost)
        lifetimes.opened(self)
        return self

    def close(self, error: BaseException | None = None, *, status: RunStatus | None = None) -> None:
        """Record the run's end. ``with`` does this. A run is closed once; later calls do nothing."""
        if not self._is_open:
            return
        self._is_open = False
        if self._token is not None:
            position.leave(self._token)
        if isinstance(error, Exception) and not isinstance(error, RecorderStop):
            self.report(error)
        self._status = self._stop_status() or status or _status(error) or self._status or RunStatus.SUCCEEDED
        if error is not None and self._error_type is None:
            self._error_type = error_name(error)
        self._duration = (self.recorder.clock.steady_ns() - self._began) // _NANOS_PER_MS
        self.finish()
        if self.audit is not None:
            self.audit.close()

    def finish(self) -> bool:
        """Publish RunEnded. True if it is kept; the tracer tries again later if not."""
        try:
            ended = self.recorder.channel.end(self._ended_body)
        except Exception as error:  # noqa: BLE001 - the guard decides
            self.recorder.guard.swallow("RunEnded", error)
            ended = False
        if ended:
            lifetimes.ended(self)
        return ended

    @property
    def is_open(self) -> bool:
        """Whether the run has started and not been closed."""
        return self._is_open

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    # Steps, model calls, actions

    def step(
        self, step_type: str, name: str, *, step_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Step:
        """A step: ``with run.step("tool", "fetch_data") as step``. Steps nest."""
        return Step(self, step_type, name, step_id=step_id, metadata=metadata)

    @overload
    def model_call(self, function: None = None, /, *, model: str, **fields: Any) -> ModelCall: ...

    @overload
    def model_call(self, function: Callable[..., T], /, *, model: str, **fields: Any) -> T: ...

    def model_call(self, function: Callable[..., Any] | None = None, /, *, model: str, **fields: Any) -> Any:
        """A model call at the boundary, in one of three uses.

        ::

            answer = run.model_call(client.create, model="m-1", messages=messages, temperature=0)   # call it now
            with run.model_call(model="m-1", messages=messages) as call:                            # around other code
                call.record(client.create(messages))
            @run.model_call(model="m-1")                                                            # around each call
            def ask(messages): ...

        With a function, it is called with ``model``, ``messages``, ``system``, ``tools`` and whatever else is given;
        ``provider, retrieval, transformations, parameters, capture_mode, action_type, summary, evaluation, sent_hash,
        reader`` are for the record only. Returns what the function returns: an awaitable, if it is async.
        """
        if function is None:
            return ModelCall(self, model=model, **fields)
        recorded = {name: fields.pop(name) for name in list(fields) if name in _RECORD_ONLY}
        return ModelCall(self, model=model, **recorded).around(function, (), {"model": model, **fields})

    def action(
        self,
        action_type: ActionType | str,
        summary: str,
        *,
        artifacts: Iterable[Any] = (),
        evaluation: Any = None,
        overrides_event_id: str | None = None,
    ) -> str | None:
        """Record an action boundary: an edit, a test run, a pull request, a deployment. Returns its event id.

        Actions that involve code carry artifacts; ``run.artifacts`` builds them.
        """
        self.check_going()
        span_id = self.recorder.ids.span_id()
        around = self.position()
        return self.recorder.record(
            "DecisionEvent",
            lambda: event_body(
                self,
                span_id=span_id,
                parent_span_id=around.span_id,
                step_id=None if around.step is None else around.step.step_id,
                action_type=action_type,
                summary=summary,
                policy=self.recorder.policy,
                artifacts=artifacts,
                evaluation=evaluation,
                overrides_event_id=overrides_event_id,
            ),
            span_id=span_id,
        )

    def acting(self, action_type: ActionType | str, summary: str, *, artifacts: Iterable[Any] = ()) -> Acting:
        """The same around code that does it: a context manager that collects artifacts, or a decorator."""
        return Acting(self, action_type, summary, artifacts)

    @property
    def artifacts(self) -> "ArtifactBuilder":
        """Builds artifacts in the run's capture mode: file edits, commands, test runs, pull requests, commits."""
        if self._artifacts is None:
            from tachograph.producers.artifacts import ArtifactBuilder  # noqa: PLC0415 - brings pydantic

            self._artifacts = ArtifactBuilder(self.recorder.policy)
        return self._artifacts

    def no_op(self, reason: str) -> str | None:
        """The agent decided to do nothing, and says why."""
        return self.action(ActionType.NO_OP, reason)

    def override(self, event_id: str, *, reason: str, artifacts: Iterable[Any] = ()) -> str | None:
        """A human set an event aside, now or in retrospect."""
        return self.action(ActionType.OVERRIDE, reason, artifacts=artifacts, overrides_event_id=event_id)

    # Observations

    def record_decision(
        self,
        *,
        decision_type: DecisionType | str,
        selected: str,
        reason_code: str,
        candidates: Iterable[str] = (),
        confidence: float | None = None,
        step_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str | None:
        """The agent chose between options. The step is the current one unless given."""
        return self.recorder.record(
            "AgentDecision",
            lambda: decision_body(
                self.recorder,
                decision_type=decision_type,
                selected=selected,
                reason_code=reason_code,
                candidates=candidates,
                confidence=confidence,
                step_id=self._step_id(step_id),
                metadata=metadata,
            ),
        )

    def record_quality_signal(
        self,
        *,
        signal_type: SignalType | str,
        signal_code: str,
        value: bool,
        weight: float | None = None,
        step_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str | None:
        """A fact correlated with the quality of the outcome. The step is the current one unless given."""
        return self.recorder.record(
            "AgentQualitySignal",
            lambda: signal_body(
                self.recorder,
                signal_type=signal_type,
                signal_code=signal_code,
                value=value,
                weight=weight,
                step_id=self._step_id(step_id),
                metadata=metadata,
            ),
        )

    def propose_record(self, **fields: Any) -> str | None:
        """Propose a governed decision, to be checked and sealed. Returns the event id.

        Fields are those of RecordProposal, less the envelope; ``record_id`` is made if not given.
        """
        return self.recorder.record("RecordProposal", lambda: proposal_body(self.recorder, fields))

    # Context

    def context(self, step: Step | str | None = None, **fields: Any) -> ContextBuilder:
        """Build the context manifest of a step (the current one unless given). See ContextBuilder."""
        given = step.step_id if isinstance(step, Step) else step
        return ContextBuilder(self, self._step_id(given) or self.run_id, **fields)

    def record_manifest(
        self,
        step: Step | str | None = None,
        *,
        included: Iterable[Mapping[str, Any]] = (),
        excluded: Iterable[Mapping[str, Any]] = (),
        retrieval: Mapping[str, Any] | None = None,
        prefix: str | bytes = b"",
        **fields: Any,
    ) -> str | None:
        """Record a context manifest in one call; the arguments of ContextBuilder's methods as mappings."""
        builder = self.context(step, **fields)
        if retrieval is not None:
            builder.retrieved(**retrieval)
        for item in included:
            builder.include(**item)
        for item in excluded:
            builder.exclude(**item)
        return builder.prefix(prefix).record()

    def write_manifest(self, step_id: str, body: Callable[[str], dict[str, Any]]) -> str | None:
        """Record a manifest, or end the run as SYSTEM_ERROR."""
        self.check_going()
        manifest_id = self.recorder.ids.uuid()
        event_id = self.recorder.record("ContextManifest", lambda: body(manifest_id))
        if event_id is None and not self.recorder.channel.is_foreign:
            raise self._stopping("a context manifest could not be kept", f"manifest:{manifest_id}")
        if step_id in self._steps:
            self._steps[step_id].has_manifest = True
        return event_id

    # Failures and faults

    def fail(
        self, error: BaseException | str, *, message: str = "", metadata: Mapping[str, Any] | None = None
    ) -> str | None:
        """Something went wrong that raised nothing. The run ends as failed. Give the error, or its type as a word."""
        self._status = RunStatus.FAILED
        raised = error if isinstance(error, BaseException) else None
        self._error_type = error_name(raised) if raised is not None else str(error)
        around = self.position()
        return self.faults.failure(
            error=raised,
            error_type=self._error_type,
            message=message,
            step_id=None if around.step is None else around.step.step_id,
            span_id=around.span_id,
            metadata=metadata,
        )

    def debug_snapshot(self) -> tuple[str, ...]:
        """Capture the current step's prompt and tool outputs, because somebody asked. Returns the capture ids."""
        return self._fault(FaultTrigger.DEBUG_REQUEST, error_type="DebugRequest")

    def missing_pointer(self, pointer: str) -> tuple[str, ...]:
        """A manifest, a piece of evidence or an artifact that the agent needs cannot be resolved."""
        return self._fault(FaultTrigger.MISSING_POINTER, error_type="MissingPointer", missing_pointer=pointer)

    def system_error(self, error: BaseException | str) -> SystemErrorStop:
        """The agent's own machinery is broken: capture what there is, end the run as SYSTEM_ERROR. Raise the result."""
        raised = error if isinstance(error, BaseException) else None
        kind = error_name(raised) if raised is not None else str(error)
        self._fault(FaultTrigger.SYSTEM_ERROR, error=raised, error_type=kind)
        self._stop = SystemErrorStop("the agent reported a system error", missing="")
        return self._stop

    def schema_repair(
        self,
        value: Any,
        *,
        validate: Callable[[Any], Any],
        repair: Callable[[Any, Exception], Any],
        max_attempts: int = 3,
    ) -> Any:
        """Validate a value, repairing it up to ``max_attempts`` times. Returns what ``validate`` returns.

        Records the quality signals; a value that stays invalid is a fault, and its last error is raised.
        """
        return Repair(self, validate, repair, max_attempts).run(value)

    async def aschema_repair(
        self,
        value: Any,
        *,
        validate: Callable[[Any], Any],
        repair: Callable[[Any, Exception], Any],
        max_attempts: int = 3,
    ) -> Any:
        """As ``schema_repair``, where either function may be async."""
        return await Repair(self, validate, repair, max_attempts).arun(value)

    def report(self, error: BaseException, step: Step | None = None) -> None:
        """Record an AgentFailure for an error that leaves a step or the run; once for each error."""
        if getattr(error, _REPORTED, None) == self.run_id:
            return
        self.seen(error)
        self.faults.failure(
            error=error,
            step_id=None if step is None else step.step_id,
            span_id=None if step is None else step.span_id,
        )

    def seen(self, error: BaseException) -> None:
        """The error is recorded already."""
        try:
            setattr(error, _REPORTED, self.run_id)
        except Exception:  # noqa: BLE001 - the guard decides
            return

    # For the parts of a run

    def belongs_to(self, tracer: "Tracer") -> bool:
        """Whether that tracer started it."""
        return self._tracer is tracer

    def check_going(self) -> None:
        """Raise the stop again if the run was stopped."""
        if self._stop is not None:
            raise self._stop

    def position(self) -> Position:
        """The current place in this run."""
        around = position.current_position()
        return around if around is not None and around.run is self else self._outermost

    def current_step(self) -> Step | None:
        """The innermost step of this run around the current code."""
        return self.position().step

    def witness(self) -> Witness:
        """What records a tool call."""
        self.check_going()
        # A line of the audit trail is durable, and needs the captured form before the call goes on.
        late = self.recorder.channel.takes_late and self.audit is None
        return LateLegs(self) if late else CallLegs(self)

    def names(self, *given: str | None) -> tuple[str | None, ...]:
        """Names that the user gave, fit for records."""
        label = self.recorder.label
        return tuple(checks.maybe_name(name, label) for name in given)

    def opened(self, step: Step) -> None:
        """A step began."""
        self._steps[step.step_id] = step

    def closed(self, step: Step) -> None:
        """A step ended."""
        self._steps.pop(step.step_id, None)

    def count_tokens(self, response: ModelResponse) -> None:
        """Add to the run's totals."""
        for place, used in enumerate((response.input_tokens, response.output_tokens)):
            if used is not None:
                self._tokens[place] = (self._tokens[place] or 0) + used

    def sample(self, step: Step | None, event_id: str | None) -> None:
        """Capture one in N prompts, if that is wanted. Not a fault: a capture that is lost is not missed."""
        self._model_calls += 1
        every = self._tracer.options.sample_prompts
        if every and self._model_calls % every == 0:
            self.faults.capture(FaultTrigger.SAMPLED, None if step is None else step.step_id, event_id)

    def _fault(self, trigger: FaultTrigger, **fields: Any) -> tuple[str, ...]:
        around = self.position()
        step_id = None if around.step is None else around.step.step_id
        return self.faults.fault(trigger, step_id=step_id, span_id=around.span_id, **fields)

    def _stopping(self, sentence: str, missing: str) -> SystemErrorStop:
        self._stop = SystemErrorStop(f"{sentence}; the run ends with SYSTEM_ERROR", missing=missing)
        self._fault(FaultTrigger.SYSTEM_ERROR, error=self._stop, error_type="SystemErrorStop", missing_pointer=missing)
        return self._stop

    def _stop_status(self) -> RunStatus | None:
        return None if self._stop is None else RunStatus.SYSTEM_ERROR

    def _step_id(self, given: str | None) -> str | None:
        if given is not None:
            return checks.maybe_name(given, self.recorder.label)
        step = self.current_step()
        return None if step is None else step.step_id

    def _ended_body(self, emitted: int, dropped: int) -> dict[str, Any]:
        return {
            "status": (self._status or RunStatus.SUCCEEDED).value,
            "emitted": emitted,
            "dropped": dropped,
            "duration_ms": self._duration,
            "input_tokens": self._tokens[0],
            "output_tokens": self._tokens[1],
            "error_type": None if self._error_type is None else self.recorder.label(self._error_type, 200),
            "metadata": {},
        }


_RECORD_ONLY = frozenset(
    {
        "provider",
        "retrieval",
        "transformations",
        "parameters",
        "capture_mode",
        "action_type",
        "summary",
        "evaluation",
        "sent_hash",
        "reader",
    }
)


def _status(error: BaseException | None) -> RunStatus | None:
    if error is None:
        return None
    if isinstance(error, SystemErrorStop):
        return RunStatus.SYSTEM_ERROR
    stopped = isinstance(error, HookAbortError) or not isinstance(error, Exception)
    return RunStatus.ABORTED if stopped else RunStatus.FAILED
