"""``Verify now`` says what holds and what does not; each check can fail."""

from typing import Any

import pytest

from tachograph.console.web.verification import verified
from tachograph.processors.sealing import checkpoint
from tests.processors.sealing.logs import KEYS, SIGNER, sealed_log

LOG = sealed_log(4)
HASHES = [each.record.record_hash for each in LOG]
NOTE = checkpoint(LOG[-1].head, keys=KEYS, signer=SIGNER)


def asked(place: int = 2, **changes: Any) -> list[bool]:
    sealed = LOG[place]
    record = {
        "body": sealed.record.body,
        "record_hash": sealed.record.record_hash,
        "signature": sealed.record.signature,
        "signed_by": "key-1",
        "log_id": "acme/0",
        "log_seq": place,
    }
    given: dict[str, Any] = {
        "before": HASHES[place - 1] if place else None,
        "after": sealed.record.record_hash,
        "hashes": HASHES,
        "note": NOTE,
        "keys": KEYS,
    }
    record |= {name: changes.pop(name) for name in [*changes] if name in record}
    return [finding.holds for finding in verified(record, **given | changes)]


@pytest.mark.parametrize("place", range(4))
def test_a_sound_record_holds(place: int) -> None:
    """Signature, place and inclusion, wherever it stands in the log."""
    after = HASHES[place] if place < 3 else None
    assert asked(place, after=after) == [True, True, True]


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        pytest.param({"record_hash": HASHES[0]}, [False, False, False], id="another hash"),
        pytest.param({"signature": LOG[0].record.signature}, [False, True, True], id="another signature"),
        pytest.param({"log_seq": 1}, [True, False, False], id="another place than the body says"),
        pytest.param({"before": None}, [True, False, True], id="the record before is gone"),
        pytest.param({"before": HASHES[0]}, [True, False, True], id="another record before"),
        pytest.param({"after": HASHES[0]}, [True, False, True], id="the record after does not follow"),
        pytest.param({"note": None}, [True, True, False], id="no checkpoint"),
        pytest.param({"note": NOTE.replace("4\n", "3\n", 1)}, [True, True, False], id="a changed checkpoint"),
        pytest.param({"hashes": [HASHES[3], *HASHES[1:]]}, [True, True, False], id="another record in the log"),
        pytest.param({"hashes": HASHES[:2]}, [True, True, False], id="a log that was cut"),
    ],
)
def test_what_was_tampered_with_does_not_hold(changes: dict[str, Any], holds: list[bool]) -> None:
    """And the other checks say what they still know."""
    assert asked(**changes) == holds
