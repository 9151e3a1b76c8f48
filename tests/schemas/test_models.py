"""The models refuse what the requirements refuse, and nothing they say repeats what they refused."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tachograph.schemas import models
from tachograph.schemas.enums import REASON_CODES, SIGNAL_CODES, ActionType, DecisionType, SignalType
from tachograph.schemas.models.base import MAX_CONTENT_BYTES
from tests.schemas import samples

SECRET = "canary-5d1f"


def changed(sample: BaseModel, **changes: Any) -> dict[str, Any]:
    return sample.model_dump(mode="json", by_alias=True, exclude={"timestamp"}) | changes


def test_the_json_form_has_the_shape_of_the_seed() -> None:
    """A DecisionEvent serialises to the required top-level fields, timestamp in RFC 3339."""
    dumped = samples.DECISION_EVENT.model_dump(mode="json", by_alias=True)
    required = {
        "schema_version", "event_id", "timestamp", "trace_id", "span_id", "parent_span_id",
        "session", "request", "prompt_provenance", "model_output", "agent_action", "evaluation",
    }  # fmt: skip
    assert required <= dumped.keys()
    assert dumped["schema_version"] == "0.2"
    assert dumped["timestamp"] == "2026-03-04T05:06:07.000008Z"
    assert set(dumped["prompt_provenance"]["prompt_bundle"]) == {"messages", "retrieval", "tools", "transformations"}
    assert set(dumped["prompt_provenance"]["prompt_bundle"]["tools"][0]) == {"name", "description", "schema"}
    assert set(dumped["evaluation"]) == {"alignment", "quality", "policy"}


@pytest.mark.parametrize("version", ["0.2", "0.2.1", "1.0.0-rc.1", "2.3+build"])
def test_schema_versions_look_like_versions(version: str) -> None:
    """Digits and dots, with the usual suffixes."""
    event = models.DecisionEvent.model_validate(changed(samples.DECISION_EVENT, schema_version=version))
    assert event.schema_version == version


@pytest.mark.parametrize("version", ["", "two", "v0.2", "0", "0.2.3.4", "0.2 ", "latest"])
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(ValidationError, match="schema_version looks like a version"):
        models.DecisionEvent.model_validate(changed(samples.DECISION_EVENT, schema_version=version))


def test_a_decision_event_reads_its_own_json() -> None:
    """JSON out and JSON in give the same event."""
    text = samples.DECISION_EVENT.model_dump_json(by_alias=True)
    assert models.DecisionEvent.model_validate_json(text) == samples.DECISION_EVENT


@pytest.mark.parametrize("action", ["plan", "edit", "run_tests", "command", "open_pr", "merge", "deploy", "api_call",
                                    "message", "no_op", "other", "override"])  # fmt: skip
def test_every_action_type_exists(action: str) -> None:
    """The seed's action types, and override for human intervention."""
    assert ActionType(action).value == action


@pytest.mark.parametrize(
    ("decision_type", "reason_code"),
    [
        pytest.param("tool_selection", "rate_limited", id="a signal's code is not a reason"),
        pytest.param("tool_selection", "rate_limit_encountered", id="a retry's reason does not fit a tool selection"),
        pytest.param("response_mode", "because I felt like it", id="prose is not a code"),
    ],
)
def test_reason_codes_are_bound_to_their_type(decision_type: str, reason_code: str) -> None:
    """A reason code of another decision type is refused."""
    with pytest.raises(ValidationError, match="reason codes of"):
        models.AgentDecision.model_validate(
            changed(samples.AGENT_DECISION, decision_type=decision_type, reason_code=reason_code)
        )


def test_signal_codes_are_bound_to_their_type() -> None:
    """A signal code of another signal type is refused."""
    with pytest.raises(ValidationError, match="signal codes of"):
        models.AgentQualitySignal.model_validate(changed(samples.AGENT_QUALITY_SIGNAL, signal_code="full_match"))


def test_every_type_has_codes() -> None:
    """No decision or signal type is left without a code to use."""
    assert set(REASON_CODES) == set(DecisionType)
    assert set(SIGNAL_CODES) == set(SignalType)
    assert all(REASON_CODES.values())
    assert all(SIGNAL_CODES.values())


@pytest.mark.parametrize("confidence", [-0.01, 1.01])
def test_confidence_is_a_fraction(confidence: float) -> None:
    """Confidence lies between 0 and 1."""
    with pytest.raises(ValidationError):
        models.AgentDecision.model_validate(changed(samples.AGENT_DECISION, confidence=confidence))


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"prompt": SECRET}, id="blocked key"),
        pytest.param({" PROMPT\t": SECRET}, id="blocked key in disguise"),
        pytest.param({"config": {"key": SECRET}}, id="nested value"),
        pytest.param({"note": SECRET * 20}, id="over 100 characters"),
    ],
)
@pytest.mark.parametrize(
    "sample", [samples.AGENT_DECISION, samples.AGENT_QUALITY_SIGNAL], ids=lambda sample: type(sample).__name__
)
def test_metadata_is_under_the_privacy_rules(sample: BaseModel, metadata: dict[str, Any]) -> None:
    """The model layer refuses blocked keys, nesting and long texts, and does not repeat them."""
    with pytest.raises(ValidationError) as caught:
        type(sample).model_validate(changed(sample, metadata=metadata))
    assert SECRET not in str(caught.value)


def test_errors_do_not_carry_content() -> None:
    """A refused field is named, its value is not."""
    with pytest.raises(ValidationError) as caught:
        models.AgentDecision.model_validate(changed(samples.AGENT_DECISION, decision_type=SECRET))
    assert "decision_type" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_content_over_64_kb_must_be_a_pointer() -> None:
    """Nothing over 64 KB is carried inline, counted in bytes."""
    fits = "x" * MAX_CONTENT_BYTES
    models.AgentFailure.model_validate(changed(samples.AGENT_FAILURE, message=fits))
    for too_large in (fits + "x", "é" * (MAX_CONTENT_BYTES // 2 + 1)):
        with pytest.raises(ValidationError, match="artifact"):
            models.AgentFailure.model_validate(changed(samples.AGENT_FAILURE, message=too_large))


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "a//b", "a\\b", "./a"])
def test_artifact_paths_are_workspace_relative(path: str) -> None:
    """An artifact pointer cannot leave the workspace."""
    with pytest.raises(ValidationError):
        models.ArtifactPointer.model_validate(changed(samples.POINTER, path=path))


def test_times_need_a_zone() -> None:
    """A naive time means a different moment on every machine."""
    with pytest.raises(ValidationError, match="time zone"):
        models.RunStarted.model_validate(changed(samples.RUN_STARTED, occurred_at="2026-03-04T05:06:07"))


def test_times_become_utc() -> None:
    """A zoned time is kept as the same moment in UTC."""
    run = models.RunStarted.model_validate(changed(samples.RUN_STARTED, occurred_at="2026-03-04T07:06:07+02:00"))
    assert run.occurred_at == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_a_run_counts_its_records() -> None:
    """RunEnded counts every seq from 0 to its own."""
    with pytest.raises(ValidationError, match="emitted"):
        models.RunEnded.model_validate(changed(samples.RUN_ENDED, emitted=samples.RUN_ENDED.seq))


def test_code_actions_carry_artifacts() -> None:
    """An edit without an artifact is refused by the model."""
    action = samples.DECISION_EVENT.agent_action.model_dump(mode="json") | {"artifacts": []}
    with pytest.raises(ValidationError, match="artifacts"):
        models.DecisionEvent.model_validate(changed(samples.DECISION_EVENT, agent_action=action))


@pytest.mark.parametrize("field", ["evaluation", "agent_action", "session", "request", "span_id", "trace_id"])
def test_required_fields_of_a_decision_event(field: str) -> None:
    """What the seed requires, the model requires."""
    data = changed(samples.DECISION_EVENT)
    del data[field]
    with pytest.raises(ValidationError, match=field):
        models.DecisionEvent.model_validate(data)


@pytest.mark.parametrize("field", ["capture_mode", "prompt_bundle", "prompt_bundle_hash"])
def test_required_fields_of_a_model_call(field: str) -> None:
    """A model call states its capture mode, its bundle and the bundle's hash."""
    data = changed(samples.DECISION_EVENT)
    del data["prompt_provenance"][field]
    with pytest.raises(ValidationError, match=field):
        models.DecisionEvent.model_validate(data)


@pytest.mark.parametrize(
    "field",
    ["step_id", "snapshot_id", "intent", "retrieval_query", "candidate_chunk_ids", "selected_chunk_ids",
     "reranker_model", "reranker_version", "token_budget", "compiler_version", "prefix_hash", "prefix_length",
     "included", "excluded"],
)  # fmt: skip
def test_required_fields_of_a_manifest(field: str) -> None:
    """Every field that the seed requires of a context manifest is required."""
    data = changed(samples.CONTEXT_MANIFEST)
    del data[field]
    with pytest.raises(ValidationError, match=field):
        models.ContextManifest.model_validate(data)


@pytest.mark.parametrize(
    "field",
    ["record_id", "decision_key", "decision_version", "status", "actor", "subject_ids", "outputs", "evidence_refs",
     "policy_decisions", "approvals", "controls_active", "lineage", "trace_id"],
)  # fmt: skip
def test_required_fields_of_a_decision_record(field: str) -> None:
    """The minimum viable record of the seed is required."""
    data = changed(samples.DECISION_RECORD)
    del data[field]
    with pytest.raises(ValidationError, match=field):
        models.DecisionRecord.model_validate(data)


@pytest.mark.parametrize(
    "outputs",
    [
        pytest.param({"amount": 0.5}, id="float"),
        pytest.param({"amount": 2**60}, id="integer past 2^53"),
        pytest.param({"größe": 1}, id="non-ASCII key"),
    ],
)
def test_outputs_must_have_one_canonical_form(outputs: dict[str, Any]) -> None:
    """What cannot be sealed cannot be proposed."""
    with pytest.raises(ValidationError, match="sealed"):
        models.RecordProposal.model_validate(changed(samples.RECORD_PROPOSAL, outputs=outputs))


def test_scores_are_exact() -> None:
    """A score given as a float becomes the decimal a person wrote, not its binary neighbour."""
    card = samples.DECISION_RECORD.model_dump(mode="json")["scorecard"]
    assert card == {"policy": "1", "utility": "0.94", "latency": "0.86", "safety": "1", "cost": "0.91"}


def test_models_are_frozen_and_closed() -> None:
    """A record cannot be changed, nor carry a field nobody defined."""
    with pytest.raises(ValidationError, match="frozen"):
        samples.RUN_STARTED.tenant_id = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="surprise"):
        models.RunStarted.model_validate(changed(samples.RUN_STARTED, surprise=1))


@pytest.mark.parametrize("weight", [-0.01, 1.01])
def test_weight_is_a_fraction(weight: float) -> None:
    """A signal's weight lies between 0 and 1."""
    with pytest.raises(ValidationError):
        models.AgentQualitySignal.model_validate(changed(samples.AGENT_QUALITY_SIGNAL, weight=weight))


@pytest.mark.parametrize(("field", "limit"), [("selected", 200), ("reason_code", 100)])
def test_lengths_of_a_decision(field: str, limit: int) -> None:
    """The database's lengths hold in the model already."""
    with pytest.raises(ValidationError, match=field):
        models.AgentDecision.model_validate(changed(samples.AGENT_DECISION, **{field: "x" * (limit + 1)}))


def test_the_seal_has_its_fields() -> None:
    """Prior hash, record hash, signer key id, and the place in the log."""
    audit = samples.DECISION_RECORD.model_dump(mode="json")["audit"]
    assert {"prev_hash", "record_hash", "signed_by", "signature", "log_id", "log_seq"} <= audit.keys()


@pytest.mark.parametrize(
    ("sample", "field"),
    [(samples.AGENT_DECISION, "decision_id"), (samples.AGENT_QUALITY_SIGNAL, "signal_id")],
    ids=["decision", "signal"],
)
def test_ids_of_observations_are_uuids(sample: BaseModel, field: str) -> None:
    """Runs and steps may be named by the agent; decisions and signals are not."""
    with pytest.raises(ValidationError, match=field):
        type(sample).model_validate(changed(sample, **{field: "the first one"}))


@pytest.mark.parametrize(
    ("sample", "field"),
    [
        (samples.AGENT_DECISION, "decision_type"),
        (samples.AGENT_DECISION, "reason_code"),
        (samples.AGENT_QUALITY_SIGNAL, "signal_type"),
        (samples.AGENT_QUALITY_SIGNAL, "signal_code"),
    ],
)
def test_codes_have_at_most_100_characters(sample: BaseModel, field: str) -> None:
    """Longer ones are refused, and none of the closed lists has one."""
    with pytest.raises(ValidationError, match=field):
        type(sample).model_validate(changed(sample, **{field: "x" * 101}))
    codes = {str(code) for listed in (*REASON_CODES.values(), *SIGNAL_CODES.values()) for code in listed}
    assert max(map(len, codes | set(DecisionType) | set(SignalType))) <= 100


def test_reasons_of_context_items_are_closed_lists() -> None:
    """Three each; another word is refused, also one of the other list."""
    for log, field, allowed in (
        ("included", "included_reason", ("retrieval_trigger", "plan_dependency", "policy_requirement")),
        ("excluded", "excluded_reason", ("score_below_threshold", "budget_limit", "policy_filter")),
    ):
        manifest = changed(samples.CONTEXT_MANIFEST)
        for reason in allowed:
            items = [manifest[log][0] | {field: reason}]
            assert models.ContextManifest.model_validate(manifest | {log: items})
        for reason in ("because", "", "policy_filter" if log == "included" else "policy_requirement"):
            with pytest.raises(ValidationError, match=field):
                models.ContextManifest.model_validate(manifest | {log: [manifest[log][0] | {field: reason}]})


def test_phases_are_a_closed_list() -> None:
    """Four words, or none; the wire takes any, so that a foreign producer is read."""
    record = changed(samples.TOOL_CALL_RECORD)
    for phase in ("planning", "execution", "validation", "fix", None):
        assert models.ToolCallRecord.model_validate(record | {"phase": phase}).phase == phase
    with pytest.raises(ValidationError, match="phase"):
        models.ToolCallRecord.model_validate(record | {"phase": "pondering"})
