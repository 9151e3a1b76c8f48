"""A refund that was sealed as the sealer does it, and everything it can be replayed from."""

from dataclasses import replace
from typing import Any

from tachograph.console.replay import Observed, Packet
from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.records.memory import Memory
from tachograph.processors.records.validate import validate
from tachograph.processors.rows.records import record_proposal
from tachograph.processors.sealing import LogHead, seal
from tachograph.processors.sealing.rows import record_row
from tachograph.schemas.canonical import canonical_bytes
from tachograph.schemas.transcripts import (
    CONTEXT,
    TRANSCRIPT,
    call_entry,
    chain,
    content_name,
    manifest_entry,
    packet_id,
    prompt_entry,
)
from tests.processors.decisions.proposals import CATALOG, NOW, TRACE, proposal
from tests.processors.sealing.logs import KEYS, SIGNER, sealed_log

DAY_US = 86_400_000_000
CALLS = (
    call_entry(
        "tc_117", "adp_orders.lookup", content_name("{}", None), content_name('{"paid":2}', None), None, skipped=False
    ),
    call_entry(
        "tc_119", "adp_policy.eval", content_name("{}", None), content_name('"allow"', None), None, skipped=False
    ),
)
CONTEXTS = (prompt_entry("span_1", "ab" * 32), manifest_entry("m_1", "cd" * 32))
IDENTITY = {"tenant_id": "acme", "run_id": "run_1", "trace_id": TRACE}


def tool(name: str, call: str) -> Observed:
    result = {"leg": "post", "skipped": False, "error_type": None, "output_pointer": None}
    return Observed("ToolCallRecord", IDENTITY | result | {"tool_name": name, "tool_use_id": call}, NOW - 60_000_000)


def seen(reference: str) -> Observed:
    item = {"item_id": "ord_881", "source_ref": reference}
    return Observed("ContextManifest", IDENTITY | {"included": [item]}, NOW - 60_000_000)


OBSERVED = (
    Observed("RunStarted", IDENTITY, NOW - 70_000_000),
    seen("kg:order:ord_881#snapshot_kg_2026_05_09_T0930"),
    tool("adp_orders.lookup", "tc_117"),
    tool("adp_policy.eval", "tc_119"),
)


def packet(catalog: Catalog = CATALOG, **changes: Any) -> Packet:
    """The packet of a refund, the fourth record of its log; ``changes`` are those of the proposal."""
    bound = {
        "replay_packet_id": packet_id(len(CALLS), len(CONTEXTS)),
        "compiled_context_hash": chain(CONTEXT, CONTEXTS),
        "tool_transcript_chain_hash": chain(TRANSCRIPT, CALLS),
        "last_status": "not_replayed",
    }
    given = proposal(**({"replay": bound} | changes))
    memory = Memory(DAY_US)
    for place, item in enumerate(OBSERVED):
        memory.observe(item.name, item.record, place, item.at)
    verdict = validate(given, catalog, NOW, run=memory.facts(given, NOW), keys=KEYS)
    before = sealed_log(3, start=NOW - 10_000_000)[-1]
    head = before.head
    assert isinstance(head, LogHead)
    sealed = seal(head, given, verdict, keys=KEYS, signer=SIGNER, append_time=NOW)
    [(_, stored)] = record_proposal(given | {"outputs": canonical_bytes(given["outputs"]).decode()}, NOW)
    return Packet(
        record=sealed.record,
        stored=record_row(sealed, NOW),
        previous=before.record,
        proposal=stored,
        has_run_context=True,
        observed=OBSERVED,
        earlier=(),
        calls=CALLS,
        contexts=CONTEXTS,
        catalog=catalog,
        keys=KEYS,
        silence_us=DAY_US,
    )


def changed(given: Packet, **fields: Any) -> Packet:
    """The packet with other inputs."""
    return replace(given, **fields)


def catalog_with(kind: str, **changes: Any) -> Catalog:
    """The example catalog with one kind of document saying something else under the same version."""
    documents = []
    for pinned in CATALOG.documents:
        if pinned.document.kind != kind:
            documents.append(pinned)
            continue
        document = pinned.document.model_copy(update=changes)
        documents.append(replace(pinned, document=document, hash="sha256:" + "0" * 64))
    return Catalog(documents)
