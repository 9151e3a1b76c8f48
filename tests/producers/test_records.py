"""Every record the SDK makes fits its model, carries the envelope and the headers, and comes in order."""

import hashlib
from typing import Any

import pytest

from tachograph.producers.publishing import Publisher
from tachograph.producers.testing import InMemoryPublisher, KeptRecord
from tachograph.schemas.canonical import prompt_bundle_hash
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.headers import Header
from tachograph.schemas.topics import EVENTS, RECORD_TYPES
from tests.producers.support import SECRET, drop_when, make_tracer, types, validated

PROPOSAL: dict[str, Any] = {
    "decision_key": "refund.approve",
    "decision_version": "3",
    "status": "DECIDED",
    "actor": {"type": "AGENT", "id": "agent"},
    "subject_ids": ["order-1"],
    "inputs_refs": {"request": "r", "session": "s"},
    "outputs": {"amount": "12.50"},
    "evidence_refs": ["e1"],
    "policy_decisions": [],
    "approvals": [],
    "controls_active": {},
    "lineage": {
        "pack_version": "1",
        "policy_versions": ["p1"],
        "decision_spec": "s1",
        "kg_snapshot": "k1",
        "model_profile": "m1",
        "evaluator_suite": "v1",
    },
}


def everything(publisher: Publisher, **fields: Any) -> None:
    """A run that leaves every type of record but EventsDropped."""
    tools = {"add": lambda a, b: a + b, "fail": lambda: 1 / 0}
    tracer = make_tracer(publisher, tools=tools, **fields)
    constraints = [{"id": "c.1", "type": "scope", "rule": "only src/"}, "be kind"]
    with tracer.start_run("please", constraints=constraints, metadata={"tier": "gold", "n": 1}) as run:
        with run.step("plan", "think", metadata={"x": 1.5, "ok": True}) as step:
            with run.context(step, intent={"goal": "g"}, token_limit=100) as context:
                context.retrieved("query", candidates=["c1", "c2"], selected=["c1"], reranker_model="r")
                context.include(
                    "c1", "evidence", source_ref="doc://1", reason="retrieval_trigger", tokens=9, content="t"
                )
                context.exclude("c2", "evidence", reason="budget_limit", tokens=99, score=0.1)
                context.prefix("system prompt")
            answer = run.model_call(
                lambda **_: {
                    "id": "cmp-1",
                    "content": [
                        {"type": "text", "text": "hello"},
                        {"type": "tool_use", "id": "call-1", "name": "add", "input": {"a": 1, "b": 2}},
                    ],
                    "usage": {"input_tokens": 5, "output_tokens": 7},
                },
                model="m-1",
                provider="anthropic",
                system="be brief",
                messages=[{"role": "user", "content": "hi"}],
                tools=[{"name": "add", "description": "adds", "input_schema": {"type": "object"}}],
                temperature=0.5,
                max_tokens=99,
                transformations=[{"type": "template", "summary": "filled in"}],
                retrieval={"sources": ["doc://1"], "snippets": "snippet"},
            )
            assert answer["id"] == "cmp-1"
            assert (
                run.tools.execute("add", {"a": 1, "b": 2}, tool_use_id="call-1", task_id="t1", phase="execution") == 3
            )
            with pytest.raises(ZeroDivisionError):
                run.tools.execute("fail")
            run.record_decision(
                decision_type="tool_selection",
                selected="cache",
                reason_code="cached_data_sufficient",
                candidates=["cache", "api"],
                confidence=0.9,
                metadata={"age": 4},
            )
            run.record_quality_signal(signal_type="tool_success", signal_code="first_attempt", value=True, weight=0.5)
        event_id = run.action(
            "edit",
            "changed a file",
            artifacts=[
                {"type": "file_edit", "id": "a1", "summary": "s", "hash": "0" * 64, "metadata": {"path": "a.py"}}
            ],
        )
        assert event_id is not None
        run.override(event_id, reason="a human knew better")
        run.no_op("nothing to do")
        run.propose_record(**PROPOSAL)


@pytest.mark.parametrize("mode", list(CaptureMode))
def test_every_builder_makes_what_its_model_accepts(mode: CaptureMode) -> None:
    """In all capture modes, and with a loss in between."""
    publisher = InMemoryPublisher()
    publisher.drops = drop_when(
        lambda message: (
            dict(message.headers)[Header.CE_TYPE] == b"tachograph.AgentDecision.v1"
            if message.topic == EVENTS.name
            else False
        )
    )
    everything(publisher, capture=mode)
    records = validated(publisher)
    assert {type(record).__name__ for record in records} == set(RECORD_TYPES) - {"AgentDecision"}
    publisher = InMemoryPublisher()
    everything(publisher, capture=mode)
    assert "AgentDecision" in types(publisher)
    assert [record.seq for record in validated(publisher)] == list(range(len(publisher.records)))


def test_a_whole_run_record_by_record() -> None:
    """With fixed clock and ids, a run is the same list of records every time."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run("hello") as run:
        run.record_quality_signal(signal_type="token_usage", signal_code="within_budget", value=True)
    envelope = {
        "tenant_id": "default",
        "agent_id": "agent",
        "trace_id": "00000000000000000000000000000002",
        "run_id": "00000000-0000-7000-8000-000000000001",
    }
    assert publisher.records == [
        KeptRecord(
            "RunStarted",
            envelope
            | {
                "event_id": "00000000-0000-7000-8000-000000000005",
                "seq": 0,
                "occurred_at": 1_700_000_000_000_000,
                "session_id": envelope["run_id"],
                "agent_version": "1.0",
                "environment": "unknown",
                "capture_mode": "redacted",
                "request": {
                    "request_id": "00000000-0000-7000-8000-000000000003",
                    "user_request_raw": "hello",
                    "constraints": [],
                    "context": {"channel": "sdk", "repo": None, "branch": None, "ticket_id": None},
                },
                "parent_run_id": None,
                "sdk": "tachograph-python/0.1.0",
                "metadata": {},
            },
        ),
        KeptRecord(
            "AgentQualitySignal",
            envelope
            | {
                "event_id": "00000000-0000-7000-8000-000000000007",
                "seq": 1,
                "occurred_at": 1_700_000_000_001_000,
                "signal_id": "00000000-0000-7000-8000-000000000006",
                "step_id": None,
                "signal_type": "token_usage",
                "signal_code": "within_budget",
                "value": True,
                "weight": None,
                "metadata": {},
                "record_id": None,
            },
        ),
        KeptRecord(
            "RunEnded",
            envelope
            | {
                "event_id": "00000000-0000-7000-8000-000000000008",
                "seq": 2,
                "occurred_at": 1_700_000_000_002_000,
                "status": "succeeded",
                "emitted": 3,
                "dropped": 0,
                "duration_ms": 1,
                "input_tokens": None,
                "output_tokens": None,
                "error_type": None,
                "metadata": {},
            },
        ),
    ]


def test_headers_are_trace_context_and_cloud_events() -> None:
    """A message says what it is without being decoded."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, tenant_id="acme").start_run("hello") as run, run.step("plan", "p") as step:
        pass
    message = publisher.events[1]
    assert message.topic == "tachograph.events.v1"
    assert message.key == run.trace_id.encode()
    assert dict(message.headers) == {
        "traceparent": f"00-{run.trace_id}-{step.span_id}-01".encode(),
        "content-type": b"application/avro",
        "ce_specversion": b"1.0",
        "ce_id": publisher.records[1].record["event_id"].encode(),
        "ce_source": b"/tenants/acme/agents/agent",
        "ce_type": b"tachograph.StepStarted.v1",
        "ce_time": b"2023-11-14T22:13:20.001000Z",
    }


def test_the_prompt_bundle_is_what_was_sent() -> None:
    """Its hash is over the bundle before redaction; secrets in it are not stored."""
    publisher = InMemoryPublisher()
    messages = [{"role": "user", "content": f"my key is {SECRET}"}]
    with make_tracer(publisher).start_run() as run:
        run.model_call(lambda **_: "done", model="m", messages=messages)
    [event] = publisher.of("DecisionEvent")
    sent = {
        "messages": messages,
        "retrieval": {"enabled": False, "sources": [], "snippets": None},
        "tools": [],
        "transformations": [],
    }
    provenance = event["prompt_provenance"]
    assert provenance["prompt_bundle_hash"] == prompt_bundle_hash(sent)
    assert provenance["capture_mode"] == "redacted"
    assert event["model_output"]["output_raw"] == "done"
    assert SECRET not in str(publisher.records)


@pytest.mark.parametrize("mode", [CaptureMode.REDACTED, CaptureMode.HASHED])
def test_a_secret_anywhere_never_leaves(mode: CaptureMode) -> None:
    """In names, reasons, errors, metadata and inputs alike."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, capture=mode, tenant_id=SECRET, agent_version=SECRET, strict=False)

    def fail(**_: Any) -> None:
        raise RuntimeError(f"leaked {SECRET}")

    tracer.tools[SECRET] = fail
    with tracer.start_run(
        f"ask {SECRET}", constraints=[{"id": SECRET, "rule": SECRET}], session_id=SECRET, metadata={SECRET: SECRET}
    ) as run:
        with run.step(SECRET, SECRET, metadata={"k": SECRET}):
            with pytest.raises(RuntimeError):
                run.tools.execute(SECRET, {"a": SECRET, SECRET: 1}, task_id=SECRET, phase=SECRET)
            run.record_decision(
                decision_type="tool_selection",
                selected=SECRET,
                reason_code="cost_optimization",
                candidates=[SECRET],
                metadata={SECRET: SECRET},
            )
            run.record_manifest(
                intent={"goal": SECRET},
                retrieval={"query": SECRET, "candidates": [SECRET], "reranker_model": SECRET},
                included=[
                    {"item_id": SECRET, "item_type": "memory", "source_ref": SECRET, "reason": "plan_dependency"}
                ],
                excluded=[{"item_id": SECRET, "item_type": "memory", "reason": "policy_filter"}],
                prefix=SECRET,
            )
            run.model_call(lambda **_: SECRET, model=SECRET, messages=SECRET, tools=[{"name": SECRET}])
        run.action("message", SECRET, overrides_event_id=SECRET)
        run.missing_pointer(SECRET)
        run.fail(SECRET, message=SECRET)
        run.propose_record(**(PROPOSAL | {"decision_key": SECRET, "outputs": {"note": SECRET}}))
    assert validated(publisher)[-1].seq == len(publisher.records) - 1
    leaks = [
        message for message in publisher.messages if SECRET.encode() in message.value + repr(message.headers).encode()
    ]
    assert leaks == []


def test_hashed_mode_keeps_hashes_usage_and_evaluation() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, capture="hashed").start_run("q") as run:
        run.model_call(
            lambda **_: {"content": "secret answer", "usage": {"input_tokens": 1, "output_tokens": 2}},
            model="m",
            messages="secret question",
        )
    [event] = publisher.of("DecisionEvent")
    assert event["model_output"]["output_raw"].startswith("hmac:")
    assert event["model_output"]["output_raw"] != hashlib.sha256(b"secret answer").hexdigest()
    assert event["model_output"]["usage"] == {"input_tokens": 1, "output_tokens": 2, "latency_ms": 1}
    assert event["prompt_provenance"]["prompt_bundle_hash"]
    assert event["evaluation"]["alignment"]["status"] == "unknown"
    assert "secret" not in str(publisher.records)
