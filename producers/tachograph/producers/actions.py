"""An action boundary around code that acts: collects artifacts, records when the code is done."""

import functools
import inspect
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from tachograph.schemas.enums import ActionType

if TYPE_CHECKING:
    from tachograph.producers.run import Run

F = TypeVar("F", bound=Callable[..., Any])


class Acting:
    """Made by ``Run.acting``.

    ::

        with run.acting("edit", "rename the helper") as action:
            action.artifacts.append(run.artifacts.file_edit("a.py", before, after))
    """

    def __init__(self, run: "Run", action_type: ActionType | str, summary: str, artifacts: Iterable[Any]) -> None:
        self._run = run
        self._action_type = action_type
        self.summary = summary
        self.artifacts: list[Any] = list(artifacts)
        self.evaluation: Any = None
        self.event_id: str | None = None

    def __enter__(self) -> Self:
        self._run.check_going()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or self.artifacts:  # what raised before it did anything is a failure, not an action
            self.event_id = self._run.action(
                self._action_type, self.summary, artifacts=self.artifacts, evaluation=self.evaluation
            )

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Decorate a function that acts. It may return an artifact, or a list of them, to be recorded."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self._fresh() as action:
                    return action.keep(await function(*args, **kwargs))

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._fresh() as action:
                return action.keep(function(*args, **kwargs))

        return cast("F", called)

    def keep(self, made: Any) -> Any:
        """Take the artifacts among what a decorated function returned, and return it."""
        for item in made if isinstance(made, (list, tuple)) else (made,):
            if hasattr(item, "content_ref") and hasattr(item, "hash"):
                self.artifacts.append(item)
        return made

    def _fresh(self) -> "Acting":
        return Acting(self._run, self._action_type, self.summary, self.artifacts)
