"""A recording of a run from ClickHouse: rows in the shape of the records they were made of."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tachograph.console.database import Reader
from tachograph.console.replay.fetch import NothingToReplayError
from tachograph.console.rows import Row, rows
from tachograph.producers.replay.reading import Fetch, recording_of
from tachograph.schemas.enums import ToolLeg
from tachograph.schemas.recording import Recording

_FAMILY: Final = """
WITH RECURSIVE family AS
(
    SELECT {name:String} AS id
    UNION ALL
    SELECT DISTINCT child.run_id AS id FROM agent_runs AS child INNER JOIN family ON child.parent_run_id = family.id
    WHERE child.tenant_id = {tenant:String}
)
SELECT DISTINCT id FROM family
"""
_ROWS: Final = "SELECT * FROM {table} FINAL WHERE tenant_id = {{tenant:String}} AND run_id IN {{runs:Array(String)}}"


def read_recording(database: Reader, tenant_id: str, run_id: str, fetch: Fetch) -> Recording:
    """The recording of a run and of the runs it started."""
    family = [row["id"] for row in rows(database, _FAMILY, tenant=tenant_id, name=run_id)]

    def of(table: str) -> list[Row]:
        return rows(database, _ROWS.format(table=table), tenant=tenant_id, runs=family)

    runs = of("agent_runs")
    if not any(row["run_id"] == run_id and row["event_type"] == "run_started" for row in runs):
        raise NothingToReplayError(
            f"there is no run {run_id} of tenant {tenant_id}: `tachograph runs` lists the latest"
        )
    records = [*_runs(runs), *_steps(of("agent_steps")), *_decisions(of("agent_decisions"))]
    records += [*_events(of("decision_events")), *_calls(of("tool_calls"))]
    return recording_of(run_id, records, fetch=fetch)


Record = tuple[str, Mapping[str, Any]]


def _runs(found: list[Row]) -> Iterator[Record]:
    for row in found:
        if row["event_type"] == "run_started":
            yield "RunStarted", row | {"request": {"user_request_raw": row["user_request_raw"]}}
        else:
            yield "RunEnded", row


def _steps(found: list[Row]) -> Iterator[Record]:
    for row in found:
        if row["event_type"] == "step_started":
            yield "StepStarted", row


def _decisions(found: list[Row]) -> Iterator[Record]:
    for row in found:
        yield "AgentDecision", row


def _events(found: list[Row]) -> Iterator[Record]:
    for row in found:
        if not row["provider"]:
            continue
        bundle = {
            "messages": row["messages"],
            "retrieval": {
                "enabled": row["retrieval_enabled"],
                "sources": row["retrieval_sources"],
                "snippets": row["retrieval_snippets"],
            },
            "tools": row["tools"],
            "transformations": row["transformations"],
        }
        provenance = {
            "provider": row["provider"],
            "model": row["model"],
            "capture_mode": row["capture_mode"],
            "prompt_bundle": bundle,
            "prompt_bundle_hash": row["prompt_bundle_hash"] or None,
        }
        usage = {name: row[name] for name in ("input_tokens", "output_tokens", "latency_ms")}
        output = {
            "completion_id": row["completion_id"],
            "output_raw": row["output_raw"],
            "output_pointer": _pointer(row["output_artifact_id"]),
            "output_structured": row["output_structured"],
            "tool_calls": row["tool_calls"],
            "usage": usage,
        }
        action = {"action_summary": row["action_summary"]}
        yield (
            "DecisionEvent",
            row
            | {
                "prompt_provenance": provenance,
                "model_output": output,
                "agent_action": action,
            },
        )


def _calls(found: list[Row]) -> Iterator[Record]:
    """The legs that a joined call was made of, as far as it has them."""
    for row in found:
        legs = {ToolLeg.PRE: "started_at", ToolLeg.POST: "finished_at", ToolLeg.RESULT: "handed_at"}
        pointers = {
            "input_pointer": _pointer(row["input_artifact_id"]),
            "output_pointer": _pointer(row["output_artifact_id"]),
        }
        for leg, moment in legs.items():
            if row[moment] is not None:
                yield "ToolCallRecord", row | pointers | {"leg": leg.value, "occurred_at": row[moment]}


def _pointer(artifact_id: str | None) -> dict[str, str] | None:
    return None if artifact_id is None else {"artifact_id": artifact_id}
