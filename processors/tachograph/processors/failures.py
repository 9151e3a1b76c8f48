"""What the stream reports about the record itself: every observability failure, its code and how bad it is.

``docs/failures.md`` is written from this registry.
"""

from enum import Enum
from typing import NamedTuple

from tachograph.schemas.enums import Severity


class _Failure(NamedTuple):
    code: str
    severity: Severity
    meaning: str
    example: str


class Failure(Enum):
    """One way in which a record of a run can fall short."""

    MISSING_PROMPT_BUNDLE = _Failure(
        "observability.missing_prompt_bundle",
        Severity.ERROR,
        "a model was called and the record has neither its prompt bundle nor a pointer to it",
        "a `DecisionEvent` with a `model_output` and `prompt_bundle: null`",
    )
    MISSING_BUNDLE_HASH = _Failure(
        "observability.missing_bundle_hash",
        Severity.ERROR,
        "a model was called and the record has no hash of its prompt bundle",
        "a `DecisionEvent` with `prompt_bundle_hash: null`",
    )
    MISSING_CORRELATION_IDS = _Failure(
        "observability.missing_correlation_ids",
        Severity.ERROR,
        "the record lacks its trace id, run id or span id, so nobody can tell what it belongs to",
        "a `DecisionEvent` with `span_id: null`, or any record with `trace_id: null`",
    )
    MISSING_CAPTURE_MODE = _Failure(
        "observability.missing_capture_mode",
        Severity.ERROR,
        "the record does not say how its content was captured: full, redacted or hashed",
        "`prompt_provenance.capture_mode: null`, or a tool call's leg without one",
    )
    MISSING_EVALUATION = _Failure(
        "observability.missing_evaluation",
        Severity.ERROR,
        "the event has no evaluation; where nothing was checked it should say unknown",
        "a `DecisionEvent` with `evaluation: null`",
    )
    UNRECORDED_TRANSFORMATION = _Failure(
        "observability.unrecorded_transformation",
        Severity.ERROR,
        "the prompt was changed on the way to the model, and no transformation says so",
        "`sent_hash` differs from `prompt_bundle_hash`; or an earlier message was shortened and nothing says so",
    )
    MISSING_TOOL_RESULT = _Failure(
        "observability.missing_tool_result",
        Severity.ERROR,
        "a tool was called, or asked for by the model, and no result came back",
        "the model asked for `tc_1`, and the run ended without a result of it",
    )
    UNREQUESTED_RESULT = _Failure(
        "observability.unrequested_result",
        Severity.ERROR,
        "a tool result arrived that neither a model nor the agent had asked for",
        "a `result` leg for `tc_9`, which no model output names and no `pre` leg began",
    )
    HOOKS_DID_NOT_RUN = _Failure(
        "observability.hooks_did_not_run",
        Severity.WARN,
        "a tool gave a result without passing its hooks: it was called outside the boundary",
        "`tool_results` lists `tc_1`, and there is no `pre` leg of it",
    )
    LATE_LEG = _Failure(
        "observability.late_leg",
        Severity.WARN,
        "a part of a tool call arrived after the call was closed; it is kept as a row of its own",
        "the `post` leg of a call that was closed 15 minutes ago",
    )
    DUPLICATE_LEG = _Failure(
        "observability.duplicate_leg",
        Severity.WARN,
        "the same part of a tool call was recorded twice; the second is kept as a row of its own",
        "two `pre` legs of one call with different event ids",
    )
    SEQ_GAP = _Failure(
        "observability.seq_gap",
        Severity.CRITICAL,
        "records of the run that were counted never arrived",
        "`RunEnded.emitted` is 40 and places 5 to 7 never came",
    )
    SEQ_REUSED = _Failure(
        "observability.seq_reused",
        Severity.ERROR,
        "two records of a run claim the same place in it",
        "two different records with `seq: 12`",
    )
    DUPLICATE_EVENT_ID = _Failure(
        "observability.duplicate_event_id",
        Severity.CRITICAL,
        "two records with the same event id have different content",
        "one event id, two different messages",
    )
    ORPHAN_PARENT = _Failure(
        "observability.orphan_parent",
        Severity.WARN,
        "a record hangs on a span or tool call that is nowhere in its run",
        "`parent_span_id` names a span that no record of the run has",
    )
    PARENT_CIRCLE = _Failure(
        "observability.parent_circle",
        Severity.ERROR,
        "the parents of a span or tool call lead back to itself, so nobody can tell what caused what",
        "span `a` names `b` as its parent, and `b` names `a`; or a span names itself",
    )
    SPAN_REUSED = _Failure(
        "observability.span_reused",
        Severity.ERROR,
        "two decision events of a run have the same span id",
        "two `DecisionEvent`s with different event ids and one `span_id`",
    )
    MISSING_MANIFEST = _Failure(
        "observability.missing_manifest",
        Severity.ERROR,
        "a step has no context manifest: what it saw, and what was left out, is not on record",
        "a `StepStarted`, and the run ended without a `ContextManifest` of that step",
    )
    TRACE_CHANGED = _Failure(
        "observability.trace_changed",
        Severity.ERROR,
        "the trace id changed within a run",
        "a record of the run under another `trace_id`",
    )
    CLOCK_SKEW = _Failure(
        "observability.clock_skew",
        Severity.WARN,
        "the producer's clock disagrees with the broker's, or ran backwards within the run",
        "`occurred_at` two minutes ahead of the broker's append time",
    )
    RUN_NEVER_ENDED = _Failure(
        "observability.run_never_ended",
        Severity.ERROR,
        "the run fell silent without saying that it ended",
        "no record for an hour, and no `RunEnded`",
    )
    RECORD_AFTER_END = _Failure(
        "observability.record_after_end",
        Severity.WARN,
        "a record arrived after its run had ended",
        "an `AgentDecision` after its run's `RunEnded`",
    )
    EVENTS_DROPPED = _Failure(
        "observability.events_dropped",
        Severity.ERROR,
        "the recorder lost records and says so",
        "an `EventsDropped` record, or `RunEnded.dropped` above what such records say",
    )
    RUN_OVER_BOUND = _Failure(
        "observability.run_over_bound",
        Severity.WARN,
        "the run is larger than the worker remembers at once; its oldest open tool calls were closed early",
        "300 tool calls begun and not finished",
    )

    @property
    def code(self) -> str:
        """Stable code."""
        return self.value.code

    @property
    def severity(self) -> Severity:
        """How bad."""
        return self.value.severity

    @property
    def meaning(self) -> str:
        """In words, without content."""
        return self.value.meaning

    @property
    def example(self) -> str:
        """A record that shows it."""
        return self.value.example


def table() -> str:
    """The registry as the table of ``docs/failures.md``."""
    rows = ["| code | severity | what it means | for example |", "|---|---|---|---|"]
    rows += [
        f"| `{failure.code}` | {failure.severity.value} | {failure.meaning} | {failure.example} |"
        for failure in Failure
    ]
    return "\n".join(rows) + "\n"
