"""A coroutine whose first step was taken is the same coroutine."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps

import pytest

from tachograph.processors.first_step import begin


def in_a_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        async def whole() -> None:
            await test()

        asyncio.run(whole())

    return run


@in_a_loop
async def test_what_need_not_wait_is_done_at_once() -> None:
    """Without the loop going round."""

    async def quick() -> str:
        return "done"

    assert begin(quick()) == ("done", None)


@in_a_loop
async def test_what_waits_goes_on_where_it_was() -> None:
    """As a task, and over several waits."""
    trail: list[str] = []
    first: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def slow() -> str:
        trail.append("began")
        trail.append(await first)
        await asyncio.sleep(0)
        return "done"

    begun = begin(slow())
    assert trail == ["began"]
    assert begun.rest is not None
    task = asyncio.ensure_future(begun.rest)
    first.set_result("went on")
    assert await task == "done"
    assert trail == ["began", "went on"]


@in_a_loop
async def test_a_cancellation_reaches_it() -> None:
    """It may clean up, or refuse."""
    cleaned: list[str] = []

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cleaned.append("cleaned")
            raise
        return "never"

    begun = begin(stubborn())
    assert begun.rest is not None
    task = asyncio.ensure_future(begun.rest)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == ["cleaned"]


@in_a_loop
async def test_its_errors_are_its_own() -> None:
    """At the first step, and later."""

    async def failing(*, late: bool) -> None:
        if late:
            await asyncio.sleep(0)
        raise LookupError

    with pytest.raises(LookupError):
        begin(failing(late=False))
    begun = begin(failing(late=True))
    assert begun.rest is not None
    with pytest.raises(LookupError):
        await begun.rest
