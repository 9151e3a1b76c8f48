"""A replay changes no row in ClickHouse, whoever moved the offsets and whatever was lost."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from tachograph.console.database import Reader, reader
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import BY_NAME
from tests.pipeline.records import expected_rows, mixed_records
from tests.pipeline.test_exactly_once import landed
from tests.processors.pipeline import PARTITIONS, Pipeline, terminate
from tests.sinks.running import eventually, running_sink

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


@pytest.fixture
def pipeline(stack: Settings, tmp_path: Path) -> Iterator[Pipeline]:
    """Topics of its own: on the shared ones, reading from 0 would read what other tests wrote."""
    made = Pipeline(stack, tmp_path)
    made.create_topics()
    yield made
    made.stop()


def content(database: Reader, label: str, tables: list[str]) -> dict[str, tuple[Any, ...]]:
    """Rows of this test by table: how many, and a hash over all of their columns."""
    return {
        table: tuple(
            database.rows(
                f"SELECT count(), sum(sipHash64(*)) FROM {table} WHERE startsWith(run_id, {{label:String}})",  # noqa: S608 - our tables
                {"label": label},
            )[0]
        )
        for table in tables
    }


def move_by_hand(pipeline: Pipeline) -> None:
    """As any tool for consumer groups does, which knows nothing of what was written."""
    start = [TopicPartition(pipeline.names.events, partition, 0) for partition in range(PARTITIONS)]
    request = [ConsumerGroupTopicPartitions(pipeline.app_id, start)]
    answer = pipeline.admin.alter_consumer_group_offsets(request)[pipeline.app_id].result()
    assert not any(place.error for place in answer.topic_partitions)


def lose_the_changelog(pipeline: Pipeline) -> None:
    pipeline.admin.delete_topics([pipeline.changelog])[pipeline.changelog].result()
    pipeline.wait_until(lambda: pipeline.changelog not in pipeline.admin.list_topics(timeout=30).topics)


def test_no_row_changes(stack: Settings, pipeline: Pipeline) -> None:
    """From 0 with the state, from 0 without it, and from 0 by another tool, whose repeats the sink leaves out."""
    label, group = pipeline.id, f"{pipeline.id}-sink"
    records = list(mixed_records(600, label))
    expected = expected_rows(records)
    total = sum(sum(by_event.values()) for by_event in expected.values())
    pipeline.publish_raw([(record.key, record.value) for record in records])
    topics = [replace(BY_NAME[name.removeprefix(pipeline.names.prefix)], name=name) for name in pipeline.names.outputs]
    own_sink = stack.sink.model_copy(update={"group_id": group, "batch_within_s": 0.1})

    def sink_is_at_the_end() -> bool:
        at: Any = pipeline.offsets(group, pipeline.names.outputs)
        return all(at.get(place) == end for place, end in pipeline.ends(pipeline.names.outputs).items())

    with reader(stack) as database, running_sink(stack.model_copy(update={"sink": own_sink}), topics):
        worker = pipeline.start()
        eventually(lambda: landed(database, label, expected) >= total, "the rows")
        assert terminate(worker) == 0, pipeline.log()
        before, written, ends = content(database, label, [*expected]), len(pipeline.written()), pipeline.committed()
        assert sum(rows for rows, _ in before.values()) == total

        worker = pipeline.start("--from", "0")
        pipeline.wait_until(lambda: pipeline.log().count("is read again from 0") == PARTITIONS, worker)
        pipeline.wait_until_committed(ends, worker)
        assert terminate(worker) == 0, pipeline.log()
        assert (content(database, label, [*expected]), len(pipeline.written())) == (before, written)

        lose_the_changelog(pipeline)
        worker = pipeline.start("--from", "0")
        pipeline.wait_until(lambda: pipeline.log().count("is read again from 0") == 2 * PARTITIONS, worker)
        pipeline.wait_until_committed(ends, worker)
        assert terminate(worker) == 0, pipeline.log()
        assert (content(database, label, [*expected]), len(pipeline.written())) == (before, written)

        lose_the_changelog(pipeline)
        kept = f"{pipeline.app_id}-written"
        pipeline.admin.delete_consumer_groups([kept])[kept].result()
        move_by_hand(pipeline)
        worker = pipeline.start()
        pipeline.wait_until_committed(ends, worker)
        assert terminate(worker) == 0, pipeline.log()
        assert len(pipeline.written()) == 2 * written, "every output was written again"
        eventually(sink_is_at_the_end, "the sink to read the repeats")
        assert content(database, label, [*expected]) == before
