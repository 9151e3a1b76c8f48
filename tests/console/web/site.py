"""What the console's tests look at: three tenants on the real servers, filled once by the real pipeline."""

import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tachograph.console.database import reader
from tachograph.console.demo.recording import record_stories
from tachograph.console.web import Role, create_app
from tachograph.console.web.login import cookie_name
from tachograph.console.web.sessions import Session
from tachograph.processors.rows.records import decision_body
from tachograph.processors.rows.shared import identity
from tachograph.processors.sealing import LogHead, checkpoint, seal
from tachograph.producers.publishing import SpoolPublisher
from tachograph.schemas.enums import RetentionClass
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import CHECKPOINTS, DLQ, EVENTS, RECORDS, ViolationKind, row_topic, violation_topic
from tachograph.schemas.wire import load_catalogue
from tachograph.sinks.artifacts import open_store
from tests.pipeline.processes import Part, pipeline, wait_for
from tests.processors.decisions.proposals import proposal
from tests.processors.sealing.logs import KEYS, SIGNER, judged
from tests.sinks.rows import encoded

BASE = "http://127.0.0.1:8642"
NOT_A_RECORD = b"\x00<script>window.hacked=1</script> not avro \xff\xfe"

HOSTILE = (
    "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"onfocus=window.hacked=1 autofocus x='"
    "'><a href=javascript:window.hacked=1>link</a></td></table><svg onload=window.hacked=1> "
    "\x1b[31mred\x1b[0m \u202egnp.exe\u2066 zero\u200bwidth \x00null\x7f {{7*191}} ${7*191} </pre></textarea> "
)
WORD = 60_000
"""Characters of the longest word that the tables take."""


@dataclass(frozen=True)
class Site:
    """Where to look."""

    settings: Settings
    tenant: str
    """A tenant whose agents were recorded by the SDK."""
    run_ids: tuple[str, ...]
    other: str
    """A tenant that nobody else may see: every text of it is ``canary``, but for its ids."""
    canary: str
    known: str
    """Every id of the other tenant."""
    hostile: str
    """A tenant whose every text is HOSTILE."""

    def app(self, **settings: Any) -> Starlette:
        changed = self.settings.console.model_copy(update=settings)
        return create_app(self.settings.model_copy(update={"console": changed, "tenant_id": self.tenant}))

    def ids(self, tenant: str) -> dict[str, str]:
        """Ids of one thing of each kind, as pages take them."""
        asked = {
            "run": "SELECT run_id FROM runs WHERE tenant_id = {t:String} ORDER BY tool_calls DESC LIMIT 1",
            "event": "SELECT event_id FROM decision_events WHERE tenant_id = {t:String} AND run_id = {run:String} "
            "AND model != '' ORDER BY seq DESC LIMIT 1",
            "tool": "SELECT tool_use_id FROM tool_calls WHERE tenant_id = {t:String} AND run_id = {run:String} LIMIT 1",
            "snapshot": "SELECT snapshot_id FROM snapshot_pointers WHERE tenant_id = {t:String} "
            "ORDER BY kind != 'prompt', snapshot_id LIMIT 1",
            "snapshot_run": "SELECT run_id FROM snapshot_pointers WHERE tenant_id = {t:String} "
            "ORDER BY kind != 'prompt', snapshot_id LIMIT 1",
            "record": "SELECT record_id FROM decision_records WHERE tenant_id = {t:String} LIMIT 1",
            "record_run": "SELECT run_id FROM decision_records WHERE tenant_id = {t:String} LIMIT 1",
            "letter": "SELECT dead_letter_id FROM dead_letters WHERE tenant_id IN ({t:String}, '') "
            "ORDER BY tenant_id != {t:String} LIMIT 1",
        }
        found = {"t": tenant, "run": ""}
        with reader(self.settings) as database:
            for name, sql in asked.items():
                rows = database.rows(sql, found)
                found[name] = rows[0][0] if rows else "nothing"
        return found

    def pages(self, tenant: str) -> dict[str, tuple[str, str, dict[str, str]]]:
        """Every page with something to show: name, method, path, parameters."""
        ids = self.ids(tenant)
        run = {"run": ids["run"]}
        snapshot = {"run": ids["snapshot_run"], "id": ids["snapshot"]}
        record = {"run": ids["record_run"], "record": ids["record"]}
        letter = {"id": ids["letter"]}
        return {
            "home": ("GET", "/", {}),
            "runs": ("GET", "/runs", {}),
            "runs-filtered": ("GET", "/runs", {"q": ids["run"][:40], "violation": "any", "status": "succeeded"}),
            "run": ("GET", "/run", {"id": ids["run"]}),
            "run-content": ("GET", "/run", {"id": ids["run"], "content": "1"}),
            "model-call": ("GET", "/run/model-call", run | {"event": ids["event"]}),
            "tool-call": ("GET", "/run/tool-call", run | {"tool": ids["tool"]}),
            "snapshot": ("GET", "/run/snapshot", snapshot),
            "snapshot-content": ("POST", "/run/snapshot", snapshot),
            "record": ("GET", "/run/record", record),
            "record-content": ("GET", "/run/record", record | {"content": "1"}),
            "record-verified": ("POST", "/run/record/verify", record),
            "violations": ("GET", "/violations", {}),
            "slos": ("GET", "/slos", {}),
            "slo": ("GET", "/slo", {"name": "tool-success"}),
            "agents": ("GET", "/agents", {"period": "30d"}),
            "health": ("GET", "/health", {}),
            "dead-letter": ("GET", "/dead-letter", letter),
            "dead-letter-content": ("POST", "/dead-letter/content", letter),
            "query": ("GET", "/query", {}),
            "query-asked": ("POST", "/query", {"sql": "SELECT * FROM agent_runs LIMIT 5"}),
            "access": ("GET", "/access", {}),
        }


class Browser(TestClient):
    """A signed-in person. Forms carry the session's secret."""

    session: Session

    def visit(self, method: str, path: str, given: dict[str, str]) -> Any:
        if method == "GET":
            return self.get(path, params=given)
        return self.post(path, data=given | {"csrf": self.session.csrf})


@contextmanager
def signed_in(app: Starlette, tenant: str, role: Role = Role.OPERATOR, viewer: str = "somebody") -> Iterator[Browser]:
    """A session without the way to it; the ways are tested on their own."""
    with Browser(app, base_url=BASE, follow_redirects=False) as browser:
        browser.session = app.state.services.sessions.begin(viewer, tenant, role)
        browser.cookies.set(cookie_name(https=False), browser.session.id)
        yield browser


def filled(table: str, text: str, number: int = 0, **changes: Any) -> dict[str, Any]:
    """A row whose every text is ``text``, also the names of its maps."""
    now = time.time_ns() // 1000
    row: dict[str, Any] = _filled(load_catalogue().latest(f"rows.{table}").plain, text, number)
    times = {name: now + number for name in ("occurred_at", "received_at", "started_at") if name in row}
    return row | times | changes


def _filled(node: Any, text: str, number: int) -> Any:
    if isinstance(node, list):
        return _filled(next(branch for branch in node if branch != "null"), text, number)
    kind = node["type"] if isinstance(node, dict) else node
    simple: dict[str, Any] = {"string": text, "long": number + 1, "double": 0.5, "boolean": True}
    if kind == "record":
        return {field["name"]: _filled(field["type"], text, number) for field in node["fields"]}
    if kind == "array":
        return [_filled(node["items"], text, number)]
    if kind == "map":
        return {text: _filled(node["values"], text, number)}
    return simple[kind] if isinstance(kind, str) else _filled(kind, text, number)


TABLES = {
    **{
        table: row_topic(table)
        for table in (
            "agent_runs",
            "agent_steps",
            "agent_failures",
            "agent_decisions",
            "agent_quality_signals",
            "decision_events",
            "evaluations",
            "tool_calls",
            "context_manifests",
            "context_items",
            "snapshots",
            "record_proposals",
            "content_views",
        )
    },
    "violations": violation_topic(ViolationKind.POLICY),
    "decision_records": RECORDS.name,
    "checkpoints": CHECKPOINTS.name,
}
"""Tables that agents and readers fill, and a topic that leads there."""


IDS = frozenset(
    {"run_id", "event_id", "step_id", "tool_use_id", "snapshot_id", "record_id", "manifest_id", "parent_run_id"}
)


def publish_tenant(producer: Producer, tenant: str, text: str, known: str | None = None) -> None:
    """One row in every table, whose every text is ``text``, and whose ids are ``known``; and a dead letter."""
    changes: dict[str, dict[str, Any]] = {
        "tool_calls": {"leg": "call"},
        "violations": {"kind": "policy"},
        "agent_runs": {"error_type": text + "z" * WORD if text == HOSTILE else text},
        "decision_records": {"body": "{}"},
        # Codes and choices of these have limits in the database.
        "agent_decisions": dict.fromkeys(("decision_type", "reason_code"), text[:100]) | {"selected": text[:200]},
        "agent_quality_signals": dict.fromkeys(("signal_type", "signal_code"), text[:100]),
        "snapshots": {"stored": True, "deleted_at": None},
    }
    for table, topic in TABLES.items():
        row = filled(table, text, tenant_id=tenant, **changes.get(table, {}))
        row |= {name: known for name in IDS & row.keys() if known is not None}
        producer.produce(topic, encoded(table, row), partition=0)
    producer.produce(
        DLQ.name,
        NOT_A_RECORD,
        partition=0,
        headers=[
            ("ce_source", f"/tenants/{tenant}/agents/x".encode()),
            ("__connect.errors.topic", EVENTS.name.encode()),
            ("__connect.errors.offset", str(abs(hash(tenant)) % 10**9).encode()),
            ("__connect.errors.exception.message", text.encode()),
        ],
    )


def publish_sealed(producer: Producer, settings: Settings, tenant: str, run_id: str) -> None:
    """Three sealed records and a checkpoint over them, made by the sealer's own pure core."""
    head = LogHead(f"{tenant}/0")
    for number in range(3):
        given = proposal(record_id=f"dr_{number}", event_id=f"ev_{number}", seq=number, tenant_id=tenant, run_id=run_id)
        at = time.time_ns() // 1000
        sealed = seal(head, given, judged(), keys=KEYS, signer=SIGNER, append_time=at)
        audit = sealed.content["audit"]
        row = identity(given, at) | decision_body(given | {"outputs": json.dumps(given["outputs"])})
        row |= {
            "proposed_status": given["status"],
            "verdicts": [dict(rule) for rule in sealed.content["verdicts"]],
            "retention": sealed.content["retention"],
            "log_id": audit["log_id"],
            "log_seq": audit["log_seq"],
            "prev_hash": audit["prev_hash"],
            "record_hash": sealed.record.record_hash,
            "signed_by": audit["signed_by"],
            "signature": sealed.record.signature,
            "sealed_at": sealed.head.sealed_at,
            "body": sealed.record.body,
        }
        producer.produce(RECORDS.name, encoded("decision_records", row), partition=0)
        head = sealed.head
    note = checkpoint(head, keys=KEYS, signer=SIGNER)
    row = filled("checkpoints", "x", tenant_id=tenant, log_id=head.log_id, tree_size=head.size, note=note)
    producer.produce(CHECKPOINTS.name, encoded("checkpoints", row | {"anchor": None}), partition=0)
    keys = [entry.model_dump(mode="json", exclude_none=True) for entry in KEYS.keys]
    path = settings.home / "keys" / "sealing.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"kind": "key_set", "id": "sealing", "version": "1.0.0", "keys": keys}))


def publish_snapshot(producer: Producer, settings: Settings, tenant: str) -> None:
    """A stored snapshot of one line of a megabyte, of a run with a hostile name."""
    data = (HOSTILE + "m" * (1 << 20)).encode()
    stored = asyncio.run(
        open_store(settings, create_keys=True).put(
            data, tenant_id=tenant, subject="run:x", created_at=time.time_ns() // 1000, retention=RetentionClass.SHORT
        )
    )
    row = filled("snapshots", HOSTILE, 1, tenant_id=tenant, stored=True, deleted_at=None)
    row |= {"artifact_id": stored.artifact_id, "snapshot_id": f"big {HOSTILE}"}
    producer.produce(row_topic("snapshots"), encoded("snapshots", row), partition=0)


def build_site(stack: Settings, folder: Path) -> Site:
    """Fill the tenants, wait until all of it can be queried, and stop the pipeline again."""
    name = uuid.uuid4().hex[:6]
    tenant, other, hostile = f"acme-{name}", f"other-{name}", f"hostile-{name}"
    canary = f"canary{name}"
    quick = {"TACHOGRAPH_SNAPSHOTS__GRACE_S": "1", "TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05"}
    producer = Producer(stack.kafka.client(**{"enable.idempotence": True}))
    own = stack.model_copy(update={"tenant_id": tenant})
    with (
        pipeline(stack, folder, **quick) as parts,
        Part("snapshots", stack, folder / "snapshots.log", **quick) as third,
    ):
        recorded = record_stories(own, SpoolPublisher.from_settings(own))
        publish_sealed(producer, stack, tenant, recorded.run_ids[0])
        publish_tenant(producer, other, canary, known=f"known-{name}")
        publish_tenant(producer, hostile, HOSTILE)
        publish_snapshot(producer, stack, hostile)
        producer.produce(EVENTS.name, NOT_A_RECORD, b"trace", partition=0)
        assert producer.flush(30) == 0
        with reader(stack) as database:

            def landed() -> bool:
                ended = database.rows(
                    "SELECT count() FROM runs WHERE tenant_id = {t:String} AND completeness != 'open'", {"t": tenant}
                )[0][0]
                tables = [*TABLES, "dead_letters"]
                union = " UNION ALL ".join(
                    f"SELECT count() >= 1 AS there FROM {table} WHERE tenant_id = {{t:String}}"  # noqa: S608 - ours
                    for table in tables
                )
                there = [
                    database.rows(f"SELECT sum(there) FROM ({union})", {"t": each})[0][0]  # noqa: S608 - ours
                    for each in (other, hostile)
                ]
                more = database.rows(
                    "SELECT (SELECT count() FROM snapshots WHERE tenant_id = {t:String}), "
                    "(SELECT count() FROM decision_records WHERE tenant_id = {t:String}), "
                    "(SELECT count() FROM dead_letters WHERE tenant_id = '' AND source_topic = {events:String})",
                    {"t": tenant, "events": EVENTS.name},
                )[0]
                whole = ended == len(recorded.run_ids) and there == [len(tables)] * 2
                return whole and more[0] >= 1 and more[1] == 3 and more[2] >= 1

            wait_for(landed, lambda: "the site is not filled", *parts, third)
    return Site(stack, tenant, tuple(recorded.run_ids), other, canary, f"known-{name}", hostile)
