"""Whatever the arrival, the batches, the crashes and the repeats: the set of outputs is the same."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tachograph.processors.batch import Batch
from tachograph.processors.deadletters import Message, RawRecord
from tachograph.processors.sweep import SILENCE, sweep
from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.topics import DLQ, ViolationKind, row_topic, violation_topic
from tachograph.schemas.wire import to_avro
from tests.processors.records import APPENDED, CODEC, PartitionWorker, own_span, raw, raw_record
from tests.processors.test_join import leg, request, result_in_event
from tests.schemas import samples

Run = list[tuple[str, dict[str, Any]]]
"""Records of one run, in the order of their producer."""

PARTITIONS = 2
MOST_DISASTERS = 8
FOREIGN: dict[str, Any] = {"evaluation": None, "span_id": None}
FAR = APPENDED + 10 * SILENCE
JUNK = b"not a record"

PARTS = [
    *(part for call in ("a", "b") for part in (request(call), result_in_event(call))),
    *(leg(name, call) for call in ("a", "b") for name in ("pre", "post", "result")),
    leg("pre", "c", parent_tool_use_id="a"),
    leg("pre", "a", capture_mode=None),
    request("d", **FOREIGN),
    (samples.STEP_STARTED, {}),
    (samples.STEP_STARTED, {"step_id": "step_2", "span_id": "2" * 16, "parent_span_id": "3" * 16}),
    (samples.STEP_ENDED, {}),
    (samples.CONTEXT_MANIFEST, {}),
    (samples.AGENT_DECISION, {}),
    (samples.AGENT_DECISION, {"trace_id": "another"}),
    (samples.AGENT_QUALITY_SIGNAL, {}),
    (samples.AGENT_FAILURE, {}),
    (samples.EVENTS_DROPPED, {}),
    (samples.RECORD_PROPOSAL, {}),
]
"""What a run may be made of: whole tool calls and torn ones, foreign events, losses."""


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Run]:
    """Up to four runs of any parts. Some lose a record on the way, some never end."""
    made = {}
    for number in range(draw(st.integers(1, 4))):
        run_id = f"run-{number}"
        parts: list[Any] = draw(st.lists(st.sampled_from(PARTS), max_size=8))
        listed: list[Any] = [(samples.RUN_STARTED, {}), *parts]
        if draw(st.integers(0, 3)):
            listed.append((samples.RUN_ENDED, {"emitted": len(listed) + 1, "dropped": 0}))
        lost = draw(st.integers(0, 2 * len(listed)))
        made[run_id] = [
            (
                type(model).__name__,
                to_avro(model)
                | {"trace_id": f"t-{run_id}"}
                | own_span(model, seq)
                | changes
                | {"run_id": run_id, "seq": seq, "event_id": f"{run_id}-{seq}"},
            )
            for seq, (model, changes) in enumerate(listed)
            if seq != lost
        ]
    return made


@st.composite
def logs(draw: st.DrawFn, sent: dict[str, Run]) -> list[list[RawRecord]]:
    """The runs as Kafka may hold them: each in order on one partition, interleaved, some records again much later."""
    left = {run_id: [*records] for run_id, records in sent.items()}
    home = {run_id: draw(st.integers(0, PARTITIONS - 1)) for run_id in sent}
    picked: list[list[tuple[str, dict[str, Any]] | None]] = [[None] for _ in range(PARTITIONS)]
    while any(left.values()):
        run_id = draw(st.sampled_from([run_id for run_id, records in left.items() if records]))
        log = picked[home[run_id]]
        log.append(left[run_id].pop(0))
        if draw(st.integers(0, 4)) == 0:
            log.append(draw(st.sampled_from(log[1:])))
    return [
        [
            raw(offset, JUNK, partition=partition) if item is None else raw_record(offset, *item, partition=partition)
            for offset, item in enumerate(log)
        ]
        for partition, log in enumerate(picked)
    ]


class Sink:
    """Keeps what is above its marks, as the real one does."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str], tuple[int, int]] = {}
        self.landed: Counter[tuple[str, str]] = Counter()

    def read(self, messages: Iterable[Message]) -> None:
        for message in messages:
            header = dict(message.headers)[Header.SOURCE]
            assert isinstance(header, bytes)
            source = SourceCoordinates.from_bytes(header)
            place, stream = (source.offset, source.output_index), (message.topic, source.stream)
            if place > self._marks.get(stream, (-1, -1)):
                self._marks[stream] = place
                self.landed[message.topic, _content(message)] += 1


def _content(message: Message) -> str:
    """The row, without what the place in the stream decides: the broker's time, and the count of repeats."""
    if message.topic == DLQ.name:
        return repr(message.value)
    row = CODEC.decode(message.value).record
    return repr(sorted((name, value) for name, value in row.items() if name not in {"received_at", "repeats"}))


def undisturbed(sent: dict[str, Run]) -> Counter[tuple[str, str]]:
    """What one worker makes of the runs one after the other, in one batch, and of their silence at the end."""
    sink, worker = Sink(), PartitionWorker()
    items = [item for records in sent.values() for item in records]
    sink.read(worker.run([raw_record(offset, *item) for offset, item in enumerate(items)]).messages)
    sink.read(worker.processor.swept_messages(0, sweep(worker.runs, FAR)))
    sink.landed[DLQ.name, repr(JUNK)] = PARTITIONS
    return sink.landed


class Partition:
    """A partition of the input with what the broker keeps beside it: changelog, outputs, the committed offset."""

    def __init__(self, number: int, log: list[RawRecord], data: st.DataObject) -> None:
        self.number = number
        self.log = log
        self.data = data
        self.committed = 0
        self.changelog: list[tuple[bytes, bytes]] = []
        self.sink = Sink()
        self.late: list[Batch] = []
        """Batches of workers that lost the partition before they had written anything."""

    def assigned(self) -> PartitionWorker:
        """A worker that has read the changelog."""
        worker = PartitionWorker()
        for key, value in self.changelog:
            worker.runs.restore(key, value)
        worker.runs.settle()
        return worker

    def write(self, messages: list[Message], *, torn: bool = False) -> None:
        """Outputs reach their topics; if torn, of each topic only the first few."""
        if torn:
            topics = sorted({message.topic for message in messages})
            room = {topic: self.data.draw(st.integers(0, 3), label=topic) for topic in topics}
            kept = []
            for message in messages:
                if room[message.topic] > 0:
                    room[message.topic] -= 1
                    kept.append(message)
            messages = kept
        self.sink.read(messages)

    def save(self, batch: Batch, *, torn: bool = False) -> None:
        """States reach the changelog; if torn, only the first few."""
        states = [(key, state.to_bytes()) for key, state in batch.changed.get(self.number, {}).items()]
        self.changelog += states[: self.data.draw(st.integers(0, len(states)), label="states")] if torn else states

    def work(self) -> None:
        """Process the whole log, whatever happens to the workers that do it."""
        worker, disasters = self.assigned(), 0
        while self.committed < len(self.log):
            size = self.data.draw(st.integers(1, len(self.log)), label="batch")
            batch = worker.run(self.log[self.committed : self.committed + size])
            fates = ["done", "done", "lost in outputs", "lost in states", "lost after states", "lost before outputs"]
            fate = self.data.draw(st.sampled_from(fates), label="fate") if disasters < MOST_DISASTERS else "done"
            if fate == "lost before outputs":
                self.late.append(batch)
            else:
                self.write(batch.messages, torn=fate == "lost in outputs")
            if fate in {"done", "lost in states", "lost after states"}:
                self.save(batch, torn=fate == "lost in states")
            if fate == "done":
                self.committed += size
            else:
                disasters += 1
                worker = self.assigned()
            writes: bool = bool(self.late) and self.data.draw(st.booleans(), label="a zombie writes")
            if writes:
                zombie = self.late.pop()
                torn = self.data.draw(st.booleans(), label="torn")
                self.write(zombie.messages, torn=torn)
                if not torn:  # it too saves states only once all of its outputs are stored
                    self.save(zombie, torn=True)
        for _ in range(self.data.draw(st.integers(1, 2), label="sweeps")):  # the first may not have saved its states
            worker = self.assigned()
            self.write(worker.processor.swept_messages(self.number, sweep(worker.runs, FAR)))


@pytest.mark.timeout(600)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(sent=runs(), data=st.data())
def test_the_set_of_outputs_is_the_same(sent: dict[str, Run], data: st.DataObject) -> None:
    """Any interleaving, batches and repeats, and workers that die or lose a partition at any step, zombies included."""
    landed: Counter[tuple[str, str]] = Counter()
    for number, log in enumerate(data.draw(logs(sent), label="logs")):
        partition = Partition(number, log, data)
        partition.work()
        landed += partition.sink.landed
    assert landed == undisturbed(sent)


def test_the_law_is_about_something() -> None:
    """Runs of these parts give rows of every kind, violations, and a dead letter."""
    parts: list[Any] = [(samples.RUN_STARTED, {}), *PARTS]
    run = [
        (
            type(model).__name__,
            to_avro(model) | own_span(model, seq) | changes | {"run_id": "r", "seq": seq, "event_id": f"r-{seq}"},
        )
        for seq, (model, changes) in enumerate(parts)
    ]
    topics = Counter(topic for topic, _ in undisturbed({"r": run}).elements())
    assert topics[row_topic("tool_calls")] >= 4
    assert topics[violation_topic(ViolationKind.OBSERVABILITY)] >= 10
    assert topics[row_topic("evaluations")] == 5
    assert topics[DLQ.name] == PARTITIONS
    assert {row_topic("agent_runs"), row_topic("context_items"), row_topic("record_proposals")} <= topics.keys()
