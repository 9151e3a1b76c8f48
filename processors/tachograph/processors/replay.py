"""Reading again from an earlier place, without changing a result.

The group's offsets are moved back while no worker runs. What the states still hold is skipped as a repeat. What they
do not hold any more (the changelog was lost, or a run ended long ago and was forgotten) goes through the core again,
to build the state; its outputs were written the first time and are not written again. For that, the place up to which
outputs are written is kept beside the group, as the offsets of a second group that nobody joins: a worker that is
killed during a replay, or one that joins it, finds it there.

Not writing them is more than thrift. A run that is read from its middle looks like one whose beginning is missing, and
would be reported as such. Where the first reading wrote nothing there is nothing for the sink to know the report by.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from tachograph.processors.deadletters import Message
from tachograph.processors.errors import BrokerUnreachableError, ReplayError
from tachograph.processors.group_offsets import committed_offsets
from tachograph.processors.names import TopicNames
from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.settings import Settings

log = logging.getLogger(__name__)

EARLIEST: Final = "earliest"
Start = int | datetime | None
"""An offset of every partition, a time, or None for the oldest record there is."""

_ASK_AGAIN_S: Final = 0.1
_LOADING: Final = frozenset(
    {
        KafkaError._WAIT_COORD,  # noqa: SLF001 - librdkafka's own codes begin with an underscore
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
    }
)
"""The coordinator of the group is about to be there."""

_SOURCE: Final = Header.SOURCE.value


@dataclass(frozen=True, slots=True)
class Rewound:
    """One partition, moved or left."""

    partition: int
    before: int
    """Where the group was."""
    after: int
    """Where it is now. Never further on than before: a replay skips nothing."""


def parse_start(text: str) -> Start:
    """What ``--from`` says. Raises ReplayError if it is neither ``earliest``, an offset nor a time with its zone."""
    if text == EARLIEST:
        return None
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ReplayError(
            "a replay starts from an offset, from `earliest`, or from a time with its zone such as 2026-03-04T05:06:07Z"
        )
    return at


def target(asked: int, oldest: int, committed: int) -> int:
    """Where a partition is read from: not before its oldest record, and never past what was processed."""
    return min(max(asked, oldest), committed)


def unwritten(messages: list[Message], written: Mapping[int, int]) -> list[Message]:
    """Messages that an earlier reading has not written: those of input offsets at or above ``written``."""
    return [message for message in messages if _source_offset(message) >= written.get(message.partition, 0)]


def _source_offset(message: Message) -> float:
    for name, value in message.headers:
        if name == _SOURCE and isinstance(value, bytes):
            return SourceCoordinates.from_bytes(value).offset
    return float("inf")


class Replay:
    """The offsets of a worker's group, and the place up to which its outputs are written."""

    def __init__(self, settings: Settings, names: TopicNames) -> None:
        self._settings = settings
        self._topic = names.events
        self._group = settings.worker.app_id
        self._written_group = f"{self._group}-written"
        self._timeout_s = settings.kafka.request_timeout_ms / 1000
        self._client = settings.kafka.client(**{"socket.timeout.ms": settings.kafka.request_timeout_ms})
        self._admin = AdminClient(self._client, logger=log)

    def written(self) -> dict[int, int]:
        """Offset before which every record's outputs were written, for partitions that were ever replayed."""
        return self._offsets(self._written_group)

    def rewind(self, start: Start) -> list[Rewound]:
        """Move the group back. Raises ReplayError if a worker is at work."""
        self._refuse_members()
        committed = self._offsets(self._group)
        if not committed:
            return []
        written = self.written()
        # Before the group moves, or a crash between the two would leave a replay that writes.
        self._set(self._written_group, {p: max(offset, written.get(p, 0)) for p, offset in committed.items()})
        oldest = self._listed(committed, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        asked = self._asked(start, committed)
        moved = [Rewound(p, at, target(asked[p], oldest[p], at)) for p, at in sorted(committed.items())]
        self._set(self._group, {item.partition: item.after for item in moved})
        return moved

    def _asked(self, start: Start, committed: Mapping[int, int]) -> dict[int, int]:
        if isinstance(start, datetime):
            at: Any = OffsetSpec.for_timestamp(int(start.timestamp() * 1000))
            # -1: no record is as young as that, so there is nothing to read again.
            return {p: offset if offset >= 0 else committed[p] for p, offset in self._listed(committed, at).items()}
        return dict.fromkeys(committed, start or 0)

    def _refuse_members(self) -> None:
        try:
            asked = self._admin.describe_consumer_groups
            group = self._patiently(lambda: asked([self._group])[self._group].result(self._timeout_s))
        except KafkaException as error:
            raise self._unreachable(error) from None
        if group.members and group.state is not ConsumerGroupState.DEAD:
            raise ReplayError(
                f"{len(group.members)} workers of the group {self._group} are at work, and offsets move only while "
                "none is: stop them, and try again once the broker has missed them (a worker with an instance id, or "
                f"one that was killed, counts for {self._settings.worker.session_timeout_s:g} s more)"
            )

    def _offsets(self, group: str) -> dict[int, int]:
        try:
            found = self._patiently(lambda: committed_offsets(self._client, group, (self._topic,), self._timeout_s))
        except KafkaException as error:
            raise self._unreachable(error) from None
        return {partition: offset for (_, partition), offset in found.items()}

    def _set(self, group: str, offsets: Mapping[int, int]) -> None:
        places = [TopicPartition(self._topic, partition, offset) for partition, offset in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group, places)]
        try:
            alter = self._admin.alter_consumer_group_offsets
            answer = self._patiently(lambda: alter(request)[group].result(self._timeout_s))
        except KafkaException as error:
            raise ReplayError(
                f"the broker did not move the offsets of {group} ({error.args[0].name()}); no worker of the group may "
                "be at work, and the account needs access to the group"
            ) from None
        for place in answer.topic_partitions or ():
            if place.error is not None:
                raise ReplayError(
                    f"the broker did not move partition {place.partition} of {group} ({place.error.name()}); try again"
                )

    def _listed(self, partitions: Mapping[int, int], spec: Any) -> dict[int, int]:
        asked = {TopicPartition(self._topic, partition): spec for partition in partitions}
        try:
            listed = self._admin.list_offsets(asked)
            return {place.partition: future.result(self._timeout_s).offset for place, future in listed.items()}
        except KafkaException as error:
            raise self._unreachable(error) from None

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        """The broker's answer. A broker that has just started is asked again until it has read its groups."""
        until = time.monotonic() + self._timeout_s
        while True:
            try:
                return ask()
            except KafkaException as error:
                if error.args[0].code() not in _LOADING or time.monotonic() > until:
                    raise
                time.sleep(_ASK_AGAIN_S)

    def _unreachable(self, error: KafkaException) -> BrokerUnreachableError:
        return BrokerUnreachableError(
            f"the broker at {self._settings.kafka.address} did not say where the group stands "
            f"({error.args[0].name()}); try again when it is well"
        )
