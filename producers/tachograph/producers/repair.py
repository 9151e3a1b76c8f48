"""Schema repair: validate, repair, validate again, a few times; what stays invalid is a fault."""

import inspect
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from tachograph.schemas.enums import FaultTrigger, SignalType

if TYPE_CHECKING:
    from tachograph.producers.run import Run

Effect = tuple[Callable[..., Any], tuple[Any, ...]]


class Repair:
    """One value's repair. The course is a generator, so that plain and async callers share it."""

    def __init__(
        self,
        run: "Run",
        validate: Callable[[Any], Any],
        repair: Callable[[Any, Exception], Any],
        max_attempts: int,
    ) -> None:
        self._run = run
        self._validate = validate
        self._repair = repair
        self._most = max_attempts

    def run(self, value: Any) -> Any:
        """Plain code."""
        course = self._course(value)
        try:
            function, arguments = next(course)
            while True:
                try:
                    result = function(*arguments)
                except Exception as error:  # noqa: BLE001 - the course judges it
                    function, arguments = course.throw(error)
                else:
                    function, arguments = course.send(result)
        except StopIteration as done:
            return done.value

    async def arun(self, value: Any) -> Any:
        """Async code."""
        course = self._course(value)
        try:
            function, arguments = next(course)
            while True:
                try:
                    result = function(*arguments)
                    if inspect.isawaitable(result):
                        result = await result
                except Exception as error:  # noqa: BLE001 - the course judges it
                    function, arguments = course.throw(error)
                else:
                    function, arguments = course.send(result)
        except StopIteration as done:
            return done.value

    def _course(self, value: Any) -> Generator[Effect, Any, Any]:
        attempts = 0
        while True:
            try:
                valid = yield self._validate, (value,)
            except Exception as error:
                if attempts >= self._most:
                    self._failed(error, attempts)
                    raise
                failed = error
            else:
                self._succeeded(attempts)
                return valid
            attempts += 1
            value = yield self._repair, (value, failed)

    def _succeeded(self, attempts: int) -> None:
        self._signal(SignalType.SCHEMA_VALID, "full_match", value=True)
        if attempts:
            self._signal(SignalType.RETRY_OCCURRED, "single_retry" if attempts == 1 else "multiple_retries", value=True)

    def _failed(self, error: Exception, attempts: int) -> None:
        self._signal(SignalType.SCHEMA_VALID, "validation_failed", value=False)
        around = self._run.position()
        self._run.seen(error)
        self._run.faults.fault(
            FaultTrigger.SCHEMA_REPAIR_FAILED,
            error=error,
            step_id=None if around.step is None else around.step.step_id,
            span_id=around.span_id,
        )
        self._run.recorder.guard.note("schema repair", f"gave up after {attempts}")

    def _signal(self, kind: SignalType, code: str, *, value: bool) -> None:
        self._run.record_quality_signal(signal_type=kind, signal_code=code, value=value)
