"""A batch: whatever way the stream is cut, the outputs are the same, and bad input is kept whole."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.batch import MAX_ROW_BYTES, Batch
from tachograph.processors.core import process
from tachograph.processors.deadletters import Message, RawRecord
from tachograph.processors.errors import DeadLetterLimitError
from tachograph.processors.runs import ENDED_GRACE
from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.settings import DeadLetterSettings
from tachograph.schemas.wire import to_avro
from tests.processors.records import APPENDED, CODEC, PartitionWorker, raw, raw_record, run_of
from tests.schemas import samples


def _stream() -> list[RawRecord]:
    """Three runs interleaved, with bad bytes between them."""
    runs = [run_of("a"), run_of("b", length=20), run_of("c", tenant="other")]
    records = [item for group in zip(*(run[:12] for run in runs), strict=True) for item in group] + runs[1][12:]
    stream = [raw_record(offset, name, record) for offset, (name, record) in enumerate(records)]
    stream.insert(7, raw(7, b"junk"))
    return [record._replace(offset=offset) for offset, record in enumerate(stream)]


STREAM = _stream()


def _headers(message: Message) -> dict[str, Any]:
    return dict(message.headers)


def _coordinates(message: Message) -> tuple[int, int]:
    source = SourceCoordinates.from_bytes(_headers(message)[Header.SOURCE])
    return source.offset, source.output_index


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8), restore=st.booleans())
def test_any_split_into_batches_gives_the_same_outputs(cuts: list[int], *, restore: bool) -> None:
    """Also if every state goes through the changelog between batches."""
    whole = PartitionWorker().run(STREAM).messages
    worker, messages = PartitionWorker(), []
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, end in pairwise(edges):
        batch = worker.run(STREAM[start:end])
        messages += batch.messages
        if restore:
            for key, state in batch.changed.get(0, {}).items():
                worker.runs.forget(key)
                worker.runs.restore(key, state.to_bytes())
    assert messages == whole


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_a_batch_may_be_processed_in_parts(cuts: list[int]) -> None:
    """So that what one part wrote is on its way during the next. Nothing else tells it from a batch in one go."""
    whole = PartitionWorker().run(STREAM)
    worker, batch = PartitionWorker(), Batch()
    for start, end in pairwise([0, *sorted(cuts), len(STREAM)]):
        worker.processor.extend(batch, STREAM[start:end], lambda _: worker.runs)
    worker.processor.close(batch, lambda _: worker.runs)
    assert batch == whole


@given(crash=st.integers(0, len(STREAM)), committed=st.integers(0, len(STREAM)))
def test_what_the_states_hold_is_skipped(crash: int, committed: int) -> None:
    """States saved, offsets not committed: only dead letters, which have no state, are made again."""
    committed = min(crash, committed)
    worker = PartitionWorker()
    first = worker.run(STREAM[:crash]).messages
    again = worker.run(STREAM[committed:])
    fresh = [message for message in again.messages if _coordinates(message)[0] >= crash]
    assert first + fresh == PartitionWorker().run(STREAM).messages
    repeated = [message for message in again.messages if _coordinates(message)[0] < crash]
    assert all(message.topic == "tachograph.dlq.v1" for message in repeated)
    assert again.repeats == sum(1 for record in STREAM[committed:crash] if record.value != b"junk")


def test_outputs_keep_the_order_of_their_source() -> None:
    """Coordinates rise, within a record by index."""
    coordinates = [_coordinates(message) for message in PartitionWorker().run(STREAM).messages]
    assert coordinates == sorted(set(coordinates))


def test_the_count_of_a_run_is_its_own() -> None:
    """Runs of other tenants with the same trace do not add to it."""
    rows = [
        CODEC.decode_as("rows.agent_runs", message.value)
        for message in PartitionWorker().run(STREAM).messages
        if message.topic == "tachograph.rows.agent_runs.v1"
    ]
    ends = {row["run_id"]: (row["emitted"], row["received"]) for row in rows if row["event_type"] == "run_ended"}
    assert ends == {"a": (12, 12), "b": (20, 20), "c": (12, 12)}


def test_bad_bytes_become_a_dead_letter_with_everything_in_it() -> None:
    """Original bytes, key and headers; Connect's error headers; headers that pretend to be ours are left out."""
    headers = [("traceparent", b"00-x"), (Header.SOURCE.value, b"forged"), (Header.ERROR_STAGE.value, b"forged")]
    [letter] = PartitionWorker().run([raw(41, b"junk", partition=3, key=b"key", headers=headers)]).messages
    assert letter == Message(
        "tachograph.dlq.v1",
        3,
        b"key",
        b"junk",
        [
            ("traceparent", b"00-x"),
            ("tg-source", SourceCoordinates(41, 0, "tachograph.events.v1/3").to_bytes()),
            ("__connect.errors.topic", b"tachograph.events.v1"),
            ("__connect.errors.partition", b"3"),
            ("__connect.errors.offset", b"41"),
            ("__connect.errors.stage", b"DECODE"),
            ("__connect.errors.class.name", b"tachograph.worker"),
            ("__connect.errors.exception.class.name", b"tachograph.schemas.errors.UnknownFramingError"),
            (
                "__connect.errors.exception.message",
                b"the message starts with neither C3 01 (single-object) nor 00 (Confluent)",
            ),
            ("tg-errors.timestamp", str((APPENDED + 41_000_000) // 1000).encode()),
        ],
    )


@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param(None, "EmptyMessageError", id="no value"),
        pytest.param(b"", "EmptyMessageError", id="empty value"),
        pytest.param(CODEC.encode("RunStarted", to_avro(samples.RUN_STARTED))[:-9], "TruncatedError", id="truncated"),
        pytest.param(
            CODEC.encode("DecisionRecord", to_avro(samples.DECISION_RECORD)), "WrongTypeError", id="not an agent's"
        ),
    ],
)
def test_every_kind_of_bad_bytes_is_named(value: bytes | None, error: str) -> None:
    """The class of the error is a counter's label and a header."""
    batch = PartitionWorker().run([raw(0, value)])
    assert batch.dead_letters == {error: 1}
    assert batch.messages[0].value == value
    assert batch.next_offsets == {0: 1}


def test_a_record_that_breaks_the_core_becomes_a_dead_letter_without_its_text() -> None:
    """An unexpected error's text may quote the record: only its class is kept, and the others go on."""

    def breaks_on_one(state: Any, incoming: Any) -> Any:
        if incoming.offset == 1:
            raise RuntimeError("secret text of the record")
        return process(state, incoming)

    worker = PartitionWorker(core=breaks_on_one)
    batch = worker.run([raw_record(i, name, record) for i, (name, record) in enumerate(run_of("a")[:3])])
    letter = batch.messages[1]
    assert _headers(letter)[Header.ERROR_STAGE] == b"PROCESS"
    assert _headers(letter)[Header.ERROR_EXCEPTION] == b"builtins.RuntimeError"
    assert b"secret" not in b"".join(_headers(letter).values())
    assert [message.topic for message in batch.messages] == [
        "tachograph.rows.agent_runs.v1",
        "tachograph.dlq.v1",
        "tachograph.rows.decision_events.v1",
    ]


def test_a_row_too_large_for_the_broker_becomes_a_dead_letter() -> None:
    """Otherwise it would stop the worker, and its successor, forever."""
    record = to_avro(samples.AGENT_FAILURE) | {"message": "x" * MAX_ROW_BYTES}
    batch = PartitionWorker().run([raw_record(0, "AgentFailure", record)])
    assert batch.dead_letters == {"RowTooLargeError": 1}


def test_past_the_limit_nothing_comes_of_the_batch() -> None:
    """The error leaves no batch that could be acknowledged."""
    worker = PartitionWorker(DeadLetterSettings(max_consecutive=5))
    with pytest.raises(DeadLetterLimitError):
        worker.run([raw(offset, b"junk") for offset in range(6)])


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        pytest.param({}, b"acme/run/a", id="its run"),
        pytest.param({"run_id": None}, b"acme/trace/trace-a", id="its trace"),
        pytest.param({"run_id": None, "trace_id": None}, b"acme/key/k", id="its Kafka key"),
    ],
)
def test_a_record_is_counted_with_what_it_names(changes: dict[str, Any], key: bytes) -> None:
    """Even if it names no run."""
    name, record = run_of("a")[4]
    batch = PartitionWorker().run([raw_record(0, name, record | changes)])
    assert [*batch.changed[0]] == [key]


def test_a_record_that_names_nothing_at_all_is_counted_with_its_partition() -> None:
    """No run, no trace, no key."""
    name, record = run_of("a")[4]
    nothing = record | {"run_id": None, "trace_id": None}
    batch = PartitionWorker().run([raw_record(0, name, nothing, partition=2, key=None)])
    assert [*batch.changed[2]] == [b"acme/2:unknown"]
    assert [message.topic for message in batch.messages] == [
        "tachograph.rows.agent_decisions.v1",
        "tachograph.violations.observability.v1",
    ]


def test_a_finished_run_is_deleted_by_a_later_batch() -> None:
    """Once, and by the append time of later records."""
    worker = PartitionWorker()
    finished = worker.run([raw_record(i, name, record) for i, (name, record) in enumerate(run_of("a"))])
    assert finished.forgotten == {}
    name, record = run_of("b")[0]
    later = raw_record(50, name, record)._replace(append_time=APPENDED + ENDED_GRACE + 60_000_000)
    assert worker.run([later]).forgotten == {0: [b"acme/run/a"]}
    assert worker.run([later._replace(offset=51)]).forgotten == {}


def test_a_run_that_a_batch_itself_changed_is_not_deleted_by_it() -> None:
    """Its state must be on the broker before it may go: after a crash the records would make a run without a start."""
    worker = PartitionWorker()
    records = [raw_record(i, name, record) for i, (name, record) in enumerate(run_of("a"))]
    name, record = run_of("b")[0]
    later = raw_record(50, name, record)._replace(append_time=APPENDED + ENDED_GRACE + 60_000_000)
    batch = worker.run([*records, later])
    assert batch.forgotten == {}
    assert [*batch.changed[0]] == [b"acme/run/a", b"acme/run/b"]
    assert worker.run([later._replace(offset=51)]).forgotten == {0: [b"acme/run/a"]}
