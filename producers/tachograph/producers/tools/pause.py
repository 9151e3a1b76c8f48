"""A tool call that other code carries out: the course is paused where the tool would run."""

from types import TracebackType
from typing import Any, Self

from tachograph.producers.tools.conduct import CallTool, Course, Telling
from tachograph.producers.tools.drive import Invoke, adrive, drive


class PausedCall:
    """Context manager around code that runs a tool itself. Set ``output`` before leaving."""

    def __init__(
        self, course: Course, telling: Telling, hook_timeout: float | None, served: Invoke | None = None
    ) -> None:
        self._course = course
        self._telling = telling
        self._hook_timeout = hook_timeout
        self._served = served
        self._waits = False
        self.output: Any = None
        """What the tool returned. After the block: as post-hooks left it."""

    @property
    def tool_input(self) -> Any:
        """Input as pre-hooks left it."""
        return self._telling.context.tool_input

    @property
    def tool_use_id(self) -> str:
        """Id of the call."""
        return self._telling.context.tool_use_id

    @property
    def skipped(self) -> bool:
        """Do not run the tool: a hook answered SKIP, or the call is replayed and ``output`` is there already."""
        return self._telling.skipped or self._served is not None

    def __enter__(self) -> Self:
        drive(self._until_tool(None, None), _never, hook_timeout=self._hook_timeout, tool_timeout=None)
        return self._entered()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._waits:
            drive(self._until_tool(self.output, error), _never, hook_timeout=self._hook_timeout, tool_timeout=None)
            self._left(error)
        elif self._served is not None and error is None and self._telling.error is None:
            self.output = self._telling.output

    async def __aenter__(self) -> Self:
        await adrive(self._until_tool(None, None), _never, hook_timeout=self._hook_timeout, tool_timeout=None)
        return self._entered()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._waits:
            rest = self._until_tool(self.output, error)
            await adrive(rest, _never, hook_timeout=self._hook_timeout, tool_timeout=None)
            self._left(error)
        else:
            self.__exit__(kind, error, trace)

    def _entered(self) -> Self:
        if not self._waits and self._telling.error is not None:
            raise self._telling.error
        if self._waits and self._served is not None:
            self._serve(self._served)
        return self

    def _serve(self, served: Invoke) -> None:
        """The output of then. An error of then leaves the block before it begins."""
        try:
            output = served(self.tool_input)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        drive(self._until_tool(output, None), _never, hook_timeout=self._hook_timeout, tool_timeout=None)
        self.output = output

    def _left(self, error: BaseException | None) -> None:
        self.output = self._telling.output
        if self._telling.error is not None and self._telling.error is not error:
            raise self._telling.error

    def _until_tool(self, output: Any, error: BaseException | None) -> Course:
        """Go on with the course until it wants the tool, or ends."""
        self._waits = False
        try:
            effect = next(self._course) if not self._started else self._resume(output, error)
            self._started = True
            while type(effect) is not CallTool:
                try:
                    answer = yield effect
                except BaseException as raised:  # noqa: BLE001 - the course judges it
                    effect = self._course.throw(raised)
                else:
                    effect = self._course.send(answer)
        except StopIteration:
            return
        self._waits = True

    _started = False

    def _resume(self, output: Any, error: BaseException | None) -> Any:
        return self._course.send(output) if error is None else self._course.throw(error)


def _never(_: Any) -> Any:
    raise AssertionError("a paused call runs no tool")
