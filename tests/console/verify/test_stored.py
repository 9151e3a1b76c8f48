"""The tamper matrix on logs as they are stored: what `tachograph verify` without a bundle finds."""

import pytest

from tachograph.console.verify import Bundle
from tachograph.console.verify.stored import StoredLogs
from tachograph.console.verify.whole import check_logs
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord
from tests.console.verify.test_tamper_matrix import HEADS_NOTE, MATRIX, RECORDS, Row, bundle
from tests.processors.sealing.logs import FIRST, KEYS

CAUGHT_BY_KEYS = {"keys_untrusted"}


class Held(StoredLogs):
    """A bundle's logs in place of a database's."""

    def __init__(self, shown: Bundle, *heads: str) -> None:
        self._shown = shown
        self._heads = heads

    def names(self) -> list[str]:
        return list(self._shown.logs)

    def records(self, log_id: str) -> list[SealedRecord]:
        return list(self._shown.logs[log_id][0])

    def checkpoints(self, log_id: str) -> list[str]:
        return list(self._shown.logs[log_id][1])

    def heads(self) -> list[str]:
        return list(self._heads)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=name) for name, row in MATRIX.items() if row.caught != CAUGHT_BY_KEYS]
)
def test_each_row_is_caught_in_the_store_too(row: Row) -> None:
    """The same findings as in a bundle, with the key set from its own file."""
    logs = Held(row.shown)
    checked = check_logs(logs, logs.names(), KEYS, FIRST.public_key, row.anchors)
    assert {item.code.value for report in checked.values() for item in report.findings} == row.caught


def test_a_hidden_log_is_missed_by_the_heads_record() -> None:
    """Without any anchor: the tenant's own heads record names the log that is not shown."""
    logs = Held(bundle(RECORDS), HEADS_NOTE)
    checked = check_logs(logs, logs.names(), KEYS, None, ())
    assert {name: [item.code.value for item in report.findings] for name, report in checked.items()} == {
        "acme/0": [],
        "acme/1": ["log_missing"],
    }


def test_keys_that_the_auditor_does_not_trust() -> None:
    """Nothing else is looked at."""
    logs = Held(bundle(RECORDS))
    checked = check_logs(logs, logs.names(), KeySet([FIRST]), "other", ())
    assert [item.code.value for report in checked.values() for item in report.findings] == ["keys_untrusted"]


def test_the_basis_of_each_record_is_said() -> None:
    """Anchored up to a kept checkpoint, checkpointed up to the last, chained beyond."""
    row = MATRIX["untouched"]
    logs = Held(Bundle({"acme/0": (RECORDS, row.shown.logs["acme/0"][1][:1])}, KEYS.keys))
    [report] = check_logs(logs, ["acme/0"], KEYS, None, ()).values()
    assert report.basis() == {"anchor": 0, "checkpoint": 3, "chain": 3}
    assert [report.basis_at(place) for place in (2, 3)] == ["checkpoint", "chain"]
    [report] = check_logs(logs, ["acme/0"], KEYS, None, row.anchors).values()
    assert (report.basis(), report.basis_at(5)) == ({"anchor": 6, "checkpoint": 0, "chain": 0}, "anchor")
    assert report.keys == {"key_retired_since": 6}
