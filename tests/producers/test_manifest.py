"""Context manifests: every step has one, with reasons, budgets and a prefix; one that is lost stops the run."""

import hashlib
from typing import Any

import pytest

from tachograph.producers import SystemErrorStop
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import drop_when, explicit, make_tracer, validated


def is_manifest(message: object) -> bool:
    return ("ce_type", b"tachograph.ContextManifest.v1") in getattr(message, "headers", ())


def test_builder_records_both_logs_and_the_budget() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run, run.step("retrieve", "s") as step:  # noqa: SIM117 - a run, and what is inside it
        with run.context(step, intent={"goal": "fix"}, token_limit=1000, compiler_version="c-2") as context:
            context.retrieved(
                "flaky test", candidates=["c1"], selected=["c2"], reranker_model="r", reranker_version="2"
            )
            context.include("c2", "evidence", source_ref="repo://a", reason="retrieval_trigger", tokens=90, score=0.9)
            context.include("u", "user_input", source_ref="request", reason="plan_dependency", tokens=10, content="hi")
            context.exclude("c1", "evidence", reason="score_below_threshold", tokens=5, score=0.1)
            context.prefix("system")
    [manifest] = publisher.of("ContextManifest")
    assert manifest["step_id"] == step.step_id
    assert manifest["intent"] == '{"goal":"fix"}'
    assert manifest["candidate_chunk_ids"] == ["c1", "c2"]
    assert manifest["selected_chunk_ids"] == ["c2"]
    assert manifest["token_budget"] == {"limit": 1000, "used": 100, "by_source": {"evidence": 90, "user_input": 10}}
    assert manifest["prefix_hash"] == hashlib.sha256(b"system").hexdigest()
    assert manifest["prefix_length"] == 6
    assert [item["included_reason"] for item in manifest["included"]] == ["retrieval_trigger", "plan_dependency"]
    assert manifest["included"][1]["hash"] == hashlib.sha256(b"hi").hexdigest()
    assert manifest["excluded"] == [
        {
            "item_id": "c1",
            "item_type": "evidence",
            "excluded_reason": "score_below_threshold",
            "source_ref": None,
            "tokens": 5,
            "score": 0.1,
        }
    ]
    validated(publisher)


def test_a_step_without_manifest_gets_one_from_its_prompt() -> None:
    publisher = InMemoryPublisher()
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "hi"},
        {"role": "tool", "content": "out"},
    ]
    with make_tracer(publisher).start_run() as run:
        with run.step("plan", "with a prompt"):
            run.model_call(lambda **_: "ok", model="m", messages=messages, retrieval={"sources": ["doc://1"]})
        with run.step("plan", "without"):
            pass
    first, second = publisher.of("ContextManifest")
    assert [(item["item_type"], item["included_reason"]) for item in first["included"]] == [
        ("policy", "policy_requirement"),
        ("user_input", "plan_dependency"),
        ("tool_output", "plan_dependency"),
        ("evidence", "retrieval_trigger"),
    ]
    assert first["prefix_length"] == len("rules")
    assert second["included"] == []
    validated(publisher)


def test_hashes_are_keyed_where_content_must_not_be_stored() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, capture="hashed").start_run() as run, run.step("plan", "s"):
        run.record_manifest(prefix="yes")
    assert publisher.of("ContextManifest")[0]["prefix_hash"] != hashlib.sha256(b"yes").hexdigest()


@pytest.mark.parametrize("how", ["by hand", "at the end of the step"])
def test_a_manifest_that_cannot_be_kept_stops_the_run(how: str) -> None:
    publisher = InMemoryPublisher(drops=drop_when(is_manifest))
    with pytest.raises(SystemErrorStop) as caught, make_tracer(publisher).start_run() as run, run.step("plan", "s"):  # noqa: PT012 - the error must pass through the block of the run
        if how == "by hand":
            run.record_manifest()
    assert caught.value.missing.startswith("manifest:")
    assert publisher.of("StepEnded")[0]["status"] == "aborted"
    ended = publisher.of("RunEnded")[0]
    assert (ended["status"], ended["error_type"]) == ("SYSTEM_ERROR", "SystemErrorStop")
    [failure] = publisher.of("AgentFailure")
    assert (failure["trigger"], failure["missing_pointer"]) == ("SYSTEM_ERROR", caught.value.missing)


def test_the_stop_does_not_hide_the_agents_own_error() -> None:
    publisher = InMemoryPublisher(drops=drop_when(is_manifest))
    with pytest.raises(SystemErrorStop) as caught, make_tracer(publisher).start_run() as run, run.step("plan", "s"):
        raise ValueError("mine")
    assert isinstance(caught.value.__context__, ValueError)


def test_explicit_manifests_only() -> None:
    publisher = InMemoryPublisher()
    with make_tracer(publisher, options=explicit()).start_run() as run, run.step("plan", "s"):
        pass
    assert publisher.of("ContextManifest") == []


def test_a_manifest_outside_of_the_contract_is_refused_loudly() -> None:
    with make_tracer().start_run() as run, pytest.raises(RecordRefusedError, match="item_type: is one of"):
        run.record_manifest(
            included=[{"item_id": "x", "item_type": "?", "source_ref": "s", "reason": "plan_dependency"}]
        )


@pytest.mark.parametrize(
    ("log", "item", "sentence"),
    [
        pytest.param(
            "included", {"reason": "felt right"}, "included_reason: is one of retrieval_trigger", id="included"
        ),
        pytest.param("excluded", {"reason": "felt wrong"}, "excluded_reason: is one of score_below", id="excluded"),
        pytest.param("included", {"item_id": "", "reason": "plan_dependency"}, "item_id: is empty", id="no id"),
    ],
)
def test_a_reason_or_id_outside_of_the_contract(log: str, item: dict[str, Any], sentence: str) -> None:
    """Refused loudly under pytest. In production it is a manifest that cannot be written, and the stop says why."""
    logs: dict[str, Any] = {log: [{"item_id": "x", "item_type": "memory", "source_ref": "s"} | item]}
    with make_tracer().start_run() as run, pytest.raises(RecordRefusedError, match=sentence):
        run.record_manifest(**logs)
    tracer = make_tracer(strict=False)
    with pytest.raises(SystemErrorStop, match=sentence), tracer.start_run() as run:
        run.record_manifest(**logs)


def test_every_item_can_be_traced_to_its_source() -> None:
    """By the id of a chunk, an artifact or a piece of evidence, and a pointer, kept as given for all six types."""
    publisher = InMemoryPublisher()
    sources = {
        "user_input": ("req-1", "request:req-1"),
        "tool_output": ("artifact-7f", "artifact://artifact-7f"),
        "memory": ("mem-3", "memory://customer/3"),
        "evidence": ("chunk-12", "kb://faq#12"),
        "policy": ("policy-9", "policy://refunds@4"),
        "summary": ("sum-1", "summary://of/chunk-12,chunk-13"),
    }
    with make_tracer(publisher).start_run() as run, run.step("plan", "s") as step, step.context() as context:
        for kind, (item, source) in sources.items():
            context.include(item, kind, source_ref=source, reason="plan_dependency")
    [manifest] = publisher.of("ContextManifest")
    assert {item["item_type"]: (item["item_id"], item["source_ref"]) for item in manifest["included"]} == sources
    validated(publisher)


def test_the_context_of_a_step_can_be_rebuilt() -> None:
    """Without a fault: every pointer of the manifest leads to content in the step's event, and the hash fits it."""
    publisher = InMemoryPublisher()
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "tool", "content": "42"},
    ]
    with make_tracer(publisher).start_run() as run, run.step("answer", "s"):
        run.model_call(
            lambda **_: "ok",
            model="m",
            messages=messages,
            retrieval={"sources": ["doc://1", ""]},
            transformations=[("summarize", "three mails in one"), ("template", "filled in")],
        )
    [manifest], [event] = publisher.of("ContextManifest"), publisher.of("DecisionEvent")
    bundle = event["prompt_provenance"]["prompt_bundle"]
    rebuilt = {
        f"prompt_bundle.messages[{place}]": message["content"] for place, message in enumerate(bundle["messages"])
    } | {
        f"prompt_bundle.transformations[{place}]": item["summary"]
        for place, item in enumerate(bundle["transformations"])
    }
    hashed = [item for item in manifest["included"] if item["hash"] is not None]
    assert [rebuilt[item["source_ref"]] for item in hashed] == [
        *(message["content"] for message in messages),
        "three mails in one",
    ]
    assert all(item["hash"] == hashlib.sha256(rebuilt[item["source_ref"]].encode()).hexdigest() for item in hashed)
    assert [item["item_type"] for item in hashed] == ["policy", "user_input", "memory", "tool_output", "summary"]
    retrieved = [(item["item_id"], item["source_ref"]) for item in manifest["included"] if item["hash"] is None]
    assert retrieved == [("doc://1", "doc://1"), ("retrieval:1", "prompt_bundle.retrieval.sources[1]")]
    validated(publisher)
