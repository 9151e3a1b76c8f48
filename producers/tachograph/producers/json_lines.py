"""Records as JSON lines in a file: for a first prototype without a broker, or beside one."""

import base64
import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from tachograph.producers.publishing import Message, MessageMalformed, Publisher, PublisherStats, SpoolUnavailable
from tachograph.schemas.topics import EVENTS

if TYPE_CHECKING:
    from tachograph.schemas.wire import Codec

_LOG: Final = logging.getLogger("tachograph.producers")


class JsonLinesPublisher:
    """Appends every record to a file, in the JSON form of its model, and hands it on if there is somebody to take it.

    ::

        tracer = Tracer(agent_id="prototype", publisher=JsonLinesPublisher(Path("events.jsonl")))

    A line is the record's JSON object with ``record_type`` in front. A fault's capture is a line of type ``capture``,
    encrypted as ever. Alone, a record is kept when its line is written (it survives the process, not a loss of power).
    With ``then``, the other publisher keeps it, and a file that cannot be written costs only its lines.
    """

    def __init__(self, path: Path, then: Publisher | None = None, *, codec: "Codec | None" = None) -> None:
        self.path = path
        self._then = then
        self._codec = codec
        self._lock = threading.Lock()
        self._fd: int | None = None
        self._written = self._failed = 0

    def publish(self, message: Message) -> None:
        """Write the line, and hand the message on."""
        if self._then is not None:
            self._then.publish(message)
        try:
            self._append(self._line(message))
        except (OSError, ValueError) as error:
            self._failed += 1
            if self._then is None:
                raise _kept_nowhere(error) from None
            if self._failed == 1:
                _LOG.warning("a line of %s was not written (%s); the records go on", self.path, type(error).__name__)

    def flush(self, timeout: float) -> bool:
        """What is written is written; the other publisher may have more to do."""
        return True if self._then is None else self._then.flush(timeout)

    def close(self, timeout: float = 10.0) -> None:
        """Close the file."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
        if self._then is not None:
            self._then.close(timeout)

    def stats(self) -> PublisherStats:
        """Those of the other publisher; alone, lines written and not written."""
        if self._then is not None:
            return self._then.stats()
        return PublisherStats(spooled=self._written, acknowledged=self._written, dropped=self._failed)

    def _line(self, message: Message) -> bytes:
        from tachograph.schemas import models  # noqa: PLC0415 - not at import: it would double the cost
        from tachograph.schemas.wire import Codec, from_avro  # noqa: PLC0415 - as above

        if message.topic != EVENTS.name:
            headers = {name: value.decode() for name, value in message.headers}
            return _json(
                {"record_type": "capture", "headers": headers, "value": base64.b64encode(message.value).decode()}
            )
        if self._codec is None:
            self._codec = Codec()
        name, record = self._codec.decode(message.value)
        model: Any = from_avro(getattr(models, name), record)
        return _json({"record_type": name} | model.model_dump(mode="json", by_alias=True))

    def _append(self, line: bytes) -> None:
        with self._lock:
            if self._fd is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if os.write(self._fd, line) != len(line):
                raise OSError("the line is not whole")
            self._written += 1


def _json(line: dict[str, Any]) -> bytes:
    return orjson.dumps(line) + b"\n"


def _kept_nowhere(error: OSError | ValueError) -> SpoolUnavailable | MessageMalformed:
    if isinstance(error, OSError):
        return SpoolUnavailable(f"the file of JSON lines cannot be written: {error.strerror}")
    return MessageMalformed("the record has no JSON form")
