"""Committing offsets with notes, and what the broker's answers mean."""

from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tachograph.sinks.errors import (
    BrokerTroubleError,
    FencedError,
    OffsetMetadataError,
    OwnershipLostError,
    SinkError,
    StopError,
)

# The group has gone on, or is just doing so. Polling tells which: either the partitions are taken away, or the same
# commit succeeds under the new generation.
_REBALANCED: Final = frozenset(
    {KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.REBALANCE_IN_PROGRESS}
)
# Being fenced is the one thing that is fatal to a consumer; after the first report librdkafka says only "fatal".
_FENCED: Final = frozenset({KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL})  # noqa: SLF001
_TRANSIENT: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - librdkafka's own codes begin with an underscore
        KafkaError._NO_OFFSET,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._WAIT_COORD,  # noqa: SLF001
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.REQUEST_TIMED_OUT,
    }
)


def meaning(error: KafkaError) -> SinkError:
    """Our error for Kafka's, as far as commits and group membership go."""
    code = error.code()
    if code in _FENCED:
        return FencedError(
            "another sink has joined under the same sink.instance_id and replaced this one. "
            "Run one sink per instance id."
        )
    if code in _REBALANCED:
        return OwnershipLostError(f"the consumer group has gone on ({error.name()})")
    if code == KafkaError.OFFSET_METADATA_TOO_LARGE:
        return OffsetMetadataError(
            "the broker does not take the sink's notes: set offset.metadata.max.bytes to 4096 or more on the broker"
        )
    if code in _TRANSIENT or error.retriable():
        return BrokerTroubleError(f"Kafka did not take the offsets ({error.name()})")
    return StopError(f"Kafka refuses the sink ({error.name()}). Check its access to the group and its topics.")


def commit(consumer: Consumer, offsets: Sequence[TopicPartition]) -> None:
    """Commit all offsets in one request, with their metadata. Raises if one of them was not taken."""
    try:
        answered = consumer.commit(offsets=list(offsets), asynchronous=False)
    except KafkaException as error:
        raise meaning(error.args[0]) from None
    for offset in answered or ():
        if offset.error is not None:
            raise meaning(offset.error)


def committed(consumer: Consumer, partitions: Sequence[TopicPartition], timeout_s: float) -> list[TopicPartition]:
    """Committed offsets with their metadata; a negative offset where there is none."""
    try:
        answered: list[TopicPartition] = consumer.committed(list(partitions), timeout=timeout_s)
    except KafkaException as error:
        raise BrokerTroubleError(f"Kafka did not say what is committed ({error.args[0].name()})") from None
    for offset in answered:
        if offset.error is not None:
            raise BrokerTroubleError(f"Kafka did not say what is committed ({offset.error.name()})")
    return answered
