"""Puts a client's method behind the boundary: what it is called with, and what it returns, is a model call."""

import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol

from tachograph.producers.adapters.streams import AsyncRecordedStream, RecordedStream
from tachograph.producers.adapters.transport import Prompt, sending
from tachograph.producers.model.call import ModelCall
from tachograph.producers.model.response import ModelResponse, read_response
from tachograph.producers.position import current_run

_LOG: Final = logging.getLogger("tachograph.producers")
_MARK: Final = "__tachograph_instrumented__"
_UNSET: Final = frozenset({"NotGiven", "Omit"})  # classes by which the official clients say that nothing was given


class Accumulator(Protocol):
    """Puts a response together from the events of a stream."""

    def add(self, event: Any) -> None:
        """Take one event."""

    def response(self) -> ModelResponse:
        """What the events amount to so far."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one API of one provider speaks."""

    provider: str
    prompt: Prompt
    """Arguments of a call, or the body they become, as arguments of ModelCall."""
    accumulator: Callable[[], Accumulator]
    revive: Callable[[str, ModelResponse], Any]
    """A recorded completion of a model as the client's own object, for replay."""


def instrument(resource: Any, name: str, dialect: Dialect) -> None:
    """Replace a method by its recorded form. Doing it twice changes nothing; a method that is not there is left out."""
    original = getattr(resource, name, None)
    if not callable(original) or getattr(original, _MARK, False):
        return

    @functools.wraps(original)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        run = current_run()
        if run is None:
            _outside()
            return original(*args, **kwargs)
        kwargs = {key: _kept(value) for key, value in kwargs.items()}
        given = sent(kwargs)
        call = ModelCall(run, provider=dialect.provider, **dialect.prompt(given), reader=read).begin()
        if call.served is not None:
            return _served(call, dialect, given, original)
        try:
            with sending(call, dialect.prompt):
                result = original(*args, **kwargs)
        except BaseException as error:
            call.end(error)
            raise
        if inspect.isawaitable(result):
            return _awaited(call, dialect, result)
        return settle(call, dialect, result)

    setattr(recorded, _MARK, True)
    setattr(resource, name, recorded)


def _served(call: ModelCall, dialect: Dialect, given: Mapping[str, Any], original: Callable[..., Any]) -> Any:
    """What the recording has, in place of a request. Asynchronous clients get something to await."""
    if given.get("stream"):
        refuse_stream(call)
    revive = functools.partial(dialect.revive, str(given.get("model")))
    is_async = inspect.iscoroutinefunction(inspect.unwrap(original))
    return call.serve_awaited(revive) if is_async else call.serve(revive)


def refuse_stream(call: ModelCall) -> NoReturn:
    """A recording has the completion and not how it came in pieces."""
    from tachograph.producers.replay.errors import NotReplayableError  # noqa: PLC0415 - recording needs none of it

    error = NotReplayableError(
        "a stream cannot be served from a recording, which has the completion and not its pieces: call the client "
        "without stream where the run is replayed"
    )
    call.end(error)
    raise error


def settle(call: ModelCall, dialect: Dialect, result: Any) -> Any:
    """Record a response; hand back a stream that is recorded when it ends."""
    if hasattr(result, "__aiter__"):
        return AsyncRecordedStream(result, call, dialect.accumulator())
    if hasattr(result, "__next__"):
        return RecordedStream(result, call, dialect.accumulator())
    call.record(result)
    call.end()
    return result


async def _awaited(call: ModelCall, dialect: Dialect, pending: Any) -> Any:
    try:
        with sending(call, dialect.prompt):
            result = await pending
    except BaseException as error:
        call.end(error)
        raise
    return settle(call, dialect, result)


def read(result: Any) -> ModelResponse:
    """Read a response, raw ones included: they hold what they parse to."""
    parse = getattr(result, "parse", None)
    if callable(parse) and hasattr(result, "http_response"):
        result = parse()
    return read_response(result)


def sent(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that were given, with what ``extra_body`` puts into the body beside them."""
    given = {key: value for key, value in kwargs.items() if type(value).__name__ not in _UNSET}
    extra = given.get("extra_body")
    return given | dict(extra) if isinstance(extra, Mapping) else given


def parameters(given: Mapping[str, Any], *max_tokens: str) -> dict[str, Any]:
    """Sampling parameters, wherever the provider keeps the limit of tokens."""
    limit = next((given[name] for name in max_tokens if given.get(name) is not None), None)
    return {"temperature": given.get("temperature"), "top_p": given.get("top_p"), "max_tokens": limit}


def _kept(value: Any) -> Any:
    # An iterator of messages can be read once; it is read here, and the list is sent.
    return list(value) if isinstance(value, Iterable) and hasattr(value, "__next__") else value


@functools.cache
def _outside() -> None:
    _LOG.warning("an instrumented model client was called outside of any run; the call is not recorded")
