"""Context manifests: every step has one, with reasons, budgets and a prefix; one that is lost stops the run."""

import hashlib

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
        run.record_manifest(included=[{"item_id": "x", "item_type": "?", "source_ref": "s", "reason": "r"}])
