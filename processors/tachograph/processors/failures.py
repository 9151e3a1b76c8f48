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


class Failure(Enum):
    """One way in which a record of a run can fall short."""

    MISSING_PROMPT_BUNDLE = _Failure(
        "observability.missing_prompt_bundle",
        Severity.ERROR,
        "a model was called and the record has neither its prompt bundle nor a pointer to it",
    )
    MISSING_BUNDLE_HASH = _Failure(
        "observability.missing_bundle_hash",
        Severity.ERROR,
        "a model was called and the record has no hash of its prompt bundle",
    )
    MISSING_CORRELATION_IDS = _Failure(
        "observability.missing_correlation_ids",
        Severity.ERROR,
        "the record lacks its trace id, run id or span id, so nobody can tell what it belongs to",
    )
    MISSING_CAPTURE_MODE = _Failure(
        "observability.missing_capture_mode",
        Severity.ERROR,
        "the record does not say how its content was captured: full, redacted or hashed",
    )
    MISSING_EVALUATION = _Failure(
        "observability.missing_evaluation",
        Severity.ERROR,
        "the event has no evaluation; where nothing was checked it should say unknown",
    )
    UNRECORDED_TRANSFORMATION = _Failure(
        "observability.unrecorded_transformation",
        Severity.ERROR,
        "the prompt was changed on the way to the model, and no transformation says so",
    )
    MISSING_TOOL_RESULT = _Failure(
        "observability.missing_tool_result",
        Severity.ERROR,
        "a tool was called, or asked for by the model, and no result came back",
    )
    UNREQUESTED_RESULT = _Failure(
        "observability.unrequested_result",
        Severity.ERROR,
        "a tool result arrived that neither a model nor the agent had asked for",
    )
    HOOKS_DID_NOT_RUN = _Failure(
        "observability.hooks_did_not_run",
        Severity.WARN,
        "a tool gave a result without passing its hooks: it was called outside the boundary",
    )
    LATE_LEG = _Failure(
        "observability.late_leg",
        Severity.WARN,
        "a part of a tool call arrived after the call was closed; it is kept as a row of its own",
    )
    DUPLICATE_LEG = _Failure(
        "observability.duplicate_leg",
        Severity.WARN,
        "the same part of a tool call was recorded twice; the second is kept as a row of its own",
    )
    SEQ_GAP = _Failure(
        "observability.seq_gap",
        Severity.CRITICAL,
        "records of the run that were counted never arrived",
    )
    SEQ_REUSED = _Failure(
        "observability.seq_reused",
        Severity.ERROR,
        "two records of a run claim the same place in it",
    )
    DUPLICATE_EVENT_ID = _Failure(
        "observability.duplicate_event_id",
        Severity.CRITICAL,
        "two records with the same event id have different content",
    )
    ORPHAN_PARENT = _Failure(
        "observability.orphan_parent",
        Severity.WARN,
        "a record hangs on a span or tool call that is nowhere in its run",
    )
    TRACE_CHANGED = _Failure(
        "observability.trace_changed",
        Severity.ERROR,
        "the trace id changed within a run",
    )
    CLOCK_SKEW = _Failure(
        "observability.clock_skew",
        Severity.WARN,
        "the producer's clock disagrees with the broker's, or ran backwards within the run",
    )
    RUN_NEVER_ENDED = _Failure(
        "observability.run_never_ended",
        Severity.ERROR,
        "the run fell silent without saying that it ended",
    )
    RECORD_AFTER_END = _Failure(
        "observability.record_after_end",
        Severity.WARN,
        "a record arrived after its run had ended",
    )
    EVENTS_DROPPED = _Failure(
        "observability.events_dropped",
        Severity.ERROR,
        "the recorder lost records and says so",
    )
    RUN_OVER_BOUND = _Failure(
        "observability.run_over_bound",
        Severity.WARN,
        "the run is larger than the worker remembers at once; its oldest open tool calls were closed early",
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
