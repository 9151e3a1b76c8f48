"""A coroutine's first step, taken here and now: what need not wait needs no task.

``begin`` takes it. If that was all, there is a result; if not, what is left of the coroutine can be awaited, or made a
task, as if nothing had happened.
"""

from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Begun(NamedTuple, Generic[T]):
    """What came of the first step: a result, or the rest."""

    result: T | None
    rest: Coroutine[Any, Any, T] | None
    """None: it is done."""


def begin(whole: Coroutine[Any, Any, T]) -> Begun[T]:
    """Take the first step. What it raises is raised here."""
    try:
        waited_for = whole.send(None)
    except StopIteration as done:
        return Begun(done.value, None)
    return Begun(None, _remaining(whole, waited_for))


async def _remaining(whole: Coroutine[Any, Any, T], waited_for: Any) -> T:
    result: T = await _steps(whole, waited_for)
    return result


@coroutine
def _steps(whole: Coroutine[Any, Any, Any], waited_for: Any) -> Generator[Any, Any, Any]:
    try:
        while True:
            try:
                answer = yield waited_for
            except BaseException as error:  # noqa: BLE001 - a cancellation is for the coroutine to deal with
                waited_for = whole.throw(error)
            else:
                waited_for = whole.send(answer)
    except StopIteration as done:
        return done.value
