"""Between the recorder and its spool: remembers which records were kept, and is out of room when a story says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from tachograph.producers.publishing import Message, Publisher, PublisherStats, SpoolFull
from tachograph.schemas.headers import Header

_EVENT_ID: Final = Header.CE_ID.value
_CAPTURE_ID: Final = Header.CAPTURE_ID.value


class WatchedPublisher:
    """A publisher around another. It looks at headers only, as everybody does who does not own the content."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._has_room = True
        self.event_ids: list[str] = []
        """Ids of the records that were kept, in order. Captures are no records and have none."""
        self.capture_ids: set[str] = set()
        """Of what faults captured."""
        self._refused = 0

    @contextmanager
    def without_room(self) -> Iterator[None]:
        """Refuse what is published in this block, as a full spool does."""
        self._has_room = False
        try:
            yield
        finally:
            self._has_room = True

    def publish(self, message: Message) -> None:
        """Pass the message on; see Publisher."""
        if not self._has_room:
            self._refused += 1
            raise SpoolFull("the story has no room for this record")
        self._publisher.publish(message)
        self.event_ids += [value.decode() for name, value in message.headers if name == _EVENT_ID]
        self.capture_ids |= {value.decode() for name, value in message.headers if name == _CAPTURE_ID}

    def flush(self, timeout: float) -> bool:
        """Wait for the broker; see Publisher."""
        return self._publisher.flush(timeout)

    def close(self, timeout: float = 10.0) -> None:
        """Close the publisher inside."""
        self._publisher.close(timeout)

    def stats(self) -> PublisherStats:
        """Counts of the publisher inside, and what was refused here."""
        inside = self._publisher.stats()
        return replace(inside, dropped=inside.dropped + self._refused)
