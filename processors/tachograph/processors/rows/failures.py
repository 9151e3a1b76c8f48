"""Rows of agent_failures: what went wrong in the agent, and what its recorder lost."""

from tachograph.processors.rows.shared import Record, Rows, artifact_ids, identity, metadata_text


def agent_failure(record: Record, append_time: int) -> Rows:
    """The agent says what failed."""
    return [
        (
            "agent_failures",
            identity(record, append_time)
            | {
                "failure_id": record["failure_id"],
                "kind": "agent_failure",
                "step_id": record["step_id"],
                "span_id": record["span_id"],
                "error_type": record["error_type"],
                "message": record["message"],
                "trigger": record["trigger"] or "",
                "tool_use_id": record["tool_use_id"],
                "snapshot_artifact_ids": artifact_ids(record["snapshots"]),
                "capture_ids": record["capture_ids"],
                "missing_pointer": record["missing_pointer"],
                "dropped": 0,
                "drop_reason": "",
                "dropped_types": [],
                "metadata": metadata_text(record["metadata"]),
            },
        )
    ]


def events_dropped(record: Record, append_time: int) -> Rows:
    """The recorder says what it lost. The failure's id is the record's own: it has no other."""
    first_at = record["first_at"]
    return [
        (
            "agent_failures",
            identity(record, append_time)
            | {
                "failure_id": record["event_id"],
                "kind": "events_dropped",
                "step_id": None,
                "span_id": None,
                "error_type": "EventsDropped",
                "message": f"the first was dropped at {first_at}" if first_at else "",
                "trigger": "",
                "tool_use_id": None,
                "snapshot_artifact_ids": [],
                "capture_ids": [],
                "missing_pointer": None,
                "dropped": record["count"],
                "drop_reason": record["reason"],
                "dropped_types": record["record_types"],
                "metadata": {},
            },
        )
    ]
