"""What goes wrong in a run: failures, faults, repairs that fail."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tachograph.producers.errors import SystemErrorStop
from tachograph.producers.recorder import error_name
from tachograph.producers.repair import Repair
from tachograph.producers.run.core import RunCore
from tachograph.producers.step import Step
from tachograph.schemas.enums import FaultTrigger, RunStatus

_REPORTED: Final = "__tachograph_reported__"


class FailingRun(RunCore):
    """Methods that record what went wrong."""

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
        return Repair(self._whole, validate, repair, max_attempts).run(value)

    async def aschema_repair(
        self,
        value: Any,
        *,
        validate: Callable[[Any], Any],
        repair: Callable[[Any, Exception], Any],
        max_attempts: int = 3,
    ) -> Any:
        """As ``schema_repair``, where either function may be async."""
        return await Repair(self._whole, validate, repair, max_attempts).arun(value)

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
