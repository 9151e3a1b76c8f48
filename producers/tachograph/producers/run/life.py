"""A run: everything an agent does for one request, from its first record to its last."""

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from tachograph.producers import lifetimes, position
from tachograph.producers.errors import HookAbortError, RecorderStop, SystemErrorStop
from tachograph.producers.model.response import ModelResponse
from tachograph.producers.recorder import error_name
from tachograph.producers.run.acting import ActingRun
from tachograph.producers.run.failing import FailingRun
from tachograph.producers.run.observing import ObservingRun
from tachograph.producers.step import Step
from tachograph.producers.tools.conduct import Witness
from tachograph.producers.tools.late_legs import LateLegs
from tachograph.producers.tools.legs import CallLegs
from tachograph.schemas.enums import FaultTrigger, RunStatus

if TYPE_CHECKING:
    from tachograph.producers.tracer import Tracer

_NANOS_PER_MS: Final = 1_000_000

F = TypeVar("F", bound=Callable[..., Any])


class Run(ActingRun, ObservingRun, FailingRun):
    """One run. Made by ``Tracer.start_run``; a context manager and a decorator, plain or async.

    Safe to use from many threads.

    Its methods record and return; they raise nothing, but for the stops in ``errors`` and for what the agent's own
    code raises. Ids they return are None where the record could not be kept.
    """

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

    def __call__(self, function: F) -> F:
        """Decorate a function: each call is a run. Its first argument is the request, unless that was given."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                async with self.again(args[0] if args else None):
                    return await function(*args, **kwargs)

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self.again(args[0] if args else None):
                return function(*args, **kwargs)

        return cast("F", called)

    # For the parts of a run

    again: Callable[[Any], "Run"]
    """A run like this one, not started, for this request unless there was one. Set by the tracer."""

    def belongs_to(self, tracer: "Tracer") -> bool:
        """Whether that tracer started it."""
        return self._tracer is tracer

    def witness(self) -> Witness:
        """What records a tool call."""
        if self._stop is not None:
            raise self._stop
        # A line of the audit trail is durable, and needs the captured form before the call goes on.
        late = self.audit is None and self.recorder.channel.takes_late
        if self.replay is not None:
            from tachograph.producers.replay.witness import ServingWitness  # noqa: PLC0415 - recording needs none of it

            return ServingWitness(self.replay, CallLegs(self))
        return LateLegs(self) if late else CallLegs(self)

    def count_tokens(self, response: ModelResponse) -> None:
        """Add to the run's totals."""
        for place, used in enumerate((response.input_tokens, response.output_tokens)):
            if used is not None:
                self._tokens[place] = (self._tokens[place] or 0) + used

    def used(self) -> dict[str, int]:
        """What the run has used so far: tokens of its model calls, tool calls that returned, and time."""
        return {
            "tokens": sum(used or 0 for used in self._tokens),
            "tool_calls": len(self.observed.calls),
            "wall_clock_ms": (self.recorder.clock.steady_ns() - self._began) // _NANOS_PER_MS,
        }

    def sample(self, step: Step | None, event_id: str | None) -> None:
        """Capture one in N prompts, if that is wanted. Not a fault: a capture that is lost is not missed."""
        self._model_calls += 1
        every = self._tracer.options.sample_prompts
        if every and self._model_calls % every == 0:
            self.faults.capture(FaultTrigger.SAMPLED, None if step is None else step.step_id, event_id)

    def _stop_status(self) -> RunStatus | None:
        return None if self._stop is None else RunStatus.SYSTEM_ERROR

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


def _status(error: BaseException | None) -> RunStatus | None:
    if error is None:
        return None
    if isinstance(error, SystemErrorStop):
        return RunStatus.SYSTEM_ERROR
    stopped = isinstance(error, HookAbortError) or not isinstance(error, Exception)
    return RunStatus.ABORTED if stopped else RunStatus.FAILED
