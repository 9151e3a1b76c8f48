"""When what is sent: the whole of alerting without threads, sockets or waiting."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.sinks.alerts.dispatch import Dispatcher, Failure, Notification
from tachograph.sinks.alerts.pacing import Allowance, next_wait
from tachograph.sinks.alerts.routes import Rate, Retry
from tests.sinks.alerts.samples import NOON, alert, notification, place, table

DOWN = Failure("answered 500")


def dispatcher(*routes: dict[str, Any], max_waiting: int = 1000, **receiver: Any) -> Dispatcher:
    given = {"name": "ops", "type": "stdout"} | receiver
    return Dispatcher(table(*routes, receivers=(given, {"name": "dev", "type": "stdout"})), max_waiting=max_waiting)


def ids(notifications: list[Notification]) -> list[list[str]]:
    return [[found.violation_id for found in item.alerts] for item in notifications]


def committable(subject: Dispatcher) -> int:
    return subject.ledger.committable["violations", 0]


def test_alerts_of_a_group_go_out_together() -> None:
    """The first waits for others; what differs in a key of the group is another message."""
    subject = dispatcher({"name": "all", "receivers": ["ops"], "group_by": ["agent"], "group_wait_s": 5})
    subject.receive(place(0), alert(1), NOON)
    subject.receive(place(1), alert(2, agent_id="other"), NOON + 1)
    subject.receive(place(2), alert(3), NOON + 4)
    assert ids(subject.take_due(NOON + 4.9)) == []
    assert subject.next_at(NOON + 4.9) == NOON + 5
    sent = subject.take_due(NOON + 5)
    assert ids(sent) == [["v1", "v3"]]
    assert ids(subject.take_due(NOON + 6)) == []  # one at a time for each receiver
    subject.delivered(sent[0])
    assert ids(subject.take_due(NOON + 6)) == [["v2"]]


def test_offsets_are_committable_only_up_to_what_is_delivered() -> None:
    """A later delivery does not carry an earlier, undelivered one with it."""
    subject = dispatcher({"name": "all", "receivers": ["ops"], "group_by": ["code"], "group_wait_s": 0})
    subject.receive(place(10), alert(1), NOON)
    subject.receive(place(11), alert(2, code="x"), NOON)
    first = subject.take_due(NOON)[0]
    subject.failed(first, DOWN, NOON)
    second = subject.take_due(NOON)[0]
    subject.delivered(second)
    assert ids([first, second]) == [["v1"], ["v2"]]
    assert committable(subject) == 10
    subject.delivered(subject.take_due(NOON + 1)[0])
    assert committable(subject) == 12


def test_what_nobody_hears_of_is_done_at_once() -> None:
    """A violation without route holds no offset back."""
    subject = dispatcher({"name": "slo", "match": {"kinds": ["slo"]}, "receivers": ["ops"]})
    subject.receive(place(3), alert(), NOON)
    assert committable(subject) == 4
    assert subject.next_at(NOON) == float("inf")


def test_an_alert_for_two_receivers_is_done_when_both_have_it() -> None:
    """One receiver's success is not the other's."""
    subject = dispatcher({"name": "all", "receivers": ["ops", "dev"], "group_wait_s": 0})
    subject.receive(place(0), alert(), NOON)
    ops, dev = subject.take_due(NOON)
    subject.delivered(dev)
    assert committable(subject) == 0
    subject.delivered(ops)
    assert committable(subject) == 1


def test_a_failed_message_is_tried_again_with_growing_waits() -> None:
    """1, 2, 4 seconds and so on, up to the longest; with the same id each time."""
    subject = dispatcher(retry={"first_s": 1, "longest_s": 4, "give_up_after_s": 100})
    subject.receive(place(0), alert(), NOON)
    now, waits, sent = NOON, [], set()
    for _ in range(5):
        found = subject.take_due(now)[0]
        sent.add(found.id)
        assert subject.failed(found, DOWN, now) == ()
        later = subject.next_at(now)
        waits.append(later - now)
        assert subject.take_due(later - 0.01) == []
        now = later
    assert waits == [1, 2, 4, 4, 4]
    assert sent == {"v1"}


def test_a_message_is_given_up_after_its_time() -> None:
    """It is handed back for the dead letters, and its offset is free only when they are written."""
    subject = dispatcher(retry={"first_s": 1, "give_up_after_s": 1})
    subject.receive(place(0), alert(), NOON)
    assert subject.failed(subject.take_due(NOON)[0], DOWN, NOON) == ()
    given_up = subject.failed(subject.take_due(NOON + 1)[0], DOWN, NOON + 1)
    assert [entry[0] for entry in given_up] == [place(0)]
    assert committable(subject) == 0
    subject.give_up(given_up)
    assert committable(subject) == 1


def test_a_refusal_for_good_is_not_tried_again() -> None:
    """An answer that will never change goes to the dead letters at once."""
    subject = dispatcher()
    subject.receive(place(0), alert(), NOON)
    assert subject.failed(subject.take_due(NOON)[0], Failure("answered 404", final=True), NOON)


def test_too_many_messages_wait_and_join() -> None:
    """Past the rate nothing is dropped: alerts collect in their group and go together when a message is free."""
    subject = dispatcher(rate={"messages": 1, "per_s": 60})
    subject.receive(place(0), alert(1), NOON)
    subject.delivered(subject.take_due(NOON)[0])
    for number in (2, 3, 4):
        subject.receive(place(number), alert(number), NOON + number)
    assert subject.take_due(NOON + 59) == []
    assert subject.next_at(NOON + 59) == pytest.approx(NOON + 60)
    assert ids(subject.take_due(NOON + 60)) == [["v2", "v3", "v4"]]


def test_a_large_group_goes_in_parts() -> None:
    """No message is longer than its receiver takes."""
    subject = dispatcher(largest=2)
    for number in range(3):
        subject.receive(place(number), alert(number), NOON)
    first = subject.take_due(NOON)[0]
    subject.delivered(first)
    assert ids([first, *subject.take_due(NOON)]) == [["v0", "v1"], ["v2"]]


QUIET = {"name": "q", "receivers": ["ops"], "group_wait_s": 0, "quiet_hours": {"start": "00:00", "end": "23:59"}}


def test_quiet_hours_hold_until_their_end() -> None:
    """One message in the morning, and no offset is committed before it."""
    subject = dispatcher(QUIET)
    subject.receive(place(0), alert(1), NOON)
    subject.receive(place(1), alert(2), NOON + 60)
    subject.receive(place(2), alert(3, severity="critical"), NOON + 60)
    assert ids(subject.take_due(NOON + 60)) == [["v3"]]
    end = 1_780_012_740  # 23:59 of that day
    assert committable(subject) == 0
    subject._flying.clear()
    assert subject.take_due(end - 1) == []
    assert ids(subject.take_due(end)) == [["v1", "v2"]]


def test_quiet_hours_end_early_when_memory_is_short() -> None:
    """Held alerts never stop the reading of others."""
    subject = dispatcher(QUIET, max_waiting=2)
    subject.receive(place(0), alert(1), NOON)
    assert subject.take_due(NOON) == []
    subject.receive(place(1), alert(2), NOON)
    assert subject.full
    assert ids(subject.take_due(NOON)) == [["v1", "v2"]]


def test_a_partition_that_moved_is_forgotten() -> None:
    """Whoever has it now delivers; what is under way ends without effect."""
    subject = dispatcher(retry={"first_s": 1})
    subject.receive(place(0, partition=0), alert(1), NOON)
    flying = subject.take_due(NOON)[0]
    subject.receive(place(1, partition=0), alert(2), NOON)
    subject.receive(place(0, partition=1), alert(3), NOON)
    subject.forget(("violations", 0))
    subject.delivered(flying)
    assert subject.ledger.committable == {("violations", 1): 0}
    assert ids(subject.take_due(NOON)) == [["v3"]]


def test_the_id_of_a_message_is_that_of_its_violations() -> None:
    """A single violation's own id; for several, one that does not depend on their order."""
    assert notification(alert(1)).id == "v1"
    assert notification(alert(1), alert(2)).id == notification(alert(2), alert(1)).id
    assert notification(alert(1), alert(2)).id != notification(alert(1), alert(3)).id


Step = tuple[str, int]


@given(
    st.lists(
        st.tuples(st.sampled_from(["receive", "tick", "deliver", "fail", "refuse"]), st.integers(0, 3)), max_size=60
    )
)
def test_nothing_is_committed_that_was_not_settled(steps: list[Step]) -> None:
    """Whatever happens in whatever order: below the committable offset, everything was delivered or given up."""
    subject = dispatcher(
        {"name": "all", "receivers": ["ops", "dev"], "group_by": ["code"], "group_wait_s": 1},
        rate={"messages": 2, "per_s": 3},
        retry={"first_s": 1, "give_up_after_s": 5},
        largest=2,
    )
    now, offset = NOON, 0
    flying: list[Notification] = []
    settled: set[tuple[str, int]] = set()
    for what, number in steps:
        if what == "receive":
            subject.receive(place(offset), alert(offset, code=f"c{number}"), now)
            offset += 1
        elif what == "tick":
            now += number
            flying += subject.take_due(now)
        elif flying:
            sent = flying.pop(number % len(flying))
            entries: Any = sent.entries
            if what == "deliver":
                subject.delivered(sent)
            else:
                entries = subject.failed(sent, Failure("x", final=what == "refuse"), now)
                subject.give_up(entries)
            settled |= {(sent.receiver, entry[0].offset) for entry in entries}
        upto = subject.ledger.committable.get(("violations", 0), 0)
        assert {(name, below) for name in ("ops", "dev") for below in range(upto)} <= settled
    missing = {(name, below) for name in ("ops", "dev") for below in range(offset)} - settled
    assert len(missing) == subject.ledger.waiting


@given(st.lists(st.floats(0, 100), max_size=50), st.integers(1, 5), st.floats(1, 50))
def test_the_rate_is_never_exceeded(waits: list[float], messages: int, per_s: float) -> None:
    """In any stretch of time no more go than the burst and the refill allow."""
    bucket = Allowance(Rate(messages=messages, per_s=per_s))
    now, taken = NOON, list[float]()
    for wait in waits:
        now = max(now + wait, bucket.free_at(now + wait))
        bucket.take(now)
        taken.append(now)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            allowed = messages + (taken[last] - taken[first]) * messages / per_s
            assert last - first + 1 <= allowed + 1e-3


def test_a_receiver_may_ask_for_a_longer_wait() -> None:
    """Within the longest one that is set."""
    retry = Retry(first_s=1, longest_s=60)
    assert next_wait(retry, 1, asked_s=30) == 30
    assert next_wait(retry, 1, asked_s=3600) == 60
    assert next_wait(retry, 1000) == 60
