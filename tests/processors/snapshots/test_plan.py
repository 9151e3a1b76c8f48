"""Which captures are to be kept, and what is said of those that cannot be. No servers."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from tachograph.processors.names import TopicNames
from tachograph.processors.snapshots import (
    Capture,
    CaptureIndex,
    SnapshotCopier,
    SnapshotRequest,
    of_failure,
    of_sample,
)
from tachograph.processors.snapshots.captures import CapturePart, read_part
from tachograph.processors.snapshots.removals import removal_messages
from tachograph.processors.snapshots.requests import kept
from tachograph.processors.snapshots.rows import SnapshotOutput
from tachograph.producers.captures import CaptureKey, capture_messages
from tachograph.producers.publishing import Message
from tachograph.schemas.enums import FaultTrigger, SnapshotKind
from tachograph.schemas.models.derived import Snapshot, Violation
from tachograph.schemas.settings import ArtifactSettings, SnapshotSettings
from tachograph.schemas.wire import Codec, from_avro
from tachograph.sinks.artifacts import ArtifactStore, Objects, TenantKey
from tachograph.sinks.artifacts.capture import opened_capture, unpacked

KEY = bytes(range(32))
T0 = 1_780_000_000_000_000
DAY = 86_400_000_000
FAULTS = [trigger.value for trigger in FaultTrigger if trigger is not FaultTrigger.SAMPLED]


class OneKey:
    def of(self, tenant_id: str) -> TenantKey:  # noqa: ARG002 - a tenant's key, whoever it is
        return TenantKey(bytes(32))


def failure(trigger: str | None = "tool_error", **fields: Any) -> dict[str, Any]:
    record = {
        "tenant_id": "acme",
        "agent_id": "a",
        "run_id": "r",
        "trace_id": "t",
        "event_id": "e",
        "seq": 4,
        "occurred_at": T0,
        "step_id": "s",
        "tool_use_id": "failed-call",
        "trigger": trigger,
        "capture_ids": ["c"],
        "missing_pointer": None,
    }
    return record | fields


def messages(data: bytes = b"raw", capture_id: str = "c", **fields: Any) -> list[Message]:
    given: dict[str, Any] = {
        "trace_id": "t",
        "run_id": "r",
        "kind": SnapshotKind.TOOL_OUTPUT,
        "trigger": FaultTrigger.TOOL_ERROR,
        "step_id": "s",
        "tool_use_id": "call",
        "source": b"/tenants/acme/agents/a",
    }
    return capture_messages(CaptureKey(KEY), data, capture_id=capture_id, **given | fields)


def part_of(message: Message, offset: int, partition: int = 0) -> CapturePart:
    part = read_part(partition, offset, T0 + offset, message.key, message.headers)
    assert part is not None
    return part


class Topic:
    """The captures topic in memory: offsets are places in a list, None is a message that expired."""

    def __init__(self, index: CaptureIndex, log: Sequence[Message | None]) -> None:
        self.index = index
        self.log = list(log)
        self.arrives: list[Message] = []
        """What comes one by one with every look."""

    def scan(self, partition: int, since: int) -> None:  # noqa: ARG002 - all of it is recent
        if self.arrives:
            self.log.append(self.arrives.pop(0))
        for offset, message in enumerate(self.log):
            if message is not None:
                self.index.observe(part_of(message, offset, partition))

    def fetch(self, partition: int, offsets: Sequence[int]) -> list[bytes] | None:  # noqa: ARG002 - there is one
        found = [self.log[offset] for offset in offsets]
        return [message.value for message in found if message is not None] if None not in found else None


class Fixture:
    """A copier over a topic and a store in memory, at a time of its own."""

    def __init__(self, log: Sequence[Message | None] = (), store: MemoryStore | None = None) -> None:
        self.index = CaptureIndex(100)
        self.topic = Topic(self.index, log)
        self.store = ArtifactStore(Objects(store or MemoryStore()), OneKey())
        self.now = T0 / 1_000_000
        self.copier = SnapshotCopier(
            self.topic, self.index, self.store, SnapshotSettings(grace_s=10), now=lambda: self.now, sleep=self.sleep
        )

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def copy(self, *requests: SnapshotRequest) -> list[list[SnapshotOutput]]:
        return asyncio.run(self.copier.copy(requests))


@pytest.mark.parametrize("trigger", FAULTS)
def test_every_fault_asks_for_what_it_names(trigger: str) -> None:
    """Whatever the trigger, one request for each capture; the same record gives the same requests."""
    record = failure(trigger, capture_ids=["c1", "c2"])
    requests = of_failure(record, 3, T0)
    assert [(item.capture_id, item.trigger, item.partition, item.step_id) for item in requests] == [
        ("c1", trigger, 3, "s"),
        ("c2", trigger, 3, "s"),
    ]
    assert requests == of_failure(record, 3, T0)
    assert len({item.snapshot_id for item in requests}) == 2


@pytest.mark.parametrize("trigger", [None, "sampled", "nonsense"])
def test_what_is_no_fault_asks_for_nothing(trigger: str | None) -> None:
    """A failure without a trigger is a failure, not a fault."""
    assert of_failure(failure(trigger), 0, T0) == []


def test_what_the_recorder_lost_is_asked_for_once() -> None:
    """The failure that lost it says so; the SYSTEM_ERROR that follows repeats the pointer, and is not counted again."""
    lost = "capture:prompt:x"
    [request] = of_failure(failure(capture_ids=[], missing_pointer=lost), 0, T0)
    assert (request.capture_id, request.pointer, request.is_reported) == (None, lost, True)
    assert of_failure(failure("SYSTEM_ERROR", capture_ids=[], missing_pointer=lost), 0, T0) == []
    assert of_failure(failure("missing_pointer", capture_ids=[], missing_pointer="artifact://x"), 0, T0) == []
    outputs = Fixture().copy(request)[0]
    assert [output.schema for output in outputs] == ["rows.snapshots", "rows.violations"]


@given(st.integers(min_value=1, max_value=50), st.text(min_size=1))
def test_sampling_is_decided_by_the_event(every: int, event_id: str) -> None:
    """1 in 1 is all, 0 is none, and what 1 in N keeps does not depend on when it is asked."""
    assert kept(event_id, 1)
    assert not kept(event_id, 0)
    assert kept(event_id, every) == kept(event_id, every)


def test_sampling_keeps_its_share() -> None:
    """Of 10,000 events 1 in 10 keeps about 1,000."""
    assert 900 < sum(kept(f"event-{number}", 10) for number in range(10_000)) < 1100


def test_samples_are_kept_per_agent() -> None:
    """The agent's own figure, or that of every other; only when the last part is there, and only samples."""
    data = b"x" * (512 * 1024 + 1)
    first, last = messages(data, trigger=FaultTrigger.SAMPLED, event_id="e9")
    assert of_sample(part_of(first, 0), {}) == []
    [request] = of_sample(part_of(last, 1), {})
    assert (request.tenant_id, request.agent_id, request.event_id, request.step_id) == ("acme", "a", "e9", "s")
    assert of_sample(part_of(last, 1), {"a": 0}) == []
    assert of_sample(part_of(last, 1), {"*": 0}) == []
    assert of_sample(part_of(last, 1), {"*": 0, "a": 1}) == [request]
    assert of_sample(part_of(messages()[0], 0), {}) == []


def test_a_capture_is_copied_as_it_is_and_a_repeat_is_the_same() -> None:
    """Still encrypted; the row has the pointer, the broker's time and the output's own call."""
    fixture, data = Fixture(messages(b"y" * (1024 * 1024 + 3))), b"y" * (1024 * 1024 + 3)
    [request] = of_failure(failure(), 0, T0)
    [[output]] = fixture.copy(request)
    row = output.row
    assert (row["stored"], row["kind"], row["tool_use_id"], row["capture_offset"]) == (True, "tool_output", "call", 0)
    assert row["created_at"] == T0 + 2, "when the broker had the last part"
    from_avro(Snapshot, row)
    blob = asyncio.run(fixture.store.get("acme", row["artifact_id"]))
    assert opened_capture(unpacked(blob), KEY) == data
    assert data[:100] not in blob
    fixture.now += 1000
    assert fixture.copy(request) == [[output]]


@pytest.mark.parametrize(
    "log",
    [
        pytest.param([], id="it never arrived"),
        pytest.param([None], id="it has expired"),
        pytest.param(messages(b"z" * (1024 * 1024))[:1], id="a part is missing"),
        pytest.param(messages(trace_id="other"), id="it belongs to another trace"),
        pytest.param(messages(source=b"/tenants/else/agents/a"), id="it belongs to another tenant"),
    ],
)
def test_what_is_missing_has_a_row_a_violation_and_a_system_error(log: list[Message | None]) -> None:
    """Each names the pointer; a repeat says the same."""
    fixture = Fixture(log)
    [request] = of_failure(failure(), 0, T0)
    [outputs] = fixture.copy(request)
    snapshot, violation, error = (output.row for output in outputs)
    assert (snapshot["stored"], snapshot["artifact_id"], snapshot["created_at"]) == (False, None, None)
    assert (violation["code"], violation["evidence"]) == ("integrity.snapshot_missing", "capture:c")
    assert from_avro(Violation, violation).kind.value == "integrity"
    assert (error["trigger"], error["missing_pointer"], error["run_id"]) == ("SYSTEM_ERROR", "capture:c", "r")
    for output in outputs:
        Codec().encode(output.schema, output.row)
    assert fixture.copy(request) == [outputs]


def test_a_capture_that_comes_late_is_waited_for() -> None:
    """Two topics have no common order: the record may be there first."""
    fixture = Fixture([None])
    fixture.topic.arrives = messages()
    [request] = of_failure(failure(), 0, T0)
    assert [output.row["stored"] for output in fixture.copy(request)[0]] == [True]
    late = Fixture()
    late.copy(request)
    assert late.now >= T0 / 1_000_000 + 10, "and not given up before the grace is over"


def test_an_erased_run_gets_no_new_artifact() -> None:
    """The key is destroyed; the row says that the bytes are not stored."""
    fixture = Fixture(messages())
    name = fixture.store.subject_name("acme", "run:r")
    asyncio.run(fixture.store.erase("acme", name, now=T0, reason="request"))
    [request] = of_failure(failure(), 0, T0)
    assert [output.row.get("stored") for output in fixture.copy(request)[0]] == [False, None, None]


def test_a_removal_is_a_row_of_the_same_snapshot() -> None:
    """What retention removed says when, under the id it always had."""
    fixture = Fixture(messages())
    [request] = of_failure(failure(), 0, T0)
    [[output]] = fixture.copy(request)

    async def removed() -> list[Any]:
        due = await fixture.store.due(T0 + 15 * DAY, ArtifactSettings())
        return [await fixture.store.expire(entry, T0 + 15 * DAY) for entry in due]

    [message] = removal_messages(asyncio.run(removed()), TopicNames("p."), Codec())
    row = Codec().decode_as("rows.snapshots", message.value)
    assert row == output.row | {"deleted_at": T0 + 15 * DAY}
    assert (message.topic, message.partition, message.headers) == ("p.tachograph.rows.snapshots.v1", 0, [])


@given(st.permutations(range(3)), st.lists(st.integers(0, 2), max_size=4))
def test_the_index_needs_every_part_in_any_order(order: list[int], repeats: list[int]) -> None:
    """A part that is read again changes nothing."""
    parts = messages(b"x" * (1024 * 1024 + 1))
    index = CaptureIndex(10)
    for place in order[:2] + [place for place in repeats if place != order[2]]:
        index.observe(part_of(parts[place], place))
    assert index.find(0, "c", "t") is None
    index.observe(part_of(parts[order[2]], order[2]))
    found = index.find(0, "c", "t")
    assert isinstance(found, Capture)
    assert found.offsets == {0: 0, 1: 1, 2: 2}


def test_the_index_is_bounded() -> None:
    """Past its bound the oldest goes, and says where it was."""
    index = CaptureIndex(2)
    forgotten = [index.observe(part_of(messages(capture_id=f"c{number}")[0], number, number)) for number in range(3)]
    assert (forgotten, len(index)) == ([None, None, 0], 2)


@pytest.mark.parametrize("part", ["", "1/1", "0/0", "x/2", "-1/2"])
def test_what_is_no_capture_is_none(part: str) -> None:
    """Foreign messages on the topic are passed over."""
    assert read_part(0, 0, T0, b"t", [("tg-capture-id", b"c"), ("tg-capture-part", part.encode())]) is None
