"""Nothing is lost silently: what is not kept has no number, is counted, and is reported."""

import random
import threading
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tachograph.producers import Run, Step
from tachograph.producers.publishing import Dropped, Message, SpoolFull
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.enums import DropReason
from tests.producers.support import drop_when, explicit, make_tracer, types, validated

SIGNAL: dict[str, Any] = {"signal_type": "tool_success", "signal_code": "first_attempt", "value": True}


def test_a_dropped_record_is_reported_before_the_next_that_is_kept() -> None:
    publisher = InMemoryPublisher()
    refuse: set[DropReason] = set()
    publisher.drops = lambda _: next(iter(refuse), None)
    with make_tracer(publisher).start_run() as run:
        refuse.add(DropReason.SPOOL_FULL)
        assert run.record_quality_signal(**SIGNAL) is None
        assert run.no_op("nothing") is None
        refuse.clear()
        assert run.record_quality_signal(**SIGNAL) is not None
    assert types(publisher) == ["RunStarted", "EventsDropped", "AgentQualitySignal", "RunEnded"]
    dropped = publisher.of("EventsDropped")[0]
    assert (dropped["count"], dropped["reason"], dropped["seq"]) == (2, "spool_full", 1)
    assert dropped["record_types"] == ["AgentQualitySignal", "DecisionEvent"]
    assert dropped["first_at"].startswith("2023-11-14T22:13:20.0")
    ended = publisher.of("RunEnded")[0]
    assert (ended["emitted"], ended["dropped"]) == (4, 2)
    validated(publisher)


def test_each_reason_has_its_own_report() -> None:
    publisher = InMemoryPublisher()
    refuse: list[DropReason] = []
    publisher.drops = lambda _: refuse[0] if refuse else None
    with make_tracer(publisher).start_run() as run:
        for reason in (DropReason.SPOOL_FULL, DropReason.TOO_LARGE):
            refuse[:] = [reason]
            run.record_quality_signal(**SIGNAL)
        refuse.clear()
    assert [item["reason"] for item in publisher.of("EventsDropped")] == ["spool_full", "too_large"]


def test_a_publisher_that_always_drops() -> None:
    """The agent goes on; nothing is recorded and nothing raised."""
    publisher = InMemoryPublisher(drops=lambda _: DropReason.SPOOL_IO)
    with make_tracer(publisher, options=explicit(), tools={"t": lambda: 5}).start_run() as run:  # noqa: SIM117 - a run, and what is inside it
        with run.step("plan", "p"):
            assert run.tools.execute("t") == 5
            assert run.model_call(lambda **_: "a", model="m", messages="q") == "a"
    assert publisher.messages == []
    assert run.recorder.channel.dropped == 7


@pytest.mark.parametrize("strict", [False, None])
def test_a_publisher_that_raises(strict: bool | None) -> None:
    """Swallowed and counted in production, raised under pytest."""

    class Broken(InMemoryPublisher):
        def publish(self, message: Message) -> None:  # noqa: ARG002 - the seam's shape
            raise OSError("boom")

    run = make_tracer(Broken(), strict=strict).start_run()
    if strict is None:
        with pytest.raises(OSError, match="boom"):
            run.start()
    else:
        with run:
            assert run.no_op("x") is None
        assert run.recorder.guard.counts["publish"] >= 2
        assert run.recorder.channel.dropped == 2


def test_full_spool_raises_only_where_the_user_chose_that() -> None:
    publisher = InMemoryPublisher()
    run = make_tracer(publisher, strict=False).start_run().start()

    def refuse(message: Message) -> None:  # noqa: ARG001 - the shape of the seam
        raise SpoolFull("full", for_agent=True)

    publisher.publish = refuse  # type: ignore[method-assign]
    with pytest.raises(SpoolFull):
        run.no_op("x")
    publisher.publish = InMemoryPublisher.publish.__get__(publisher)  # type: ignore[method-assign]
    run.close()
    assert publisher.of("EventsDropped")[0]["count"] == 1


def test_an_end_that_is_not_kept_is_tried_again() -> None:
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher)
    with tracer.start_run():
        publisher.drops = drop_when(lambda _: True)
    assert types(publisher) == ["RunStarted"]
    publisher.drops = None
    tracer.close()
    assert types(publisher) == ["RunStarted", "RunEnded"]
    tracer.close()
    assert types(publisher) == ["RunStarted", "RunEnded"]


def test_records_after_the_end_are_refused_and_counted() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, strict=False).start_run() as run:
        pass
    assert run.no_op("late") is None
    assert types(publisher) == ["RunStarted", "RunEnded"]
    assert run.recorder.guard.counts == {"emit": 1}


def test_recording_from_within_the_publisher_takes_no_number_twice() -> None:
    """A signal handler or finaliser may interrupt the publisher and record: that record is reported as lost."""
    publisher = InMemoryPublisher()
    run = make_tracer(publisher).start_run().start()
    once = iter([True])

    def interrupt(_: Message) -> None:
        if next(once, False):
            run.no_op("from inside")

    publisher.drops = interrupt
    run.no_op("outside")
    run.close()
    assert [item["seq"] for _, item in publisher.records] == list(range(len(publisher.records)))
    assert publisher.of("EventsDropped")[0]["count"] == 1


def test_many_threads_share_one_sequence() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tools={"t": lambda: None}, options=explicit(loop_threshold=10**6)).start_run() as run:
        threads = [threading.Thread(target=lambda: [run.tools.execute("t") for _ in range(50)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [item["seq"] for _, item in publisher.records] == list(range(8 * 50 * 3 + 2))
    assert publisher.of("RunEnded")[0]["emitted"] == 8 * 50 * 3 + 2


class AnyCallsAnyDrops(RuleBasedStateMachine):
    """Whatever is called, and whatever the publisher drops: no gaps, and kept + reported = made."""

    def __init__(self) -> None:
        super().__init__()
        self.publisher = InMemoryPublisher()
        self.attempts: list[str] = []
        self.steps: list[Step] = []

    @initialize(seed=st.integers(0, 2**32), rate=st.sampled_from([0.0, 0.2, 0.6, 1.0]))
    def begin(self, seed: int, rate: float) -> None:
        self.rate = rate
        chance = random.Random(seed)  # noqa: S311 - which records are dropped

        def drops(message: Message) -> DropReason | None:
            kind = dict(message.headers)["ce_type"].decode()
            dropped = chance.choice(list(DropReason)) if chance.random() < self.rate else None
            if kind != "tachograph.EventsDropped.v1":
                self.attempts.append(kind)
            return dropped

        self.publisher.drops = drops
        tracer = make_tracer(self.publisher, tools={"t": lambda: 1}, options=explicit(loop_threshold=10**6))
        self.run: Run = tracer.start_run().start()

    @rule()
    def signal(self) -> None:
        self.run.record_quality_signal(**SIGNAL)

    @rule()
    def refused_signal(self) -> None:
        self.run.recorder.guard.strict = False
        self.run.record_quality_signal(signal_type="nonsense", signal_code="x", value=True)
        self.attempts.append("refused")

    @rule()
    def act(self) -> None:
        self.run.no_op("x")

    @rule()
    def tool(self) -> None:
        self.run.tools.execute("t")

    @rule()
    def model(self) -> None:
        self.run.model_call(lambda **_: "a", model="m", messages="q")

    @rule()
    def open_step(self) -> None:
        self.steps.append(self.run.step("plan", "p").__enter__())

    @rule()
    def close_step(self) -> None:
        if self.steps:
            self.steps.pop().__exit__(None, None, None)

    def teardown(self) -> None:
        while self.steps:
            self.steps.pop().__exit__(None, None, None)
        self.rate = 0.0
        self.run.close()
        records = self.publisher.records
        assert [item["seq"] for _, item in records] == list(range(len(records)))
        kinds = [kind for kind, _ in records]
        kept = len(kinds) - kinds.count("EventsDropped")
        reported = sum(item["count"] for item in self.publisher.of("EventsDropped"))
        assert kept + reported == len(self.attempts)
        assert self.publisher.of("RunEnded")[0]["dropped"] == reported
        validated(self.publisher)


TestAnyCallsAnyDrops = AnyCallsAnyDrops.TestCase
TestAnyCallsAnyDrops.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


def test_dropped_is_what_publishers_raise() -> None:
    with pytest.raises(Dropped) as caught:
        InMemoryPublisher(drops=lambda _: DropReason.TOO_LARGE).publish(Message("t", b"", b""))
    assert caught.value.reason is DropReason.TOO_LARGE
