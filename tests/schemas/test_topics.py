"""The registry of topics keeps the promises that the pipeline stands on."""

import re

from tachograph.schemas.metrics import METRICS
from tachograph.schemas.topics import (
    BY_NAME,
    CAPTURES,
    CHECKPOINTS,
    DLQ,
    EVENTS,
    FOREVER,
    RECORDS,
    TOPICS,
    ViolationKind,
    violation_topic,
)


def test_names_are_unique_and_versioned() -> None:
    """A topic's name says its version, so that a breaking change gets its own topic."""
    assert len(BY_NAME) == len(TOPICS)
    assert all(re.fullmatch(r"tachograph\.[a-z_.]+\.v1", topic.name) for topic in TOPICS)


def test_the_broker_stamps_what_agents_send() -> None:
    """A producer cannot choose the time that sealing and retention go by."""
    assert EVENTS.config()["message.timestamp.type"] == "LogAppendTime"
    assert CAPTURES.config()["message.timestamp.type"] == "LogAppendTime"


def test_sealed_records_are_kept_forever() -> None:
    """Nothing the broker does by itself may remove a record or a checkpoint."""
    assert RECORDS.retention_ms == CHECKPOINTS.retention_ms == FOREVER


def test_every_kind_of_violation_has_a_topic() -> None:
    """An alert subscribes to the kind it needs."""
    kinds = {"alignment", "quality", "policy", "observability", "slo", "integrity"}
    assert {kind.value for kind in ViolationKind} == kinds
    assert all(violation_topic(kind) in BY_NAME for kind in ViolationKind)


def test_no_topic_is_compacted() -> None:
    """Compaction would remove records; every topic of ours keeps them until their time."""
    assert {topic.config()["cleanup.policy"] for topic in TOPICS} == {"delete"}


def test_metric_names_are_unique_and_explained() -> None:
    """One registry for the names that dashboards use."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(metric.name.startswith("tachograph_") and metric.help.endswith(".") for metric in METRICS)


def test_a_dead_letter_fits_whatever_was_refused() -> None:
    """The original bytes and the error headers together must not be too large for the dead-letter topic."""
    largest = max(topic.max_message_bytes for topic in TOPICS if topic is not DLQ)
    assert largest + 64 * 1024 < DLQ.max_message_bytes
