"""Code with something to record when it is done: a context manager and a decorator in one, plain or async."""

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Around(ABC):
    """Recorded when its block ends. As a decorator, every call of the function is a block of its own."""

    @abstractmethod
    def begin(self) -> None:
        """The code is about to run. May raise the stop of a run."""

    @abstractmethod
    def end(self, error: BaseException | None) -> None:
        """The code is done, or raised."""

    @abstractmethod
    def again(self) -> Self:
        """The same, for one more call of a decorated function."""

    @abstractmethod
    def took(self, made: Any) -> None:
        """A decorated function returned this."""

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)

    def __call__(self, function: F) -> F:
        """Decorate a function. It is called as before, and what it returns is returned as it is."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self.again() as one:
                    made = await function(*args, **kwargs)
                    one.took(made)
                    return made

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self.again() as one:
                made = function(*args, **kwargs)
                one.took(made)
                return made

        return cast("F", called)
