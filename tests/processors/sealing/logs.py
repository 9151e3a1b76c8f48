"""Sealed logs for tests: two keys, the second introduced by the first, and a few refunds."""

from datetime import UTC, datetime

from tachograph.processors.records import Verdict, validate
from tachograph.processors.sealing import KeyFile, LogHead, Sealed, seal
from tachograph.schemas.proofs.keys import KeyEntry, KeySet, micros, rotate
from tests.processors.decisions.proposals import CATALOG, RUN, proposal

SIGNER = KeyFile({"key-1": b"\x01" * 32, "key-2": b"\x02" * 32})
ROTATED = datetime(2026, 6, 1, tzinfo=UTC)
FIRST = KeyEntry(key_id="key-1", public_key=SIGNER.public("key-1"), effective_from=datetime(2026, 1, 1, tzinfo=UTC))
SECOND = KeyEntry(key_id="key-2", public_key=SIGNER.public("key-2"), effective_from=ROTATED)
KEYS = KeySet(rotate([FIRST], SECOND, lambda message: SIGNER.sign("key-1", message)))
START = micros(datetime(2026, 5, 9, 9, 31, 42, tzinfo=UTC))


def judged() -> Verdict:
    return validate(proposal(), CATALOG, START, run=RUN, keys=KEYS)


def sealed_log(count: int, log: str = "acme/0", start: int = START, head: LogHead | None = None) -> list[Sealed]:
    """A log of ``count`` records, a second apart."""
    head = LogHead(log) if head is None else head
    verdict, made = judged(), []
    for number in range(count):
        given = proposal(record_id=f"dr_{number}", event_id=f"ev_{number}", seq=number)
        made.append(seal(head, given, verdict, keys=KEYS, signer=SIGNER, append_time=start + number * 1_000_000))
        head = made[-1].head
    return made
