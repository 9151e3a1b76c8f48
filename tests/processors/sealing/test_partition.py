"""Sealing a partition: what is judged by what was recorded, and the same bytes whoever seals, from wherever."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.processors.deadletters import Message
from tachograph.processors.sealing import CustodyError, HeadError, KeyFile
from tachograph.processors.sealing.logs import Logs
from tachograph.processors.sealing.partition import PartitionSealer, source_of
from tachograph.schemas.headers import Header, SourceCoordinates
from tachograph.schemas.proofs.keys import KeyNotEffectiveError, KeySet
from tests.processors.decisions.proposals import NOW
from tests.processors.sealing.events import CODEC, HOUR, Partition, codes, read_back, rows, sealer, sealing
from tests.processors.sealing.logs import FIRST, KEYS


def refunds(count: int = 1) -> Partition:
    """Runs that refund, one after the other, of two tenants."""
    events = Partition()
    for number in range(count):
        own = {"run_id": f"run_{number}", "tenant_id": ("acme", "globex")[number % 2], "trace_id": f"{number + 1:032x}"}
        events.run(**own)
        events.propose(**own, record_id=f"dr_{number}", event_id=f"ev_{number}")
        if number % 3:
            events.end(**own)
    return events


class TestJudging:
    def test_facts_come_from_the_run(self) -> None:
        """With its tool calls and its context recorded before it, the refund is decided."""
        events = Partition()
        events.run()
        events.propose()
        (row,) = rows(sealer().take(events.messages))
        assert (row["status"], codes(row), row["log_id"], row["log_seq"]) == ("DECIDED", [], "acme/0", 0)

    def test_what_is_recorded_afterwards_does_not_count(self) -> None:
        """Evidence must be there before the decision."""
        events = Partition()
        events.propose()
        events.run()
        (row,) = rows(sealer().take(events.messages))
        assert row["status"] == "REJECTED"
        assert {"trace.unknown_run", "evidence.unresolvable"} <= set(codes(row))

    @pytest.mark.parametrize(
        ("leg", "expected"),
        [
            pytest.param({"leg": "pre"}, "evidence.unresolvable", id="a call that has not returned"),
            pytest.param({"skipped": True}, "evidence.unresolvable", id="a call that a hook skipped"),
            pytest.param({"error_type": "TimeoutError"}, "evidence.unresolvable", id="a call that failed"),
            pytest.param({"tenant_id": "other"}, "evidence.wrong_tenant", id="a call of another tenant"),
        ],
    )
    def test_a_tool_call_is_evidence_when_it_returned(self, leg: dict[str, Any], expected: str) -> None:
        """Anything else under its name does not resolve."""
        events = Partition()
        events.run()
        (at,) = [place for place, raw in enumerate(events.messages) if b"adp_policy.eval" in (raw.value or b"")]
        record = CODEC.decode(events.messages[at].value).record
        events.messages[at] = events.messages[at]._replace(value=CODEC.encode("ToolCallRecord", record | leg))
        events.propose()
        (row,) = rows(sealer().take(events.messages))
        assert codes(row) == [expected]

    def test_another_tenant_cannot_spoil_evidence(self) -> None:
        """Who guesses a trace and repeats its references changes nothing for the run."""
        events = Partition()
        events.run()
        events.run(tenant_id="mallory")
        events.propose()
        assert codes(rows(sealer().take(events.messages))[0]) == []

    def test_a_proposal_for_another_tenants_run(self) -> None:
        """It is sealed in the log of who proposed it, as rejected."""
        events = Partition()
        events.run()
        events.propose(tenant_id="mallory")
        (row,) = rows(sealer().take(events.messages))
        assert (row["log_id"], row["status"]) == ("mallory/0", "REJECTED")
        assert "trace.wrong_tenant" in codes(row)

    def test_old_evidence_is_stale_by_the_broker_s_clock(self) -> None:
        """The agent's own time is not asked."""
        events = Partition()
        events.run()
        raw = events.propose(occurred_at=NOW)
        events.messages[-1] = raw._replace(append_time=raw.append_time + 2 * HOUR)
        assert set(codes(rows(sealer().take(events.messages))[0])) == {"evidence.stale"}

    def test_a_run_that_was_silent_too_long_is_forgotten(self) -> None:
        """Whoever reads the partition forgets at the same place."""
        events = Partition()
        events.run()
        raw = events.propose()
        events.messages[-1] = raw._replace(append_time=raw.append_time + 25 * HOUR)
        assert "trace.unknown_run" in codes(rows(sealer().take(events.messages))[0])

    def test_statuses_follow_each_other(self) -> None:
        """Deferred, then decided, then no more: a second end of the primary decision must supersede the first."""
        events = Partition()
        events.run()
        events.propose(record_id="dr_1", event_id="ev_1", status="DEFERRED")
        events.propose(record_id="dr_2", event_id="ev_2")
        events.propose(record_id="dr_3", event_id="ev_3")
        events.propose(record_id="dr_4", event_id="ev_4", supersedes="dr_2")
        found = rows(sealer().take(events.messages))
        assert [row["status"] for row in found] == ["DEFERRED", "DECIDED", "REJECTED", "DECIDED"]
        assert codes(found[2]) == ["schema.illegal_transition", "schema.second_terminal"]

    def test_a_blocked_proposal_is_sealed_and_reported(self) -> None:
        """Never dropped: the record says what blocked it, and a violation leads to the record."""
        events = Partition()
        events.run()
        events.propose(approvals=[])
        made = sealer().take(events.messages)
        (row,) = rows(made)
        assert (row["status"], row["proposed_status"]) == ("DEFERRED", "DECIDED")
        (told,) = [CODEC.decode_as("rows.violations", message.value) for message in made.before]
        assert (told["code"], told["kind"], told["evidence"]) == ("record.approval.missing", "policy", "record:dr_1")

    def test_a_repeat_of_the_spool_is_sealed_once(self) -> None:
        """The same message further down is the same proposal, whether its run is known or not."""
        for known in (True, False):
            events = Partition()
            if known:
                events.run()
            raw = events.propose()
            events.messages.append(raw._replace(offset=raw.offset + 1))
            assert len(rows(sealer().take(events.messages))) == 1

    def test_a_record_says_by_which_documents_it_was_judged(self) -> None:
        """Kind, version and hash of each are under the seal."""
        body = json.loads(rows(sealer().take(refunds().messages))[0]["body"])
        kinds = [pin.split()[0] for pin in body["pins"]]
        assert kinds == ["decision_spec", "context_pack", "policy_bundle", "model_profile", "evaluator_suite"]
        assert all(pin.split()[2].startswith("sha256:") for pin in body["pins"])


class TestBadInput:
    @pytest.mark.parametrize(
        ("outputs", "reason"),
        [
            pytest.param('{"outcome":"approved","amount":4200.5}', "float", id="a float"),
            pytest.param('{"outcome":"approved","amount":9007199254740992}', "integer_range", id="past 2^53"),
            pytest.param('{"outcome":"approved","gr\u00f6\u00dfe":1}', "non_ascii_key", id="a key beyond ASCII"),
            pytest.param('{"outcome":"approved","outcome":"denied"}', "duplicate_key", id="a key given twice"),
            pytest.param('{"outcome":', "syntax", id="no JSON"),
            pytest.param("[1]", "type", id="no object"),
        ],
    )
    def test_outputs_without_one_form(self, outputs: str, reason: str) -> None:
        """The rule names the reason; the record is sealed without them, and says that it is."""
        events = Partition()
        events.run()
        events.propose(outputs=outputs)
        (row,) = rows(sealer().take(events.messages))
        assert row["status"] == "REJECTED"
        assert f"seal.no_canonical_form_{reason}" in codes(row)
        assert row["outputs"] == "{}"

    def test_a_proposal_that_cannot_be_sealed_at_all(self) -> None:
        """It becomes a dead letter on a stream of our own, and the next one is sealed."""
        events = Partition()
        events.run()
        events.propose(seq=2**60)
        events.propose(event_id="ev_2")
        made = sealer().take(events.messages)
        (letter,) = made.before
        headers = dict(letter.headers)
        assert headers[Header.ERROR_EXCEPTION.value] == b"tachograph.processors.sealing.errors.UnsealableError"
        source = headers[Header.SOURCE.value]
        assert isinstance(source, bytes)
        assert SourceCoordinates.from_bytes(source).stream == "tachograph.events.v1/0#sealer"
        assert (made.dead, len(made.records)) == (1, 1)

    def test_words_that_are_none_of_ours(self) -> None:
        """A foreign producer's status and modes block; they do not stop the sealer."""
        events = Partition()
        events.run()
        tool = {"tool_call_id": "t", "tool_result_id": "r", "approval_mode_effective": "godlike"}
        events.propose(
            status="MAYBE", tool_lineage=[tool | {"idempotency_key": None, "reversal_token": None}], scorecard=None
        )
        (row,) = rows(sealer().take(events.messages))
        assert (row["status"], codes(row)) == ("REJECTED", ["schema.unknown_status"])

    def test_bytes_that_do_not_decode_are_the_workers(self) -> None:
        """They are passed over."""
        events = refunds()
        events.messages.insert(0, events.messages[0]._replace(value=b"\xc3\x01rubbish"))
        assert len(sealer().take(events.messages).records) == 1

    def test_an_expired_key_stops(self) -> None:
        """Nothing is sealed, and nothing of the batch goes out."""
        expired = KeySet([FIRST.model_copy(update={"revoked_at": FIRST.effective_from})])
        with pytest.raises(KeyNotEffectiveError):
            sealer(sealing(expired)).take(refunds().messages)

    def test_a_signer_without_the_key_stops(self) -> None:
        """A private key that is not the key set's signs nothing."""
        with_ = sealing()
        with_.signer = KeyFile({"key-1": b"\x09" * 32})
        with pytest.raises(CustodyError):
            sealer(with_).take(refunds().messages)

    def test_a_clock_that_steps_back(self) -> None:
        """The log's time stands still until the broker's has caught up, and the log verifies."""
        events = refunds(4)
        raw = events.messages[-1]
        events.messages[-1] = raw._replace(append_time=raw.append_time - HOUR)
        made = sealer().take(events.messages)
        again = sealer()
        read_back(again, made.records)
        for name in ("acme/0", "globex/0"):
            times = [row["sealed_at"] for row in rows(made) if row["log_id"] == name]
            assert times == sorted(times)


class TestStartingAgain:
    @given(st.data())
    @settings(max_examples=60)
    def test_whoever_seals_makes_the_same_bytes(self, data: st.DataObject) -> None:
        """Any batches, a crash after any record, a commit anywhere before it: one log, byte for byte."""
        events = refunds(7)
        whole = sealer().take(events.messages).records
        topic: list[Message] = []
        low, done = 0, 0
        for _ in range(data.draw(st.integers(1, 4), label="sealers")):
            at_work = PartitionSealer(0, sealing(), Logs(lambda: KEYS), done)
            read_back(at_work, topic)
            place = low
            while place < len(events.messages):
                size = data.draw(st.integers(1, 9), label="batch")
                made = at_work.take(events.messages[place : place + size])
                kept = data.draw(st.integers(0, len(made.records)), label="records stored before the crash")
                topic += made.records[:kept]
                if kept < len(made.records) or data.draw(st.booleans(), label="crash before the commit"):
                    break
                place += size
                low, done = at_work.low_offset, at_work.position
        last = PartitionSealer(0, sealing(), Logs(lambda: KEYS), done)
        read_back(last, topic)
        topic += last.take(events.messages[low:]).records
        assert [message.value for message in topic] == [message.value for message in whole]

    def test_two_sealers_on_one_partition_do_not_fork_it(self) -> None:
        """A zombie's records are the same bytes; read in any order they are one log."""
        events = refunds(6)
        half = len(events.messages) // 2
        one, two = sealer(), sealer()
        first = one.take(events.messages[:half]).records
        zombie = two.take(events.messages).records
        rest = one.take(events.messages[half:]).records
        assert [message.value for message in first + rest] == [message.value for message in zombie]
        reader = sealer()
        read_back(reader, first + zombie + rest)
        assert {name: head.size for name, head in reader.logs.heads.items()} == {"acme/0": 3, "globex/0": 3}

    def test_a_sealer_that_was_overtaken_goes_on_after_the_other(self) -> None:
        """It reads what the other sealed, and adds what is missing."""
        events = refunds(4)
        whole = sealer().take(events.messages).records
        slow = sealer()
        read_back(slow, whole[:3])
        assert [message.value for message in slow.take(events.messages).records] == [whole[3].value]

    def test_a_fork_is_noticed(self) -> None:
        """A record of another content at a place that is taken stops sealing."""
        events, other = refunds(1), refunds(1)
        raw = other.messages[-1]
        other.messages[-1] = raw._replace(append_time=raw.append_time + 1)
        behind = sealer()
        read_back(behind, sealer().take(events.messages).records)
        with pytest.raises(HeadError, match="forked"):
            read_back(behind, sealer().take(other.messages).records)

    def test_a_changed_record_is_noticed(self) -> None:
        """A head that does not verify is not sealed onto."""
        made = sealer().take(refunds().messages).records[0]
        row = CODEC.decode_as("rows.decision_records", made.value)
        row["body"] = row["body"].replace('"refund_amount_inr":4200', '"refund_amount_inr":9200')
        with pytest.raises(HeadError, match="hash_mismatch"):
            read_back(sealer(), [made._replace(value=CODEC.encode("rows.decision_records", row))])

    def test_a_checkpoint_for_more_records_than_there_are(self) -> None:
        """Records were cut off: sealing on would fork the log."""
        full = sealer()
        made = full.take(refunds(4).messages)
        (_, note) = [CODEC.decode_as("rows.checkpoints", message.value) for message in full.checkpoints(made.touched)]
        short = sealer()
        short.logs.expect({note["log_id"]: note["note"]})
        read_back(short, made.records[:-2])
        with pytest.raises(HeadError, match="counts 2 records and the topic holds 1"):
            short.logs.agree()

    def test_a_checkpoint_over_other_records(self) -> None:
        """A log that was rewritten under the same key does not match what was signed before."""
        full, other = sealer(), sealer()
        touched = full.take(refunds(1).messages).touched
        (message,) = full.checkpoints(touched)
        note = CODEC.decode_as("rows.checkpoints", message.value)["note"]
        later = refunds(1)
        later.messages[-1] = later.messages[-1]._replace(append_time=NOW + 1)
        other.logs.expect({"acme/0": note})
        with pytest.raises(HeadError, match="not those that its checkpoint"):
            read_back(other, sealer().take(later.messages).records)

    def test_a_forged_checkpoint(self) -> None:
        """One that no key of ours signed is not passed over: who wrote it can write more."""
        logs = Logs(lambda: KEYS)
        with pytest.raises(HeadError, match="does not verify"):
            logs.expect({"acme/0": "tachograph/acme/0\n1\nAAAA\n\n\u2014 x AAAAAAA=\n"})

    def test_where_to_read_again(self) -> None:
        """Ended runs need not be read again, open ones from their first record."""
        events = Partition()
        events.run("run_1", trace_id="1" * 32)
        events.end("run_1", trace_id="1" * 32)
        begun = len(events.messages)
        events.run("run_2", trace_id="2" * 32)
        at_work = sealer()
        at_work.take(events.messages)
        assert (at_work.low_offset, at_work.position) == (begun, len(events.messages))

    def test_messages_without_coordinates_have_none(self) -> None:
        """What was not written by a sealer of ours says nothing about the input."""
        assert (source_of(None), source_of([("tg-source", b"x")]), source_of([("other", b"y")])) == (-1, -1, -1)
