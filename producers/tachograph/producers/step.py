"""One step of a run: a block of code that starts, ends, and says what its context was."""

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from tachograph.producers import checks, position
from tachograph.producers.errors import RecorderStop
from tachograph.producers.manifest import ContextBuilder
from tachograph.producers.position import Position
from tachograph.producers.recorder import error_name
from tachograph.schemas.enums import StepStatus

if TYPE_CHECKING:
    from tachograph.producers.run import Run

_NANOS_PER_MS: Final = 1_000_000

F = TypeVar("F", bound=Callable[..., Any])


class Step:
    """A step. Made by ``Run.step``; a context manager, plain or async, and a decorator."""

    def __init__(
        self, run: "Run", step_type: str, name: str, *, step_id: str | None, metadata: Mapping[str, Any] | None
    ) -> None:
        ids, label = run.recorder.ids, run.recorder.label
        self._run = run
        self._given = (step_type, name, metadata)
        self.step_id = checks.maybe_name(step_id, label) or ids.uuid()
        self.span_id = ids.span_id()
        self.has_manifest = False
        self._status: StepStatus | None = None
        self._end_metadata: dict[str, Any] = {}
        self._bundle: dict[str, Any] | None = None
        self._started = 0
        self._token: Token[Position | None] | None = None

    def skip(self, **metadata: Any) -> None:
        """The step decided to do nothing."""
        self._status = StepStatus.SKIPPED
        self._end_metadata |= metadata

    def annotate(self, **metadata: Any) -> None:
        """Metadata for the step's end, under the privacy rules."""
        self._end_metadata |= metadata

    def context(self, **fields: Any) -> ContextBuilder:
        """Build this step's context manifest. See ``Run.context``."""
        return self._run.context(self, **fields)

    def saw_bundle(self, bundle: dict[str, Any]) -> None:
        """A model call was made in this step."""
        self._bundle = bundle

    def __enter__(self) -> Self:
        run = self._run
        run.check_going()
        around = run.position()
        self._started = run.recorder.clock.steady_ns()
        step_type, name, metadata = self._given

        def body() -> dict[str, Any]:
            label = run.recorder.label
            return {
                "step_id": self.step_id,
                "parent_step_id": None if around.step is None else around.step.step_id,
                "span_id": self.span_id,
                "parent_span_id": around.span_id,
                "step_type": checks.name("step_type", step_type, label, 64),
                "name": checks.name("name", name, label, 200),
                "metadata": run.recorder.metadata(metadata),
            }

        run.recorder.record("StepStarted", body, span_id=self.span_id)
        # Entered last: a start that raises leaves nothing behind.
        self._token = position.enter(Position(run, self, self.span_id))
        run.opened(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self.has_manifest and self._run.wants_manifests and not isinstance(error, RecorderStop):
                self._write_manifest()
        except RecorderStop as stop:
            error = stop
            raise
        finally:
            self._end(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Decorate a function: each call is a step of its own."""

        def fresh() -> Step:
            step_type, name, metadata = self._given
            return Step(self._run, step_type, name, step_id=None, metadata=metadata)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                async with fresh():
                    return await function(*args, **kwargs)

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with fresh():
                return function(*args, **kwargs)

        return cast("F", called)

    def _write_manifest(self) -> None:
        """Every step has a manifest; one that nobody wrote is made from the step's last prompt."""
        step_type, name, _ = self._given
        builder = ContextBuilder(self._run, self.step_id, intent={"step_type": str(step_type), "name": str(name)})
        if self._bundle is not None:
            builder.saw_bundle(self._bundle)
        builder.record()

    def _end(self, error: BaseException | None) -> None:
        run = self._run
        duration = (run.recorder.clock.steady_ns() - self._started) // _NANOS_PER_MS
        if self._token is not None:
            position.leave(self._token)
        run.closed(self)
        if isinstance(error, Exception) and not isinstance(error, RecorderStop):
            run.report(error, step=self)

        def body() -> dict[str, Any]:
            return {
                "step_id": self.step_id,
                "status": (_status(error) or self._status or StepStatus.SUCCEEDED).value,
                "duration_ms": duration,
                "error_type": None if error is None else run.recorder.label(error_name(error), 200),
                "metadata": run.recorder.metadata(self._end_metadata),
            }

        run.recorder.record("StepEnded", body, span_id=self.span_id)


def _status(error: BaseException | None) -> StepStatus | None:
    if error is None:
        return None
    stopped = isinstance(error, RecorderStop) or not isinstance(error, Exception)
    return StepStatus.ABORTED if stopped else StepStatus.FAILED
