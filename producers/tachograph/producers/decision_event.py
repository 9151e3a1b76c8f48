"""Bodies of DecisionEvent: one action boundary, with its model call where it had one."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tachograph.producers import checks
from tachograph.producers.capture import HASH_PREFIX, INLINE_LIMIT, CapturePolicy
from tachograph.producers.errors import RecordRefusedError
from tachograph.schemas.enums import CODE_ACTIONS, ActionType, CaptureMode

if TYPE_CHECKING:
    from tachograph.producers.run import Run

SCHEMA_VERSION: Final = "0.2"
_PATH_LIMIT: Final = 1024
_UNCHECKED: Final = {
    "alignment": {"status": "unknown", "score": None, "violations": []},
    "quality": {"status": "unknown", "checks": []},
    "policy": {"status": "unknown", "checks": []},
}


def event_body(
    run: "Run",
    *,
    span_id: str,
    parent_span_id: str | None,
    step_id: str | None,
    action_type: ActionType | str,
    summary: str,
    policy: CapturePolicy,
    artifacts: Iterable[Any] = (),
    prompt_provenance: dict[str, Any] | None = None,
    model_output: dict[str, Any] | None = None,
    evaluation: Any = None,
    overrides_event_id: str | None = None,
) -> dict[str, Any]:
    """The event. Takes the tool results that came back to the agent since the event before."""
    kind = checks.member("action_type", action_type, ActionType)
    made = [artifact_body(item, policy) for item in artifacts]
    if kind in CODE_ACTIONS and not made:
        raise RecordRefusedError("artifacts", f"an action {kind.value} involves code and carries artifacts")
    if made:
        run.observed.recorded("DecisionEvent", {"agent_action": {"artifacts": made}}, run.recorder.clock.now_micros())
    return {
        "schema_version": SCHEMA_VERSION,
        "span_id": span_id,
        "parent_span_id": parent_span_id,
        "step_id": step_id,
        "session": run.session_body,
        "request": run.request_body,
        "prompt_provenance": prompt_provenance,
        "model_output": model_output,
        "agent_action": {
            "action_type": kind.value,
            "action_summary": policy.text(str(summary)).text,
            "artifacts": made,
            "tool_results": run.results.take(),
        },
        "evaluation": _UNCHECKED if evaluation is None else evaluation_body(evaluation, policy),
        "overrides_event_id": checks.maybe_name(overrides_event_id, run.recorder.label),
    }


def artifact_body(item: Any, policy: CapturePolicy) -> dict[str, Any]:
    """An artifact as it may be stored. Builders have captured theirs, but an Artifact may also be made by hand."""
    from tachograph.schemas.models.decision_event import Artifact  # noqa: PLC0415 - not at import: it would double the cost
    from tachograph.schemas.wire.convert import to_avro  # noqa: PLC0415 - not at import: it would double the cost

    if isinstance(item, Mapping):
        captured = {
            name: policy.text(str(item[name])).text for name in ("summary", "content") if item.get(name) is not None
        }
        item = checks.fits("artifacts", Artifact, {**item, **captured})
    if not isinstance(item, Artifact):
        raise RecordRefusedError("artifacts", "each is an Artifact or a mapping of its fields")
    body = to_avro(item)
    if policy.mode is CaptureMode.HASHED and body["content"] and not body["content"].startswith(HASH_PREFIX):
        body["content"] = policy.text(body["content"]).text
    # What was redacted already stays as it is: redacting twice is redacting once.
    for name in ("id", "summary", "content", "content_ref"):
        if body[name] is not None:
            body[name] = policy.label(body[name], INLINE_LIMIT)
    path = body["metadata"]["path"]
    body["metadata"]["path"] = None if path is None else policy.label(path, _PATH_LIMIT)
    return body


def evaluation_body(given: Any, policy: CapturePolicy) -> dict[str, Any]:
    """The agent's own checks of what it did. Texts of violations and checks are content."""
    from tachograph.schemas.models.decision_event import Evaluation  # noqa: PLC0415 - not at import: it would double the cost
    from tachograph.schemas.wire.convert import to_avro  # noqa: PLC0415 - not at import: it would double the cost

    body = to_avro(given if isinstance(given, Evaluation) else checks.fits("evaluation", Evaluation, given))
    for found in [*body["alignment"]["violations"], *body["quality"]["checks"], *body["policy"]["checks"]]:
        found["id"] = policy.label(found["id"])
        for name in ("message", "evidence"):
            if found.get(name):
                found[name] = policy.text(found[name]).text
    return body
