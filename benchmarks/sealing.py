"""Sealing and verifying: ``python -m benchmarks.sealing``, or as a part of ``make bench``. Needs no server.

Signing is the part that cannot be made faster, so sealing is compared with bare Ed25519 signing in the same run. All of
it is one thread that computes, so the time is that of the processor: neighbours on the machine do not count.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.processors.decisions.proposals import CATALOG, RUN, proposal
from tests.processors.sealing.events import Partition, sealing
from tests.processors.sealing.logs import KEYS, SIGNER, START, judged

from benchmarks.report import Figure, Ratio, Result
from tachograph.console.verify.log import verify_log
from tachograph.processors.records import validate
from tachograph.processors.sealing import LogHead, checkpoint, seal
from tachograph.processors.sealing.partition import PartitionSealer
from tachograph.schemas.proofs import Tree, leaf_of
from tachograph.schemas.proofs.sealed import SealedRecord
from tachograph.schemas.settings import Settings

RECORDS: Final = 5_000
VERIFIED: Final = 200_000
GOAL_SEALED: Final = 0.5
GOAL_VERIFIED: Final = 0.5
GOAL_PROOF_BYTES: Final = 18 * 32
"""A proof in a tree of 200,000 leaves: one hash of 32 bytes for each level."""


def measure(_settings: Settings | None = None, _folder: Path | None = None) -> list[Result]:
    """Sealed records a second, verified records a second, and the size of a proof."""
    return [_sealed(), _whole_path(), *_verified()]


def _rate(count: int, work: Callable[[], object], rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return count / best


def _sealed() -> Ratio:
    given = proposal()
    verdict = validate(given, CATALOG, START, run=RUN, keys=KEYS)
    key, message = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32), bytes(53)

    def chain() -> None:
        head = LogHead("acme/0")
        for number in range(RECORDS):
            head = seal(head, given, verdict, keys=KEYS, signer=SIGNER, append_time=START + number).head

    def sign() -> None:
        for _ in range(RECORDS):
            key.sign(message)

    # By turns, so that a neighbour on the machine slows both.
    measured, reference = zip(*((_rate(RECORDS, chain, 1), _rate(RECORDS, sign, 1)) for _ in range(3)), strict=True)
    return Ratio(
        "seal a record", max(measured), "bare Ed25519 signing", max(reference), goal=GOAL_SEALED, unit="records/s"
    )


def _whole_path() -> Ratio:
    """From the message on the events topic to the message on the records topic, the eight rules included."""
    events = Partition()
    events.run()
    for number in range(RECORDS):
        events.propose(record_id=f"dr_{number}", event_id=f"ev_{number}", status="IN_FLIGHT", primary=False)
    key, message = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32), bytes(53)
    measured = _rate(RECORDS, lambda: PartitionSealer(0, sealing()).take(events.messages), 2)
    reference = _rate(RECORDS, lambda: [key.sign(message) for _ in range(RECORDS)], 2)
    return Ratio(
        "decode, judge, seal, encode", measured, "bare Ed25519 signing", reference, goal=None, unit="records/s"
    )


def _verified() -> list[Result]:
    given, verdict, head = proposal(), judged(), LogHead("acme/0")
    records: list[SealedRecord] = []
    for number in range(VERIFIED):
        made = seal(head, given, verdict, keys=KEYS, signer=SIGNER, append_time=START + number)
        records.append(made.record)
        head = made.head
    note = checkpoint(head, keys=KEYS, signer=SIGNER)
    start = time.process_time()
    findings = verify_log("acme/0", records, [note], KEYS)
    took = time.process_time() - start
    if findings:
        raise RuntimeError("the log of the benchmark does not verify")
    key = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
    signature, public = key.sign(b"message"), key.public_key()
    reference = _rate(RECORDS, lambda: [public.verify(signature, b"message") for _ in range(RECORDS)])
    tree = Tree(leaf_of(record.record_hash) for record in records)
    proof = max(len(tree.inclusion(index)) for index in (0, VERIFIED // 2, VERIFIED - 1)) * 32
    return [
        Ratio(
            f"verify a log of {VERIFIED:,} records",
            VERIFIED / took,
            "bare Ed25519 verification",
            reference,
            goal=GOAL_VERIFIED,
            unit="records/s",
        ),
        Figure(f"inclusion proof in {VERIFIED:,} records", proof, GOAL_PROOF_BYTES, "bytes", at_most=True),
    ]


if __name__ == "__main__":
    found = measure()
    for result in found:
        print(result)
    sys.exit(0 if all(result.met for result in found) else 1)
