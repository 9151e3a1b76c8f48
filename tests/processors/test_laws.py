"""Whatever the interleaving, the batches, the crashes and the repeats: the set of outputs is the same."""

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.processors.deadletters import Message, RawRecord
from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.wire import to_avro
from tests.processors.records import CODEC, PartitionWorker, own_span, raw_record
from tests.processors.test_join import leg, request, result_in_event
from tests.schemas import samples

Records = list[tuple[str, dict[str, Any]]]
Landed = Counter[tuple[str, str]]


def _run(run_id: str, *parts: tuple[Any, dict[str, Any]], skip: int | None = None) -> Records:
    """A run of these parts, with its start and end; ``skip`` leaves one place out, as a loss would."""
    total = len(parts) + 2
    listed = [(samples.RUN_STARTED, {}), *parts, (samples.RUN_ENDED, {"emitted": total, "dropped": 0})]
    records = []
    for seq, (model, changes) in enumerate(listed):
        if seq != skip:
            place = {"run_id": run_id, "trace_id": f"t-{run_id}", "seq": seq, "event_id": f"{run_id}-{seq}"}
            records.append((type(model).__name__, to_avro(model) | own_span(model, seq) | changes | place))
    return records


RUNS = [
    _run("whole", request(), leg("pre"), leg("post"), leg("result"), (samples.AGENT_DECISION, {})),
    _run("lost", request(), leg("pre"), (samples.AGENT_FAILURE, {}), (samples.CONTEXT_MANIFEST, {}), skip=3),
    _run("foreign", request(evaluation=None, span_id=None), result_in_event(), leg("result", "tc_7")),
    _run("nested", leg("pre", "a"), leg("pre", "b", parent_tool_use_id="a"), leg("post", "b"), leg("result", "b")),
]


@st.composite
def streams(draw: st.DrawFn) -> list[RawRecord]:
    """The runs, interleaved in any way that keeps the order within each, with repeats a little later."""
    left = [list(run) for run in RUNS]
    picked: Records = []
    while any(left):
        run = draw(st.sampled_from([run for run in left if run]))
        picked.append(run.pop(0))
        if draw(st.integers(0, 5)) == 0:
            picked.append(draw(st.sampled_from(picked[-4:])))
    return [raw_record(offset, name, record) for offset, (name, record) in enumerate(picked)]


class Sink:
    """Keeps what is above its mark, as the real one does."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str], tuple[int, int]] = {}
        self.landed: Landed = Counter()

    def read(self, messages: list[Message]) -> None:
        for message in messages:
            header = dict(message.headers)[Header.SOURCE]
            assert isinstance(header, bytes)
            source = SourceCoordinates.from_bytes(header)
            place, stream = (source.offset, source.output_index), (message.topic, source.stream)
            if place > self._marks.get(stream, (-1, -1)):
                self._marks[stream] = place
                row = CODEC.decode(message.value).record
                row.pop("received_at", None)  # the one thing that the place in the stream decides
                row.pop("repeats", None)
                self.landed[message.topic, repr(sorted(row.items()))] += 1


def _undisturbed() -> Landed:
    sink = Sink()
    worker, offset = PartitionWorker(), 0
    for run in RUNS:
        sink.read(worker.run([raw_record(offset + place, *item) for place, item in enumerate(run)]).messages)
        offset += len(run)
    return sink.landed


EXPECTED = _undisturbed()


@settings(max_examples=150, deadline=None)
@given(stream=streams(), data=st.data())
def test_the_set_of_outputs_is_the_same(stream: list[RawRecord], data: st.DataObject) -> None:
    """A crash may come after the outputs were stored, or after the states were; then the worker starts anew."""
    sink, worker, saved = Sink(), PartitionWorker(), dict[bytes, bytes]()
    position = 0
    crashes = 0
    while position < len(stream):
        size = data.draw(st.integers(1, len(stream)), label="batch")
        batch = worker.run(stream[position : position + size])
        crash = data.draw(st.sampled_from(["", "", "outputs", "states"]), label="crash") if crashes < 6 else ""
        sink.read(batch.messages)
        if crash != "outputs":
            saved |= {key: state.to_bytes() for key, state in batch.changed.get(0, {}).items()}
        if crash:
            crashes += 1
            worker = PartitionWorker()
            for key, value in saved.items():
                worker.runs.restore(key, value)
            worker.runs.settle()
        else:
            position += size
    assert sink.landed == EXPECTED


def test_the_runs_show_something() -> None:
    """Or the law would be about nothing."""
    topics = Counter(topic for topic, _ in EXPECTED.elements())
    assert topics["tachograph.rows.tool_calls.v1"] == 6
    assert topics["tachograph.violations.observability.v1"] >= 6
