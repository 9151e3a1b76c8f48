"""What the pipeline itself publishes: violations, snapshots, checkpoints, replay results, dead letters, views."""

from typing import Annotated

from pydantic import Field

from tachograph.schemas.enums import FaultTrigger, ReplayStatus, RetentionClass, Severity, SnapshotKind
from tachograph.schemas.models.base import Content, Count, Frozen, Identifier, Sha256, Timestamp
from tachograph.schemas.topics import ViolationKind


class Violation(Frozen):
    """A broken promise. Its id is derived from what it reports, so a repeat is the same message.

    Verdict (what the rule said) and action (what was enforced) stay apart.
    """

    tenant_id: Identifier
    """Whose data this is."""
    agent_id: str
    """Agent it is about; empty if none."""
    violation_id: Identifier
    """Derived from what it reports."""
    kind: ViolationKind
    """What sort of promise was broken."""
    code: Identifier
    """Stable code of the rule, such as ``observability.missing_capture_mode``."""
    severity: Severity
    """How bad."""
    message: Content
    """What was broken and what to do, without captured content."""
    evidence: Content | None = None
    """Redacted excerpt, or a pointer."""
    constraint_id: str | None = None
    """Constraint of the request."""
    verdict: str
    """What the rule said."""
    action: str
    """What was enforced."""
    trace_id: str
    """Trace of the run."""
    run_id: str
    """Run it belongs to."""
    event_id: str | None = None
    """Event that broke it, where one event did."""
    step_id: str | None = None
    """Step it belongs to."""
    tool_use_id: str | None = None
    """Tool call it belongs to."""
    occurred_at: Timestamp
    """When it happened."""
    sample_event_ids: tuple[str, ...] = ()
    """Examples, for violations over many events."""


class Snapshot(Frozen):
    """A stored prompt or tool output, or the fact that it could not be stored."""

    tenant_id: Identifier
    """Whose data this is."""
    agent_id: str
    """Agent it is about; empty if none."""
    snapshot_id: Identifier
    """Snapshot."""
    trace_id: str
    """Trace of the run."""
    run_id: str
    """Run it belongs to."""
    step_id: str | None = None
    """Step it belongs to."""
    event_id: str | None = None
    """Event it belongs to."""
    tool_use_id: str | None = None
    """Tool call it belongs to."""
    kind: SnapshotKind
    """Prompt or tool output."""
    trigger: FaultTrigger
    """Fault that asked for it, or sampled."""
    occurred_at: Timestamp
    """When it happened."""
    stored: bool
    """Whether the bytes were stored."""
    artifact_id: str | None = None
    """Where they are."""
    path: str | None = None
    """Workspace-relative path."""
    hash: Sha256 | None = None
    """SHA-256 of the bytes."""
    size_bytes: Count | None = None
    """How many bytes."""
    created_at: Timestamp | None = None
    """When they were stored."""
    capture_partition: int | None = None
    """Partition in the captures topic."""
    capture_offset: int | None = None
    """Place of the bytes in the captures topic."""
    deleted_at: Timestamp | None = None
    """When retention removed the bytes."""
    retention: RetentionClass = RetentionClass.SHORT
    """Retention class."""


class Checkpoint(Frozen):
    """A signed head of one record log."""

    tenant_id: Identifier
    """Whose data this is."""
    log_id: Identifier
    """Log."""
    tree_size: Count
    """Records under the head."""
    root_hash: Annotated[str, Field(min_length=1)]
    """Base64, as in the note."""
    head_hash: str
    """Record hash of the last record in the chain."""
    note: Content
    """C2SP signed note, exact bytes."""
    signed_by: Identifier
    """Key id."""
    occurred_at: Timestamp
    """When it happened."""
    anchor: str | None = None
    """Where it was anchored, if it was."""


class ReplayResult(Frozen):
    """What became of a record, or of a run without one, when it was replayed. Replaying again is another result."""

    tenant_id: Identifier
    """Whose data this is."""
    agent_id: str
    """Agent it is about; empty if none."""
    replay_id: Identifier
    """Replay; a repeat of the same message is the same row."""
    trace_id: str
    """Trace of the run."""
    run_id: str
    """Run that was replayed."""
    record_id: str
    """Record that was replayed; empty if the run has none."""
    decision_key: str
    """Decision in the catalog; empty if the run has no record."""
    decision_spec: str
    """Decision spec that the record pins, with its version."""
    pack_version: str
    """Context pack that the record pins."""
    policy_versions: tuple[str, ...] = ()
    """Policy bundles that the record pins."""
    outcome: ReplayStatus
    """replay_equal, or the type of the first difference."""
    diffs: Content = "[]"
    """Every difference as JSON text: types, places and hashes, without captured content."""
    replayed_by: str
    """What replayed it, with its version."""
    replayed_at: Timestamp
    """When it was replayed."""


class DeadLetter(Frozen):
    """A message that could not be processed. Its bytes stay in the dead-letter topic."""

    tenant_id: str
    """Whose data it is, if that is known."""
    dead_letter_id: Identifier
    """Derived from where the message was read."""
    source_topic: str
    """Topic it was read from."""
    source_partition: Count
    """Partition it was read from."""
    source_offset: Count
    """Offset it was read at."""
    stage: str
    """DECODE, PROCESS or INSERT."""
    component: str
    """Who gave up."""
    error_type: str
    """Class of the error."""
    error: str
    """What was wrong, without the content that was wrong."""
    size_bytes: Count
    """Size of the message."""
    value_sha256: Sha256
    """SHA-256 of its bytes."""
    occurred_at: Timestamp
    """Broker time of the original message."""


class ContentView(Frozen):
    """Somebody asked the console for captured content. Recorded before the content is shown, or it is not shown."""

    tenant_id: Identifier
    """Whose data was shown."""
    view_id: Identifier
    """View."""
    viewer: Identifier
    """Who looked: the subject that the identity provider names, or the local operator."""
    role: Identifier
    """Role under which the viewer looked."""
    kind: Identifier
    """What was shown: run, model_call, tool_call, snapshot, record, dead_letter, search or query."""
    run_id: str
    """Run it belongs to; empty if to none."""
    target: str
    """Event, tool call, snapshot, record or dead letter that was shown; empty if it was all of the run."""
    detail: str
    """Of a search or query, the text that was asked; else empty."""
    remote: str
    """Address the request came from."""
    occurred_at: Timestamp
    """When it was asked for, by the console's clock."""
