"""The record of an erasure: sound by the catalog, kept whatever Kafka does, and about nobody by name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tachograph.console.erasures import ErasureNotRecordedError, record_erasure, record_id
from tachograph.processors.records import RunFacts, validate
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.enums import DropReason, RecordStatus, RetentionClass
from tachograph.schemas.settings import KafkaSettings, Settings
from tachograph.sinks.artifacts import Content, Entry, Erasure
from tests.processors.decisions.proposals import CATALOG, KEYS, NOW


def tombstone(number: int) -> Entry:
    return Entry(
        artifact_id=f"{number:064x}",
        tenant_id="acme",
        subject_name="5" * 64,
        path=f"tenants/acme/blobs/{number}",
        hash=f"{number + 7:064x}",
        size_bytes=9,
        created_at=NOW,
        retention=RetentionClass.SHORT,
        content=Content.PLAIN,
    )


ERASURE = Erasure(
    tenant_id="acme",
    subject_name="5ec0de" + "0123456789abcdef" * 3 + "fedcba9876",
    key_id="00ff00ff00ff00ff",
    erased_at=NOW - 1_000_000,
    reason="request 7",
    artifacts=tuple(tombstone(number) for number in range(300)),
)


def recorded(erasure: Erasure) -> dict[str, Any]:
    """The proposal as a reader of the topic sees it, after redaction, encoding and decoding."""
    publisher = InMemoryPublisher()
    assert record_erasure(Settings(), erasure, "jo", publisher=publisher)
    assert [kept.type for kept in publisher.records] == ["RunStarted", "RecordProposal", "RunEnded"]
    [found] = publisher.of("RecordProposal")
    return found | {"outputs": json.loads(found["outputs"])}


@pytest.mark.parametrize(
    "erasure",
    [ERASURE, replace(ERASURE, artifacts=(), key_id="")],
    ids=["three hundred artifacts", "a subject nothing was stored of"],
)
def test_an_erasure_passes_all_eight_rules(erasure: Erasure) -> None:
    """By the catalog that ships, it is decided as proposed, and kept for as long as records are."""
    found = recorded(erasure)
    verdict = validate(found, CATALOG, NOW, run=RunFacts("acme", found["trace_id"]), keys=KEYS)
    assert [rule.code for rule in verdict.rules if not rule.passed] == []
    assert (verdict.status, verdict.retention) == (RecordStatus.DECIDED, RetentionClass.PROTECTED)


def test_what_it_says() -> None:
    """Who, when, why, which key, and a hash of all that went. The subject is the store's keyed hash."""
    found = recorded(ERASURE)
    assert found["record_id"] == record_id(ERASURE)
    assert found["actor"]["id"] == "jo"
    assert found["subject_ids"] == [f"subject:{ERASURE.subject_name}"]
    assert len(found["evidence_refs"]) == 200
    assert found["outputs"] | {"artifacts_sha256": ""} == {
        "outcome": "erased",
        "subject": ERASURE.subject_name,
        "key_id": ERASURE.key_id,
        "erased_at": "2026-05-09T09:31:41Z",
        "reason": "request 7",
        "artifact_count": 300,
        "artifacts_sha256": "",
    }


def test_the_same_erasure_has_the_same_record_id() -> None:
    """A record that is made again, because a crash came between, can be told from another erasure."""
    assert record_id(ERASURE) == record_id(replace(ERASURE, reason="again"))
    assert record_id(ERASURE) != record_id(replace(ERASURE, erased_at=NOW))


def test_without_a_broker_the_record_waits_in_the_spool(tmp_path: Path) -> None:
    """Kept on disk before the command returns, and sent by whoever comes next."""
    settings = Settings(home=tmp_path, kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"))
    assert record_erasure(settings, ERASURE, "jo", patience_s=0.1) is False
    assert any(record_id(ERASURE).encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_record_that_nobody_kept_is_an_error() -> None:
    """It says that the erasure is done and how to record it."""
    refusing = InMemoryPublisher(drops=lambda _message: DropReason.SPOOL_FULL)
    with pytest.raises(ErasureNotRecordedError, match="run the same command again"):
        record_erasure(Settings(), ERASURE, "jo", publisher=refusing)
