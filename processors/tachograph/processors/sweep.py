"""Looks after runs that fell silent: the one place where time passes without a record.

Pure: the caller brings the time. What a sweep writes about a run is determined by the run's state, and its source
coordinates are the offset of the run's last record, on a stream of their own. Runs are swept in the order of those
offsets, so that a sweep that is repeated after a crash writes the same messages with the same coordinates, and a sink
drops them like any other repeat.
"""

from typing import Final, NamedTuple

from tachograph.processors.core import JOIN_TIMEOUT
from tachograph.processors.detect import detect_at_end
from tachograph.processors.failures import Failure
from tachograph.processors.join import close_overdue
from tachograph.processors.report import Output, Report
from tachograph.processors.rows.runs import run_silent_row
from tachograph.processors.runs import Runs
from tachograph.processors.state import RunState
from tachograph.processors.violations import Subject

SILENCE: Final = 3_600_000_000
"""Microseconds without a record after which a run without an end is reported."""

OVERDUE_STREAM: Final = "#overdue"
SILENT_STREAM: Final = "#silent"
"""What is added to the name of the input's stream."""


class Swept(NamedTuple):
    """What came of one run."""

    key: bytes
    state: RunState
    stream: str
    outputs: list[Output]


def sweep(runs: Runs, now: int, *, join_timeout: int = JOIN_TIMEOUT, silence: int = SILENCE) -> list[Swept]:
    """Close overdue calls of silent runs, and report runs that never ended. ``now`` is in microseconds."""
    swept = []
    for key, state in runs.silent_since(now - join_timeout):
        if state.calls and state.swept_at != state.last_offset:
            report = Report(_subject(state))
            close_overdue(state, now, join_timeout, report, "silence")
            state.swept_at = state.last_offset
            swept.append(Swept(key, state, OVERDUE_STREAM, report.outputs))
    for key, state in runs.silent_since(now - silence):
        if state.silent_at == state.last_offset:
            continue
        state.silent_at = state.last_offset
        if Failure.RUN_NEVER_ENDED.name in state.reported:
            continue
        state.reported.append(Failure.RUN_NEVER_ENDED.name)
        report = Report(_subject(state))
        detect_at_end(state, None, report)
        report.fail(Failure.RUN_NEVER_ENDED)
        if state.run_id:
            report.rows([("agent_runs", run_silent_row(state))])
        swept.append(Swept(key, state, SILENT_STREAM, report.outputs))
    return swept


def _subject(state: RunState) -> Subject:
    return Subject(state.tenant_id, state.agent_id, state.run_id, state.trace_id, state.last_occurred_at)
