"""Sealing: deterministic, chained, signed by the key of the moment, or not at all."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tachograph.processors.records import validate
from tachograph.processors.sealing import (
    CustodyError,
    HeadError,
    KeyFile,
    LogHead,
    UnsealableError,
    checkpoint,
    log_id,
    recover,
    seal,
)
from tachograph.processors.sealing.seal import TRANSPORT
from tachograph.schemas.canonical import sealed_bytes
from tachograph.schemas.proofs import GENESIS, Tree, body_hash, leaf_of, open_checkpoint
from tachograph.schemas.proofs.keys import (
    Basis,
    KeyNotEffectiveError,
    KeySet,
    KeySetError,
    micros,
    rotate,
)
from tachograph.schemas.proofs.sealed import RecordProblem, check_record
from tests.processors.decisions.proposals import CATALOG, RUN, proposal
from tests.processors.sealing.logs import FIRST, KEYS, ROTATED, SECOND, SIGNER, START, judged, sealed_log


def sealed(given: dict[str, Any], append_time: int = START, keys: KeySet = KEYS) -> Any:
    verdict = validate(given, CATALOG, append_time, run=RUN, keys=keys)
    return seal(LogHead("acme/0"), given, verdict, keys=keys, signer=SIGNER, append_time=append_time)


def test_a_log_is_a_chain() -> None:
    """Places are contiguous from 0, each record names the hash before it, and the tree's root is that of the hashes."""
    log = sealed_log(5)
    contents = [json.loads(item.record.body) for item in log]
    assert [content["audit"]["log_seq"] for content in contents] == [0, 1, 2, 3, 4]
    assert [content["audit"]["prev_hash"] for content in contents] == [
        GENESIS,
        *(i.record.record_hash for i in log[:-1]),
    ]
    assert log[-1].head.root() == Tree(leaf_of(item.record.record_hash) for item in log).root()
    assert all(check_record(item.record, KEYS).problem is None for item in log)


def test_sealing_again_gives_the_same_bytes() -> None:
    """A replay or a zombie writes what was written before."""
    assert [item.record for item in sealed_log(3)] == [item.record for item in sealed_log(3)]


def test_a_form_that_was_checked_gives_the_same_bytes() -> None:
    """What the seal rule took need not be looked through again; a verdict on another proposal spares nothing."""
    given = proposal()
    verdict = validate(given, CATALOG, START, run=RUN, keys=KEYS)
    assert verdict.judged is given

    def made(content: dict[str, Any]) -> Any:
        return seal(LogHead("acme/0"), content, verdict, keys=KEYS, signer=SIGNER, append_time=START)

    assert made(given).record == made(proposal()).record
    assert json.loads(made(proposal(outputs__refund_amount_inr=0.5)).record.body)["outputs_withheld"] is True


def test_every_field_is_hashed_but_the_transport_s() -> None:
    """Change any member of a proposal and the hash is another; what the transport adds is not in the body."""
    before = sealed(proposal()).record.record_hash
    for name, value in proposal().items():
        if name in ("approvals", "occurred_at"):
            continue
        changed = (
            seal(
                LogHead("acme/0"),
                proposal() | {name: [value, "x"]},
                judged(),
                keys=KEYS,
                signer=SIGNER,
                append_time=START,
            )
            if name != "status"
            else seal(
                LogHead("acme/0"), proposal(status="ESCALATED"), judged(), keys=KEYS, signer=SIGNER, append_time=START
            )
        )
        assert changed.record.record_hash != before, name
    assert sealed(proposal(occurred_at=1)).record.record_hash != before
    assert sealed(proposal() | dict.fromkeys(TRANSPORT, 7)).record.record_hash == before


def test_the_hash_is_computed_and_the_verdict_is_in_it() -> None:
    """Known bugs elsewhere: hashes never computed, and a verdict that could change after hashing."""
    record = sealed(proposal()).record
    assert record.record_hash == body_hash(record.body.encode())
    content = json.loads(record.body)
    content["verdicts"][0]["passed"] = False
    changed = replace(record, body=sealed_bytes(content).decode())
    assert check_record(changed, KEYS).problem is RecordProblem.HASH_MISMATCH


def test_verification_can_fail() -> None:
    """Known bug elsewhere: verify that is always true. A signature of another record does not do."""
    first, second = sealed_log(2)
    swapped = replace(first.record, signature=second.record.signature)
    assert check_record(swapped, KEYS).problem is RecordProblem.SIGNATURE_INVALID


def test_a_blocked_proposal_is_sealed_with_its_rule() -> None:
    """REJECTED or DEFERRED, what was proposed, and which rule said so."""
    content = json.loads(sealed(proposal(approvals=[])).record.body)
    assert (content["status"], content["proposed_status"]) == ("DEFERRED", "DECIDED")
    assert [item["code"] for item in content["verdicts"] if not item["passed"]] == ["approval.missing"]


@pytest.mark.parametrize("value", [0.5, 2**53, float("nan"), {"ü": 1}, b"bytes"])
def test_outputs_without_exact_form_are_left_out(value: object) -> None:
    """The record is rejected, sealed, and says that the outputs were withheld."""
    made = sealed(proposal(outputs__refund_amount_inr=value))
    content = json.loads(made.record.body)
    assert (content["status"], content["outputs"], content["outputs_withheld"]) == ("REJECTED", {}, True)
    assert check_record(made.record, KEYS).problem is None


def test_what_cannot_be_hashed_is_not_sealed() -> None:
    """A number beyond every reader, outside of the outputs."""
    with pytest.raises(UnsealableError):
        seal(LogHead("acme/0"), proposal(seq=2**60), judged(), keys=KEYS, signer=SIGNER, append_time=START)


def test_the_key_is_that_of_the_broker_s_time() -> None:
    """At the moment of rotation the new key signs; a microsecond before, the old one."""
    turn = micros(ROTATED)
    for moment, key_id in ((turn - 1, "key-1"), (turn, "key-2")):
        (made,) = sealed_log(1, start=moment)
        assert json.loads(made.record.body)["audit"]["signed_by"] == key_id
    assert check_record(sealed_log(1)[0].record, KEYS).basis is Basis.RETIRED_SINCE
    assert check_record(sealed_log(1, start=turn)[0].record, KEYS).basis is Basis.EFFECTIVE


def test_no_effective_key_stops_sealing() -> None:
    """Before the first key, past a closed window, and after a revocation nothing is sealed."""
    closed = KeySet([FIRST.model_copy(update={"effective_until": FIRST.effective_from + timedelta(days=1)})])
    revoked = KeySet([FIRST.model_copy(update={"revoked_at": FIRST.effective_from + timedelta(days=1)})])
    for keys, moment in ((KEYS, 0), (closed, START), (revoked, START)):
        with pytest.raises(KeyNotEffectiveError):
            seal(LogHead("acme/0"), proposal(), judged(), keys=keys, signer=SIGNER, append_time=moment)


def test_a_clock_that_steps_back_does_not_go_back_in_the_log() -> None:
    """The broker's clock may step; the log's time does not, so a retired key stays retired."""
    (first,) = sealed_log(1, start=micros(ROTATED))
    (second,) = sealed_log(1, start=START, head=first.head)
    audit = json.loads(second.record.body)["audit"]
    assert (audit["sealed_at"], audit["signed_by"]) == ("2026-06-01T00:00:00.000000Z", "key-2")


def test_a_revoked_key_leaves_history_verifiable() -> None:
    """What it sealed before counts, on a basis that says so; what it seals after does not."""
    keys = KeySet([FIRST.model_copy(update={"revoked_at": datetime(2026, 5, 20, tzinfo=UTC)})])
    assert check_record(sealed_log(1)[0].record, keys).basis is Basis.REVOKED_SINCE
    late = sealed_log(1, start=micros(datetime(2026, 5, 20, tzinfo=UTC)))[0]
    assert check_record(late.record, keys).problem is RecordProblem.KEY_NOT_EFFECTIVE


def test_rotation_is_signed_by_the_outgoing_key() -> None:
    """A stranger cannot introduce a key, nor can windows be bent afterwards."""
    with pytest.raises(KeySetError, match="not signed"):
        rotate([FIRST], SECOND, lambda message: SIGNER.sign("key-2", message))
    last, introduced = KEYS.keys
    later = ROTATED + timedelta(days=30)
    for keys in (
        (last.model_copy(update={"effective_until": later}), introduced),
        (last.model_copy(update={"effective_until": later}), introduced.model_copy(update={"effective_from": later})),
        (last, introduced.model_copy(update={"introduction": None})),
        (last, introduced.model_copy(update={"introduced_by": None})),
        (last, introduced, introduced),
        (introduced,),
        (),
        (last, introduced.model_copy(update={"public_key": last.public_key})),
        (last.model_copy(update={"revoked_at": ROTATED}), introduced),
    ):
        with pytest.raises(KeySetError):
            KeySet(keys)


def test_a_private_key_of_another_is_noticed() -> None:
    """Nothing goes out that the key set's public key would not verify."""
    stranger = KeyFile({"key-1": b"\x09" * 32})
    with pytest.raises(CustodyError, match="other half"):
        seal(LogHead("acme/0"), proposal(), judged(), keys=KEYS, signer=stranger, append_time=START)
    with pytest.raises(CustodyError, match="does not hold"):
        seal(LogHead("a/0"), proposal(), judged(), keys=KEYS, signer=KeyFile({}), append_time=START)


def test_the_head_is_recovered_from_the_log() -> None:
    """Reading the records back gives the head that sealing had, repeats of a zombie included."""
    log = sealed_log(6)
    records = [item.record for item in log]
    assert recover("acme/0", records, KEYS) == log[-1].head
    assert recover("acme/0", [*records, records[-1]], KEYS) == log[-1].head


def test_a_log_that_does_not_verify_stops_sealing() -> None:
    """A gap, another log's record, a fork or a changed record: the sealer stops rather than fork."""
    records = [item.record for item in sealed_log(4)]
    fork = sealed_log(1, start=START + 5, head=sealed_log(2)[-1].head)[0].record
    bent = replace(records[1], body=records[1].body.replace("ord_881", "ord_882"))
    other = sealed_log(1, log="acme/1")[0].record
    for log in ([records[1]], [records[0], records[2]], [other], [*records[:3], fork], [records[0], bent]):
        with pytest.raises(HeadError):
            recover("acme/0", log, KEYS)


def test_a_checkpoint_is_of_its_log_and_size() -> None:
    """It opens with the key of the last record, and says how many records there are."""
    head = sealed_log(7)[-1].head
    note = checkpoint(head, keys=KEYS, signer=SIGNER)
    found, _ = open_checkpoint(note, [FIRST.note_key("tachograph/acme/0")], origin="tachograph/acme/0")
    assert (found.size, found.root) == (7, head.root())


def test_names_of_logs_fit_a_checkpoint() -> None:
    """A tenant's name may hold anything; the log's is one word, and two tenants never share one."""
    assert log_id("a b+c/d\n", 3) == "a%20b%2Bc%2Fd%0A/3"


class TestKeyFile:
    def test_made_and_read_back(self, tmp_path: Path) -> None:
        """A new file is for its owner only, and is never overwritten."""
        path = tmp_path / "key"
        made = KeyFile.create(path, "k")
        assert KeyFile.load(path).public("k") == made.public("k")
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(CustodyError):
            KeyFile.create(path, "k")

    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o400, 0o700])
    def test_another_mode_is_refused(self, tmp_path: Path, mode: int) -> None:
        """0600 and nothing else."""
        path = tmp_path / "key"
        KeyFile.create(path, "k")
        path.chmod(mode)
        with pytest.raises(CustodyError, match="chmod 600"):
            KeyFile.load(path)

    def test_what_is_no_key_file(self, tmp_path: Path) -> None:
        """A link, a folder, nothing, or other content; the error shows none of it."""
        real, link, bad = tmp_path / "key", tmp_path / "link", tmp_path / "bad"
        KeyFile.create(real, "k")
        link.symlink_to(real)
        bad.touch(0o600)
        bad.write_text('{"k": "hush"}')
        for path in (link, tmp_path, tmp_path / "none", bad):
            with pytest.raises(CustodyError) as caught:
                KeyFile.load(path)
            assert "hush" not in f"{caught.value!r}{caught.value.__context__!r}"

    def test_its_repr_shows_no_key(self) -> None:
        """Names only."""
        assert repr(KeyFile({"k": b"\x05" * 32})) == "KeyFile(['k'])"
