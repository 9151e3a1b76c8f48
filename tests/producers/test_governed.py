"""Governed decisions, built piece by piece: what is proposed, in which order, and that the catalog accepts it."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tachograph.processors.catalog import load_catalog
from tachograph.processors.catalog.shipped import decisions_folder
from tachograph.processors.deadletters import RawRecord
from tachograph.processors.sealing.partition import PartitionSealer
from tachograph.producers import GovernedDecision, Run, artifact_ref, tool_ref
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.records import frozen_hash
from tachograph.producers.testing import InMemoryPublisher
from tests.processors.sealing.events import codes, rows, sealing
from tests.producers.support import make_tracer, validated

TOOLS: dict[str, Any] = {
    "adp_orders.lookup": lambda order: {"order": order},
    "adp_policy.eval": lambda: "allow",
    "backup.verify": lambda: "ok",
    "database.count": lambda: 12,
    "monitoring.status": lambda: "green",
    "ci.test": lambda: "passed",
}


def refunding(run: Run) -> GovernedDecision:
    """A refund, up to its outcome."""
    with run.step("tool", "look up"):
        run.tools.execute("adp_orders.lookup", {"order": "ord_881"}, tool_use_id="tc_117")
        run.tools.execute("adp_policy.eval", {}, tool_use_id="tc_119")
        run.context().include("ord_881", "evidence", source_ref="kg:order:ord_881#1", reason="plan_dependency").record()
    return (
        run.governed_decision("support.refund.execute", "1.0.0", subjects=["order:ord_881"])
        .evidence("kg:order:ord_881#1", tool_ref("adp_orders.lookup", "tc_117"), tool_ref("adp_policy.eval", "tc_119"))
        .policy(
            "pol_1",
            bundle="POLICY_RETURNS_V1",
            version="1.0.0",
            rules=["R_HIGH_VALUE_REQUIRES_APPROVAL"],
            verdict="require_approval",
        )
        .approval("GATE_FINANCE_APPROVAL", approver="lead_77", mode="destructive")
        .controls(
            must_escalate=["fraud_signal_high"],
            approval_gates_active=["GATE_FINANCE_APPROVAL"],
            redaction_rules_active=["pan", "credit_card"],
        )
        .side_effect("tc_121", mode="destructive", idempotency_key="ik_1", reversal_token="rv_1")
        .scores(policy=1, utility="0.94", latency="0.86", safety="1", cost="0.91")
        .budget(tokens=4720, tool_calls=4, cost_usd_cents="0.91", wall_clock_ms=1840)
        .lineage(
            pack="ctxpack.support@1.0.0",
            model_profile="model_profile.support.safe@1.0.0",
            evaluator_suite="eval.support.refund@1.0.0",
            kg_snapshot="kg_1",
        )
        .replay("rp_1", compiled_context_hash="sha256:9f0b", tool_transcript_chain_hash="sha256:7c4a")
    )


OUTCOME = {"outcome": "approved", "refund_amount_inr": 4200, "currency": "INR"}


def sealed(publisher: InMemoryPublisher) -> list[dict[str, Any]]:
    """What the sealer makes of all that a tracer published."""
    now = int(datetime(2026, 5, 9, tzinfo=UTC).timestamp()) * 1_000_000
    newest = max([now, *(kept.record["occurred_at"] for kept in publisher.records)])
    raws = [
        RawRecord(0, place, newest + place, message.key, message.value, [])
        for place, message in enumerate(publisher.messages)
        if message.topic == "tachograph.events.v1"
    ]
    at_work = PartitionSealer(0, sealing(catalog=load_catalog(decisions_folder())))
    return rows(at_work.take(raws))


def test_what_is_built_is_what_the_catalog_accepts() -> None:
    """From the builders through the wire and the eight rules to a sealed record that is DECIDED."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tools=TOOLS).start_run() as run, refunding(run) as decision:
        assert decision.decided(OUTCOME)
    validated(publisher)
    (row,) = sealed(publisher)
    assert (row["status"], codes(row)) == ("DECIDED", [])
    (given,) = publisher.of("RecordProposal")
    assert given["approvals"][0]["evidence_snapshot_hash"] == frozen_hash(given["evidence_refs"])
    assert given["lineage"]["policy_versions"] == ["POLICY_RETURNS_V1@1.0.0"]
    assert given["lineage"]["decision_spec"] == "support.refund.execute@1.0.0"
    assert given["actor"]["id"] == "agent"
    assert given["inputs_refs"]["session"] == run.session_id
    assert given["tool_lineage"][0]["idempotency_key"] == "ik_1"
    assert given["scorecard"]["utility"] == "0.94"


def test_a_read_only_decision_has_its_record_too() -> None:
    """A declined pull request changes nothing and is on record, with its evidence, without any gate."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tools=TOOLS).start_run() as run:
        with run.step("tool", "test"):
            run.tools.execute("ci.test", {}, tool_use_id="tc_1")
            run.context().include("diff_1", "evidence", source_ref="artifact:diff_1", reason="plan_dependency").record()
        decision = (
            run.governed_decision("coding.pull_request.merge", "1.0.0", subjects=["repository:acme/shop"])
            .evidence(artifact_ref("diff_1"), tool_ref("ci.test", "tc_1"))
            .policy("p", bundle="POLICY_CODE_CHANGES", version="1.0.0", rules=["R_TESTS_PASS"], verdict="allow")
            .controls(
                must_refuse=["force_push_to_main"],
                must_escalate=["production_data_loss"],
                redaction_rules_active=["credentials"],
            )
            .lineage(
                pack="ctxpack.coding@1.0.0",
                model_profile="model_profile.coding@1.0.0",
                evaluator_suite="eval.coding@1.0.0",
                kg_snapshot="none",
            )
        )
        decision.decided({"outcome": "declined", "repository": "acme/shop", "pull_request": 7})
    (row,) = sealed(publisher)
    assert (row["status"], codes(row), row["retention"]) == ("DECIDED", [], "standard")


def test_a_record_holds_references_and_no_payloads() -> None:
    """What tools and models said stays in its own store; the record alone still says what was decided, and on what."""
    secret = "the customer's whole letter"
    publisher = InMemoryPublisher()
    with make_tracer(
        publisher, tools=TOOLS | {"adp_orders.lookup": lambda order: f"{order} {secret}"}
    ).start_run() as run:
        run.model_call(lambda **_: secret, model="m", messages=secret)
        refunding(run).decided(OUTCOME)
    (row,) = sealed(publisher)
    assert secret not in row["body"]
    body = json.loads(row["body"])
    assert body["outputs"] == OUTCOME
    told = ("evidence_refs", "policy_decisions", "approvals", "controls_active", "lineage", "verdicts", "audit")
    assert all(body[name] for name in told)


@pytest.mark.parametrize("field", ["reasoning", "chain_of_thought", "transcript", "prompt"])
def test_a_record_has_no_place_for_reasoning(field: str) -> None:
    """Rationale is typed: evidence, policy and codes. Free text beside it is refused."""
    publisher, given = InMemoryPublisher(), dict[str, Any]({field: "because"})
    with make_tracer(publisher, tools=TOOLS).start_run() as run, pytest.raises(RecordRefusedError):
        run.propose_record(**given)
    assert publisher.of("RecordProposal") == []


def test_the_page_s_example_is_decided() -> None:
    """The code of docs/records.md, as it stands there."""
    page = (Path(__file__).parents[2] / "docs" / "records.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    publisher = InMemoryPublisher()
    exec(compile(block, "records.md", "exec"), {"tracer": make_tracer(publisher, tools=TOOLS)})  # noqa: S102 - our page
    (row,) = sealed(publisher)
    assert (row["status"], codes(row)) == ("DECIDED", [])
    assert all(f"*{function}*" in page for function in ("govern", "map", "measure", "manage"))


def test_a_block_that_decides_nothing_defers() -> None:
    """By its end or by an exception; the same in async code."""
    publisher = InMemoryPublisher()

    async def in_async() -> None:
        async with run.governed_decision("k", "1.0.0", subjects=["s"]) as decision:
            await asyncio.sleep(0)
            decision.evidence("e")

    with make_tracer(publisher, tools=TOOLS).start_run() as run:
        with run.governed_decision("k", "1.0.0", subjects=["s"]):
            pass
        with pytest.raises(ZeroDivisionError), run.governed_decision("k", "1.0.0", subjects=["s"]):
            _ = 1 / 0
        asyncio.run(in_async())
    assert [given["status"] for given in publisher.of("RecordProposal")] == ["DEFERRED"] * 3


def test_statuses_follow_each_other() -> None:
    """In flight, deferred, then closed: one decision, three records, the last of them the end."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tools=TOOLS).start_run() as run:
        decision = refunding(run)
        assert decision.in_flight()
        assert decision.deferred()
        assert decision.closed(OUTCOME)
    assert [(row["status"], codes(row)) for row in sealed(publisher)] == [
        ("IN_FLIGHT", []),
        ("DEFERRED", []),
        ("CLOSED", []),
    ]


def test_an_ended_decision_goes_on_only_by_superseding() -> None:
    """The refusal is the recorder's, before anything is published; the correction is a record of its own."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tools=TOOLS).start_run() as run:
        decision = refunding(run)
        decision.decided(OUTCOME)
        first = decision.record_id
        for again in (decision.escalated, decision.rejected, decision.in_flight):
            with pytest.raises(RecordRefusedError, match="cannot follow DECIDED"):
                again()
        assert decision.decided(OUTCOME | {"outcome": "denied"}, supersedes=first)
    found = sealed(publisher)
    assert [(row["status"], row["supersedes"]) for row in found] == [("DECIDED", None), ("DECIDED", first)]
    assert found[0]["body"] != found[1]["body"]


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda d: d.scores(policy=1, utility=0.94, latency=1, safety=1, cost=1), id="a score as a float"),
        pytest.param(
            lambda d: d.budget(tokens=-1, tool_calls=0, cost_usd_cents=0, wall_clock_ms=0), id="fewer than no tokens"
        ),
        pytest.param(lambda d: d.policy("p", bundle="b", rules=[], verdict="perhaps"), id="a verdict that is none"),
        pytest.param(lambda d: d.approval("g", approver="a", mode="godlike"), id="a mode that is none"),
        pytest.param(
            lambda d: d.approval("g", approver="a", mode="none", decided_at=datetime(2026, 1, 1)),  # noqa: DTZ001 - that is it
            id="a time without a zone",
        ),
        pytest.param(lambda d: d.actor("GOD", "x"), id="an actor of no kind"),
        pytest.param(lambda d: d.decided({"amount": 4200.5}), id="a float in the outputs"),
        pytest.param(lambda d: d.decided({"amount": 2**60}), id="an integer past 2^53"),
        pytest.param(lambda d: d.decided({"gr\u00f6\u00dfe": 1}), id="a key beyond ASCII"),
    ],
)
def test_what_cannot_be_sealed_is_refused_where_it_is_written(build: Any) -> None:
    """Loud under pytest; nothing is published."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        decision = run.governed_decision("k", "1.0.0", subjects=["s"])
        with pytest.raises(ValueError):  # noqa: PT011 - each has its own sentence
            build(decision)
    assert publisher.of("RecordProposal") == []


def test_a_wrong_piece_never_breaks_the_agent() -> None:
    """In production it is left out and counted, and the record says by its verdict what it lacks."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, strict=False)
    with tracer.start_run() as run:
        decision = run.governed_decision("k", "1.0.0", subjects=["s"]).approval("g", approver="a", mode="godlike")
        assert decision.rejected()
        assert decision.decided({}) is None
    (given,) = publisher.of("RecordProposal")
    assert given["approvals"] == []


def test_references_as_the_stream_resolves_them() -> None:
    """Tool, artifact, artifact of a type, and exactly this content of it."""
    assert tool_ref("orders.lookup", "tc_1") == "tool:orders.lookup:tc_1"
    assert artifact_ref("a1") == "artifact:a1"
    assert artifact_ref("a1", type="diff", sha256="sha256:" + "0" * 64) == f"artifact:diff:a1#sha256:{'0' * 64}"
    assert frozen_hash(["b", "a", "b"]) == frozen_hash(["a", "b"])
