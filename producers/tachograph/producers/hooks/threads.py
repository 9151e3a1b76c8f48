"""Plain hooks that may hang: run in a thread of their own, so that the agent need not wait for them for ever."""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any


def in_thread(hook: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The hook, under ``hook_timeout`` as async hooks are. Costs a thread for each call, about 0.1 ms.

    ::

        HookMatcher(pre_hooks=(in_thread(ask_the_policy_server),))

    A hook that hangs keeps its thread; the thread is a daemon and does not hold up the exit. What the hook answers
    after the timeout is not heard.
    """

    @functools.wraps(hook)
    async def waited(*arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        context = copy_context()

        def tell(result: Any, error: BaseException | None) -> None:
            if not answer.done():
                answer.set_result(result) if error is None else answer.set_exception(error)

        def work() -> None:
            result: Any = None
            failure: BaseException | None = None
            try:
                result = context.run(hook, *arguments)
            except StopIteration as error:  # a future does not take it
                failure = RuntimeError(type(error).__name__)
            except BaseException as error:  # noqa: BLE001 - judged by the call's course, as any hook's
                failure = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell, result, failure)

        threading.Thread(target=work, name="tachograph-hook", daemon=True).start()
        return await answer

    return waited
