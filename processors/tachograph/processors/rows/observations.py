"""Rows of agent_decisions and agent_quality_signals."""

from tachograph.processors.rows.shared import Record, Rows, identity, metadata_text


def agent_decision(record: Record, append_time: int) -> Rows:
    """The agent chose between options."""
    return [
        (
            "agent_decisions",
            identity(record, append_time)
            | {
                "decision_id": record["decision_id"],
                "step_id": record["step_id"],
                "decision_type": record["decision_type"],
                "selected": record["selected"],
                "reason_code": record["reason_code"],
                "candidates": record["candidates"],
                "confidence": record["confidence"],
                "metadata": metadata_text(record["metadata"]),
            },
        )
    ]


def agent_quality_signal(record: Record, append_time: int) -> Rows:
    """A fact correlated with the quality of an outcome."""
    return [
        (
            "agent_quality_signals",
            identity(record, append_time)
            | {
                "signal_id": record["signal_id"],
                "step_id": record["step_id"],
                "signal_type": record["signal_type"],
                "signal_code": record["signal_code"],
                "value": record["value"],
                "weight": record["weight"],
                "metadata": metadata_text(record["metadata"]),
                "record_id": record.get("record_id"),
            },
        )
    ]
