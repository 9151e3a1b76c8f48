"""The timeline: what happened, in the order of time. Pure. Its words are summaries and codes, no captured content."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from tachograph.console.report.model import Step, TimelineEntry, Tone, ToolCall
from tachograph.console.report.rows import Row, RunRows

_TONES: Final[Mapping[str, Tone]] = {
    "succeeded": "ok",
    "ok": "ok",
    "pass": "ok",
    "failed": "fail",
    "fail": "fail",
    "lost": "fail",
    "aborted": "fail",
    "SYSTEM_ERROR": "fail",
    "error": "fail",
    "critical": "fail",
    "skipped": "warn",
    "warn": "warn",
}
_MS: Final = timedelta(milliseconds=1)


def timeline_of(rows: RunRows, steps: Sequence[Step], tools: Sequence[ToolCall]) -> tuple[TimelineEntry, ...]:
    """Everything that has a moment, sorted by it; what has the same moment stays in the order of the record."""
    start = rows.run["started_at"] or rows.run["first_seen_at"]
    make = _Entries(start, {step.step_id: step.depth + 1 for step in steps})
    found = [
        *make.of_run(rows.run),
        *make.of_steps(steps),
        *make.of_events(rows),
        *make.of_tools(tools),
        *make.of_choices(rows),
        *make.of_trouble(rows),
    ]
    return tuple(sorted(found, key=lambda entry: entry.at))


class _Entries:
    """Makes entries of one run."""

    def __init__(self, start: datetime, depths: Mapping[str, int]) -> None:
        self._start = start
        self._depths = depths

    def of_run(self, run: Row) -> Iterator[TimelineEntry]:
        yield self._entry(self._start, "run", f"run of {run['agent_id']} started", tone="info", depth=0)
        if run["ended_at"] is not None:
            status = run["status"]
            yield self._entry(
                run["ended_at"], "run", f"run {status}", run["error_type"] or "", tone=tone_of(status), depth=0
            )

    def of_steps(self, steps: Sequence[Step]) -> Iterator[TimelineEntry]:
        for step in steps:
            yield self._entry(
                step.started_at,
                "step",
                f"{step.step_type}: {step.name}",
                step.error_type or step.status,
                tone=tone_of(step.status),
                depth=step.depth,
                duration_ms=step.duration_ms,
                step_id=step.step_id,
            )

    def of_events(self, rows: RunRows) -> Iterator[TimelineEntry]:
        verdicts = {row["event_id"]: _worst(row) for row in rows.evaluations}
        for row in rows.decision_events:
            tone = tone_of(verdicts.get(row["event_id"], ""))
            where: dict[str, Any] = {"event_id": row["event_id"], "step_id": row["step_id"]}
            if row["model"]:
                asked = ", ".join(item["name"] for item in row["tool_calls"])
                tokens = f"{row['input_tokens'] or 0} in, {row['output_tokens'] or 0} out"
                yield self._entry(
                    row["occurred_at"],
                    "model_call",
                    f"{row['action_type']}: {row['action_summary']}",
                    f"{row['model']}, {tokens}{f', asks for {asked}' if asked else ''}",
                    tone=tone,
                    duration_ms=row["latency_ms"],
                    **where,
                )
            else:
                kind = "override" if row["overrides_event_id"] else "action"
                made = "; ".join(item["summary"] for item in row["artifacts"])
                title = f"{row['action_type']}: {row['action_summary']}"
                yield self._entry(row["occurred_at"], kind, title, made, tone=tone, **where)

    def of_tools(self, tools: Sequence[ToolCall]) -> Iterator[TimelineEntry]:
        for call in tools:
            missing = f"no {', '.join(call.missing)}" if call.missing else ""
            said = [
                call.state,
                call.error_type or "",
                missing,
                call.phase,
                f"task {call.task_id}" if call.task_id else "",
            ]
            yield self._entry(
                call.at,
                "tool_call",
                call.tool_name,
                ", ".join(filter(None, said)),
                tone=tone_of(call.state),
                depth=self._depths.get(call.step_id or "", 0) + len(call.attribution),
                duration_ms=call.duration_ms,
                step_id=call.step_id,
            )

    def of_choices(self, rows: RunRows) -> Iterator[TimelineEntry]:
        for row in rows.agent_decisions:
            others = [item for item in row["candidates"] if item != row["selected"]]
            over = f" over {', '.join(others)}" if others else ""
            yield self._entry(
                row["occurred_at"],
                "decision",
                f"{row['decision_type']}: {row['selected']}{over}",
                row["reason_code"],
                event_id=row["event_id"],
                step_id=row["step_id"],
            )
        for row in rows.agent_quality_signals:
            yield self._entry(
                row["occurred_at"],
                "signal",
                f"{row['signal_type']}: {row['signal_code']}",
                "yes" if row["value"] else "no",
                event_id=row["event_id"],
                step_id=row["step_id"],
            )
        for row in rows.record_proposals:
            title = f"proposed {row['decision_key']}@{row['decision_version']}"
            yield self._entry(row["occurred_at"], "proposal", title, row["status"], event_id=row["event_id"])

    def of_trouble(self, rows: RunRows) -> Iterator[TimelineEntry]:
        for row in rows.agent_failures:
            dropped = f"{row['dropped']} records lost: {row['drop_reason']}" if row["dropped"] else ""
            yield self._entry(
                row["occurred_at"],
                "fault",
                row["trigger"] or row["error_type"] or row["kind"],
                dropped or row["error_type"],
                tone="fail",
                event_id=row["event_id"],
                step_id=row["step_id"],
            )
        for row in {row["violation_id"]: row for row in rows.violations}.values():
            yield self._entry(
                row["occurred_at"],
                "violation",
                row["code"],
                row["message"],
                tone=tone_of(row["severity"]),
                event_id=row["event_id"],
                step_id=row["step_id"],
            )

    def _entry(
        self,
        at: datetime,
        kind: str,
        title: str,
        detail: str = "",
        *,
        tone: Tone = "info",
        depth: int | None = None,
        duration_ms: int | None = None,
        event_id: str | None = None,
        step_id: str | None = None,
    ) -> TimelineEntry:
        return TimelineEntry(
            at=at,
            offset_ms=(at - self._start) // _MS,
            kind=kind,
            title=title,
            detail=detail,
            tone=tone,
            depth=self._depths.get(step_id or "", 0) if depth is None else depth,
            duration_ms=duration_ms,
            event_id=event_id,
            step_id=step_id,
        )


def tone_of(word: str) -> Tone:
    """How a status, a verdict or a severity is marked."""
    return _TONES.get(word, "info")


def _worst(row: Row) -> str:
    answers = {row[f"{side}_status"] for side in ("alignment", "quality", "policy")}
    return next((answer for answer in ("fail", "warn", "pass") if answer in answers), "")


def spans_of(entries: Sequence[TimelineEntry]) -> tuple[tuple[float, float] | None, ...]:
    """Where entries with a length begin and end, as shares of the time from the first to the last of them."""
    # A model call is on record when its answer is there; everything else when it begins.
    times = [
        (entry.offset_ms - lasted, entry.offset_ms)
        if entry.kind == "model_call"
        else (entry.offset_ms, entry.offset_ms + lasted)
        for entry in entries
        for lasted in [entry.duration_ms or 0]
    ]
    first, last = min((start for start, _ in times), default=0), max((end for _, end in times), default=0)
    whole = max(last - first, 1)
    return tuple(
        None if entry.duration_ms is None else ((start - first) / whole, (end - first) / whole)
        for entry, (start, end) in zip(entries, times, strict=True)
    )
