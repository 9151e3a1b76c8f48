"""What the recorder may raise into an agent, and what the agent's author should do.

::

    TachographError
    ├── RecorderStop            stop: the run must not go on; never swallow it
    │   ├── HookAbortError          a tool hook answered ABORT
    │   │   └── PlanRefusedError        a governed tool was not executed: bring what is missing, or let it pass
    │   └── SystemErrorStop         a manifest or a fault's capture could not be kept: the run ends SYSTEM_ERROR
    ├── RecordRefusedError      fix the call: an argument is outside the contract (raised in strict mode only)
    ├── UnknownToolError        fix the call: no tool of that name is registered
    └── NotAClientError         fix the call: the object is not a client that the adapter knows

Only the stops are raised in production; `Guard` holds back the rest. No text here carries captured content.
"""

from tachograph.schemas.enums import RecordStatus
from tachograph.schemas.errors import TachographError


class RecorderStop(TachographError):  # noqa: N818 - an order to stop, not an accident
    """The run must not go on. Let it pass through to whoever started the run."""


class HookAbortError(RecorderStop):
    """A hook ended the task on purpose."""

    def __init__(self, *, tool_name: str, hook: str, stage: str, reason: str = "") -> None:
        super().__init__(f"the {stage}-hook {hook} aborted the task at tool {tool_name}")
        self.tool_name = tool_name
        self.hook = hook
        self.stage = stage
        self.reason = reason
        """The hook's own words. Not in the text of the error: hooks quote what they saw."""


class PlanRefusedError(HookAbortError):
    """A governed decision's plan was refused, and its tool not executed.

    The one stop that may be caught: what is missing can be brought, and the tool called again.
    """

    def __init__(self, decision_key: str, findings: tuple[tuple[str, str], ...], status: RecordStatus) -> None:
        sentences = "; ".join(f"{code}: {sentence}" for code, sentence in findings)
        codes = ", ".join(code for code, _ in findings)
        super().__init__(tool_name="", hook="tachograph.plan", stage="pre", reason=codes)
        self.args = (f"the plan of {decision_key} was refused and nothing executed ({status.value}): {sentences}",)
        self.findings = findings
        """Code and sentence of everything that speaks against it."""
        self.status = status
        """What was proposed for the decision."""


class SystemErrorStop(RecorderStop):
    """Something that must be durable could not be made durable."""

    def __init__(self, sentence: str, *, missing: str) -> None:
        super().__init__(sentence)
        self.missing = missing
        """What is not there: ``manifest:<id>`` or ``capture:<kind>:<id>``."""


class RecordRefusedError(TachographError, ValueError):
    """An argument is outside the contract. The record was not made."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field}: {sentence}")
        self.field = field


class UnknownToolError(TachographError, LookupError):
    """No tool is registered under that name."""


class NotAClientError(TachographError, TypeError):
    """The object given to an adapter is not a client it can instrument."""
