"""Rows of decision_events and tool_calls.

Nested lists whose records have the same fields as the table's are handed on as they are; the codec ignores what the
table does not have. Only what is named differently, or lies deeper, is rebuilt.
"""

from typing import Final

from tachograph.processors.rows.shared import Record, Row, Rows, artifact_id, identity, metadata_text, request_columns

_NO_MODEL_CALL: Final[Row] = {
    "provider": "",
    "model": "",
    "capture_mode": "",
    "prompt_bundle_hash": "",
    "sent_hash": None,
    "bundle_artifact_id": None,
    "temperature": None,
    "top_p": None,
    "max_tokens": None,
}

_NO_BUNDLE: Final[Row] = {
    "messages": [],
    "retrieval_enabled": False,
    "retrieval_sources": [],
    "retrieval_snippets": None,
    "tools": [],
    "transformations": [],
}

_NO_OUTPUT: Final[Row] = {
    "completion_id": None,
    "output_raw": None,
    "output_artifact_id": None,
    "output_structured": None,
    "tool_calls": [],
    "input_tokens": None,
    "output_tokens": None,
    "latency_ms": None,
}

_NO_EVALUATION: Final[Row] = {
    "alignment_status": "",
    "alignment_score": None,
    "alignment_violations": [],
    "quality_status": "",
    "quality_checks": [],
    "policy_status": "",
    "policy_checks": [],
}


def decision_event(record: Record, append_time: int) -> Rows:
    """One action boundary."""
    session, action = record["session"], record["agent_action"]
    provenance, output, evaluation = record["prompt_provenance"], record["model_output"], record["evaluation"]
    bundle = None if provenance is None else provenance["prompt_bundle"]
    return [
        (
            "decision_events",
            {
                **identity(record, append_time),
                "schema_version": record["schema_version"],
                "span_id": record["span_id"] or "",
                "parent_span_id": record["parent_span_id"],
                "step_id": record["step_id"],
                "session_id": session["session_id"],
                "agent_version": session["agent_version"],
                "environment": session["environment"],
                **request_columns(record["request"]),
                **(_NO_MODEL_CALL if provenance is None else _model_call(provenance)),
                **(_NO_BUNDLE if bundle is None else _bundle(bundle)),
                **(_NO_OUTPUT if output is None else _output(output)),
                "action_type": action["action_type"],
                "action_summary": action["action_summary"],
                "artifacts": [artifact | artifact["metadata"] for artifact in action["artifacts"]],
                "tool_results": [
                    result | {"output_artifact_id": artifact_id(result["output_pointer"])}
                    for result in action["tool_results"]
                ],
                **(_NO_EVALUATION if evaluation is None else _evaluation(evaluation)),
                "overrides_event_id": record["overrides_event_id"],
            },
        )
    ]


def _model_call(provenance: Record) -> Row:
    parameters = provenance["parameters"]
    return {
        "provider": provenance["provider"],
        "model": provenance["model"],
        "capture_mode": provenance["capture_mode"] or "",
        "prompt_bundle_hash": provenance["prompt_bundle_hash"] or "",
        "sent_hash": provenance["sent_hash"],
        "bundle_artifact_id": artifact_id(provenance["bundle_pointer"]),
        "temperature": parameters["temperature"],
        "top_p": parameters["top_p"],
        "max_tokens": parameters["max_tokens"],
    }


def _bundle(bundle: Record) -> Row:
    retrieval = bundle["retrieval"]
    return {
        "messages": bundle["messages"],
        "retrieval_enabled": retrieval["enabled"],
        "retrieval_sources": retrieval["sources"],
        "retrieval_snippets": retrieval["snippets"],
        "tools": bundle["tools"],
        "transformations": bundle["transformations"],
    }


def _output(output: Record) -> Row:
    usage = output["usage"]
    return {
        "completion_id": output["completion_id"],
        "output_raw": output["output_raw"],
        "output_artifact_id": artifact_id(output["output_pointer"]),
        "output_structured": output["output_structured"],
        "tool_calls": output["tool_calls"],
        "input_tokens": usage["input_tokens"],
        "output_tokens": usage["output_tokens"],
        "latency_ms": usage["latency_ms"],
    }


def _evaluation(evaluation: Record) -> Row:
    alignment, quality, policy = evaluation["alignment"], evaluation["quality"], evaluation["policy"]
    return {
        "alignment_status": alignment["status"],
        "alignment_score": alignment["score"],
        "alignment_violations": alignment["violations"],
        "quality_status": quality["status"],
        "quality_checks": quality["checks"],
        "policy_status": policy["status"],
        "policy_checks": policy["checks"],
    }


def tool_call_record(record: Record, append_time: int) -> Rows:
    """One leg of a tool call."""
    return [
        (
            "tool_calls",
            identity(record, append_time)
            | {
                "tool_use_id": record["tool_use_id"],
                "tool_name": record["tool_name"],
                "leg": record["leg"],
                "span_id": record["span_id"],
                "step_id": record["step_id"],
                "task_id": record["task_id"],
                "parent_tool_use_id": record["parent_tool_use_id"],
                "phase": record["phase"] or "",
                "depth": record["depth"],
                "capture_mode": record["capture_mode"] or "",
                "tool_input": record["tool_input"],
                "input_artifact_id": artifact_id(record["input_pointer"]),
                "output": record["output"],
                "output_artifact_id": artifact_id(record["output_pointer"]),
                "duration_ms": record["duration_ms"],
                "error_type": record["error_type"],
                "error": record["error"],
                "skipped": record["skipped"],
                "hooks": record["hooks"],
                "metadata": metadata_text(record["metadata"]),
            },
        )
    ]
