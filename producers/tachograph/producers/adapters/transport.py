"""What a client really sends: the body of its HTTP request, read by the HTTP client's own hook as it leaves.

Wrappers, options and middleware between the agent's call and the wire may change a prompt. The hash of what left is
recorded beside that of what was given, so that a difference can be seen without believing anybody.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import orjson

from tachograph.producers.model.call import ModelCall

Prompt = Callable[[Mapping[str, Any]], dict[str, Any]]
"""A request's body, as arguments of ModelCall."""

_UNDER_WAY: Final[ContextVar[tuple[ModelCall, Prompt] | None]] = ContextVar("tachograph_sending", default=None)


@contextmanager
def sending(call: ModelCall, prompt: Prompt) -> Iterator[None]:
    """Requests that leave inside belong to this call; the last one counts, because the client may try again."""
    token = _UNDER_WAY.set((call, prompt))
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)


def watch(client: Any) -> None:
    """Read what this client sends. One whose HTTP client has no hooks is not watched: its records have no sent hash."""
    http = getattr(client, "_client", None)
    hooks = getattr(http, "event_hooks", None)
    if not isinstance(hooks, dict) or not {_seen, _aseen}.isdisjoint(hooks.get("request", ())):
        return
    is_async = hasattr(http, "aclose")
    # Behind the user's own hooks, which may change the request.
    http.event_hooks = hooks | {"request": [*hooks.get("request", ()), _aseen if is_async else _seen]}  # type: ignore[union-attr]


def _seen(request: Any) -> None:
    under_way = _UNDER_WAY.get()
    if under_way is None:
        return
    call, prompt = under_way
    try:
        body = orjson.loads(request.content)
        call.saw_sent(**prompt(body))
    except Exception as error:  # noqa: BLE001 - the guard decides
        call.swallow("request body", error)


async def _aseen(request: Any) -> None:
    _seen(request)
