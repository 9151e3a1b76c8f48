"""Streams that are recorded when they end: read to the end, closed, broken off or forgotten."""

from types import TracebackType
from typing import TYPE_CHECKING, Any

from tachograph.producers.model.call import ModelCall

if TYPE_CHECKING:
    from tachograph.producers.adapters.boundary import Accumulator


class _Recorded:
    """Stands before a stream. Everything but iteration goes to the stream itself, its class included."""

    def __init__(self, stream: Any, call: ModelCall, accumulator: "Accumulator") -> None:
        self._self_stream = stream
        self._self_call = call
        self._self_accumulator = accumulator
        self._self_open = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._self_stream, name)

    @property  # type: ignore[misc]  # so that isinstance() sees the client's own class
    def __class__(self) -> type:
        return type(self._self_stream)

    def __del__(self) -> None:
        self._end(None)

    def _seen(self, event: Any) -> Any:
        try:
            self._self_accumulator.add(event)
        except Exception as error:  # noqa: BLE001 - an event of a newer API: the rest is still recorded
            self._self_call.swallow("stream event", error)
        return event

    def _end(self, error: BaseException | None) -> None:
        if self._self_open:
            self._self_open = False
            self._self_call.record(self._self_accumulator.response())
            self._self_call.end(error)


class RecordedStream(_Recorded):
    """A stream of plain code."""

    def __iter__(self) -> "RecordedStream":
        return self

    def __next__(self) -> Any:
        try:
            return self._seen(next(self._self_stream))
        except StopIteration:
            self._end(None)
            raise
        except BaseException as error:
            self._end(error)
            raise

    def __enter__(self) -> "RecordedStream":  # noqa: PYI034 - as above
        self._self_stream.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            return self._self_stream.__exit__(kind, error, trace)
        finally:
            self._end(error)

    def close(self) -> None:
        """Close the stream."""
        try:
            self._self_stream.close()
        finally:
            self._end(None)


class AsyncRecordedStream(_Recorded):
    """A stream of async code."""

    def __aiter__(self) -> "AsyncRecordedStream":
        return self

    async def __anext__(self) -> Any:
        try:
            return self._seen(await anext(self._self_stream))
        except StopAsyncIteration:
            self._end(None)
            raise
        except BaseException as error:
            self._end(error)
            raise

    async def __aenter__(self) -> "AsyncRecordedStream":  # noqa: PYI034 - as above
        await self._self_stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            return await self._self_stream.__aexit__(kind, error, trace)
        finally:
            self._end(error)

    async def close(self) -> None:
        """Close the stream."""
        try:
            await self._self_stream.close()
        finally:
            self._end(None)
