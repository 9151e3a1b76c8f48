"""The pure core: one record and the state of its run in, rows and violations out. No I/O, no clock but the record's.

Called by the worker, by tests and by replay. Given the same state and record it gives the same outputs, which is what
lets a restarted worker repeat itself without anybody noticing.
"""

from sys import intern
from typing import Any, Final, NamedTuple

from tachograph.processors.bounds import require_short_ids, short, short_or_none
from tachograph.processors.detect import detect, detect_at_end, detect_reuse
from tachograph.processors.evaluate import Evaluation, Evaluator, RunFacts
from tachograph.processors.failures import Failure
from tachograph.processors.join import close_all, close_overdue, join_event, join_leg
from tachograph.processors.judge import evaluation_row, report_findings
from tachograph.processors.report import Output, Report
from tachograph.processors.rows import ROWS_BY_TYPE
from tachograph.processors.rows.runs import run_ended_row
from tachograph.processors.state import RunState
from tachograph.processors.violations import subject_of

JOIN_TIMEOUT: Final = 900_000_000
"""Microseconds after which a tool call is closed without its missing parts: longer than tools usually take."""


class Incoming(NamedTuple):
    """A decoded record and where it was read."""

    name: str
    """Record type."""
    record: dict[str, Any]
    """As the codec gives it: plain values, times in microseconds."""
    partition: int
    offset: int
    append_time: int
    """When the broker appended it, in microseconds since 1970."""
    digest: bytes
    """Eight bytes that stand for the message as it came."""


class Core:
    """Applies records to the states of their runs."""

    def __init__(self, evaluator: Evaluator | None = None, *, join_timeout: int = JOIN_TIMEOUT) -> None:
        self._evaluator = evaluator
        self._join_timeout = join_timeout

    def __call__(self, state: RunState, incoming: Incoming) -> list[Output]:
        """Apply one record to the state of its run. A repeat gives nothing and changes nothing but its count.

        If it raises, the state is as it was: the record can be dead-lettered and the run goes on.
        """
        if state.holds(incoming.offset):
            return []
        name, record, _, offset, append_time, digest = incoming
        subject = subject_of(record)
        require_short_ids(record)
        # Reads all that it will need of the record, so that what follows cannot fail halfway.
        rows = ROWS_BY_TYPE[name](record, append_time)
        known = state.seen.find(record["event_id"])
        evaluation = None if known == digest else self._evaluate(state, name, record)
        state.last_offset = offset
        state.last_append_time = append_time
        if known == digest:
            state.repeats += 1
            return []
        report = Report(subject)
        _place(state, incoming, known, report)
        state.received += 1
        if state.calls:
            close_overdue(state, append_time, self._join_timeout, report, "timeout")
        if name != "ToolCallRecord":
            report.rows(rows)
        detect(state, name, record, append_time, report)
        if name == "ToolCallRecord":
            join_leg(state, rows[0][1], report)
        elif name == "DecisionEvent":
            if known is None:
                detect_reuse(state, record, report)
            if evaluation is not None:
                report.rows([("evaluations", evaluation_row(record, append_time, evaluation))])
                report_findings(record, evaluation, report)
            join_event(state, record, append_time, report)
        elif name == "RunEnded":
            _end(state, record, append_time, report)
        _remember(state, name, record)
        return report.outputs

    def _evaluate(self, state: RunState, name: str, record: dict[str, Any]) -> Evaluation | None:
        if self._evaluator is None:
            return None
        if state.facts is None:
            state.facts = RunFacts()
        if name == "DecisionEvent":
            return self._evaluator.evaluate(state.facts, record)
        self._evaluator.observe(state.facts, name, record)
        return None


process: Final = Core()
"""The core without rules: it joins and detects, and evaluates nothing."""


def _place(state: RunState, incoming: Incoming, known: bytes | None, report: Report) -> None:
    """Give a record its place in the run. ``known`` is the digest of an earlier record with its id."""
    record = incoming.record
    if known is None:
        state.seen.add(record["event_id"], incoming.digest)
    else:
        report.fail(Failure.DUPLICATE_EVENT_ID, f"a {incoming.name}", event_id=record["event_id"])
    # Records that name no run share a state, and their places mean nothing together.
    if record["run_id"] and not state.seqs.add(record["seq"]) and known is None:
        report.fail(Failure.SEQ_REUSED, f"place {record['seq']}", event_id=record["event_id"])


def _end(state: RunState, record: dict[str, Any], append_time: int, report: Report) -> None:
    close_all(state, report, "run_ended")
    detect_at_end(state, record["emitted"], report)
    if record["dropped"] > state.dropped:
        lost = record["dropped"] - state.dropped
        report.fail(Failure.EVENTS_DROPPED, f"{lost} records that no other record names", about="run")
    report.rows([("agent_runs", run_ended_row(record, append_time, state))])


def _remember(state: RunState, name: str, record: dict[str, Any]) -> None:
    # Texts that many runs have in common are in memory once.
    state.tenant_id = intern(record["tenant_id"])
    state.agent_id = intern(record["agent_id"])
    state.run_id = record["run_id"] or ""
    state.last_event_id = record["event_id"]
    state.last_occurred_at = record["occurred_at"]
    state.last_seq = record["seq"]
    if name == "RunStarted":
        request = record["request"]
        context = request["context"]
        state.started_at = record["occurred_at"]
        state.session_id = short(record["session_id"])
        state.agent_version = intern(short(record["agent_version"]))
        state.environment = intern(short(record["environment"]))
        state.capture_mode = intern(short(record["capture_mode"]))
        state.parent_run_id = short_or_none(record["parent_run_id"])
        state.sdk = intern(short(record["sdk"]))
        state.request_id = short(request["request_id"])
        state.channel = intern(short(context["channel"]))
        state.repo = short_or_none(context["repo"])
        state.branch = short_or_none(context["branch"])
        state.ticket_id = short_or_none(context["ticket_id"])
    elif name == "EventsDropped":
        state.dropped += record["count"]
    elif name == "RunEnded":
        state.ended = True
