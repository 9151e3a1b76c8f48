"""Whether anything is missing: every record and row that one store has and another has not is named."""

from copy import deepcopy
from typing import Any

import pytest

from tachograph.console.replay.run import rerun
from tachograph.console.verify.complete import TABLES, reconcile
from tachograph.processors.core import Incoming
from tachograph.processors.digests import digest
from tachograph.producers.testing import InMemoryPublisher
from tests.pipeline.refunds import TOOLS, evidence, refund
from tests.producers.support import make_tracer


def recorded() -> list[Incoming]:
    """The events of a run that looks something up and proposes a record."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, tools=TOOLS)
    with tracer.start_run("Why was I charged twice?", run_id="r") as run:
        with run.step("answer", "ask"):
            run.model_call(lambda **_: "refund it", model="m", messages=["twice?"])
        run.propose_record(**refund(evidence(run), run, record_id="dr_1"))
    pairs = zip(publisher.records, publisher.events, strict=True)
    return [
        Incoming(kept.type, kept.record, 0, offset, 1_700_000_000_000_000 + offset, digest(message.value))
        for offset, (kept, message) in enumerate(pairs)
    ]


EVENTS = recorded()
STORED = rerun(EVENTS, TABLES)
PROPOSALS = {item.record["event_id"] for item in EVENTS if item.name == "RecordProposal"}


def test_a_whole_run_has_nothing_missing() -> None:
    """Four counts, and they agree."""
    account = reconcile("r", EVENTS, STORED, PROPOSALS, set())
    assert account.missing == ()
    assert (account.counted, account.in_kafka, account.in_clickhouse) == (len(EVENTS),) * 3
    assert (account.dropped, account.sealed) == (0, 1)


@pytest.mark.parametrize("table", [table for table in TABLES if STORED[table]])
def test_a_row_that_is_gone_is_named(table: str) -> None:
    """Table and id, whichever table it was taken from."""
    stored: dict[str, Any] = deepcopy(dict(STORED))
    row = stored[table].pop()
    account = reconcile("r", EVENTS, stored, PROPOSALS, set())
    [missing] = account.missing
    assert (missing.where, missing.run_id) == ("clickhouse", "r")
    assert missing.what.startswith(f"row of {table}: ")
    assert row["event_id"] in missing.what


def test_an_event_that_is_gone_is_named() -> None:
    """By its place in the run; its rows are not missed, for there is nothing to make them of."""
    account = reconcile("r", [item for item in EVENTS if item.record["seq"] != 1], STORED, PROPOSALS, set())
    assert ("kafka", "record 1 of the run") in {(item.where, item.what) for item in account.missing}


def test_a_proposal_that_was_not_sealed_is_named() -> None:
    """Unless it was dead-lettered, which is an account of its own."""
    [proposal] = [item for item in EVENTS if item.name == "RecordProposal"]
    account = reconcile("r", EVENTS, STORED, set(), set())
    assert [(item.where, item.what) for item in account.missing] == [
        ("sealed", f"record of proposal {proposal.record['event_id']}")
    ]
    assert reconcile("r", EVENTS, STORED, set(), {proposal.offset}).missing == ()


def test_what_kafka_no_longer_holds_is_still_counted() -> None:
    """The producer's count and the rows are left: how many are missing is known, not which."""
    assert reconcile("r", [], STORED, PROPOSALS, set()).missing == ()
    stored: dict[str, Any] = deepcopy(dict(STORED))
    stored["decision_events"].clear()
    account = reconcile("r", [], stored, PROPOSALS, set())
    assert account.in_kafka is None
    assert [item.what for item in account.missing] == ["1 records, no longer in Kafka to be named"]


def test_a_run_that_goes_on_is_counted_so_far() -> None:
    """Without an end there is no count; a gap in what is there is found all the same."""
    running = [item for item in EVENTS if item.name != "RunEnded"]
    stored = rerun(running, TABLES)
    account = reconcile("r", running, stored, PROPOSALS, set())
    assert (account.counted, account.missing) == (None, ())
