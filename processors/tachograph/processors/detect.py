"""Sees what is wrong with a record, or with its run so far. Pure; every finding is one entry of ``Failure``."""

from typing import Any, Final

from tachograph.processors.bounds import state_bytes
from tachograph.processors.conversations import continues
from tachograph.processors.failures import Failure
from tachograph.processors.parents import leads_to_itself
from tachograph.processors.report import Report
from tachograph.processors.state import RunState

Record = dict[str, Any]

SKEW: Final = 60_000_000
"""Microseconds by which a producer's clock may be ahead of the broker's, or step back within a run."""

_MOST_TOLD: Final = 20
"""Orphans, or steps without manifest, reported one by one; the last report says how many more there are."""

_MANIFEST: Final = "manifest:"
_EVENT: Final = "event:"
"""What names of manifests and of events' own spans begin with in the memory of spans."""

_MOST_OF_A_WISH: Final = 256
"""Bytes that a parent's id and that of the event which names it may take. Longer ones are not looked for."""

_SPANS_OF: Final = frozenset({"DecisionEvent", "StepStarted", "ToolCallRecord"})


def detect(state: RunState, name: str, record: Record, append_time: int, report: Report) -> None:
    """Check one record on its arrival."""
    about = {"event_id": record["event_id"], "step_id": record.get("step_id")}
    _ids(state, name, record, report, about)
    _clock(state, record, append_time, report, about)
    check = _CHECKS.get(name)
    if check is not None:
        check(state, record, report, about)
    if name in _SPANS_OF:
        _spans(state, name, record, report)
    if state.ended:
        report.fail(Failure.RECORD_AFTER_END, f"a {name}", **about)


def detect_at_end(state: RunState, emitted: int | None, report: Report) -> None:
    """Check a run that ended, or fell silent (``emitted`` is then unknown)."""
    known = emitted if emitted is not None else (state.seqs.ranges[-1] if state.seqs.ranges else 0)
    missing = state.seqs.missing(known)
    if missing > 0:
        report.fail(Failure.SEQ_GAP, f"{missing} of {known}, at {state.seqs.gaps(known) or 'unknown places'}")
    steps = {name: event_id for name, event_id in state.wanted.items() if name.startswith(_MANIFEST)}
    for name, event_id in [*steps.items()][:_MOST_TOLD]:
        report.fail(Failure.MISSING_MANIFEST, event_id=event_id, step_id=name.removeprefix(_MANIFEST))
    _more(Failure.MISSING_MANIFEST, len(steps), report)
    if state.spans.forgot:
        return  # what is not found may have been there
    orphans = [item for item in state.wanted.items() if item[0] not in steps]
    for parent, event_id in orphans[:_MOST_TOLD]:
        kind = "tool call" if parent.startswith("tool:") else "span"
        report.fail(Failure.ORPHAN_PARENT, f"a {kind}", event_id=event_id, about=parent)
    _more(Failure.ORPHAN_PARENT, len(orphans), report)


def _more(failure: Failure, count: int, report: Report) -> None:
    if count > _MOST_TOLD:
        report.fail(failure, f"and {count - _MOST_TOLD} more", about="more")


def _ids(state: RunState, name: str, record: Record, report: Report, about: dict[str, Any]) -> None:
    absent = [key for key in ("trace_id", "run_id") if not record[key]]
    if name == "DecisionEvent" and not record["span_id"]:
        absent.append("span_id")
    if absent:
        report.fail(Failure.MISSING_CORRELATION_IDS, f"a {name} without {', '.join(absent)}", **about)
    trace_id = record["trace_id"]
    if trace_id:
        if not state.trace_id:
            state.trace_id = trace_id
        elif trace_id != state.trace_id:
            _once(state, Failure.TRACE_CHANGED, report, "", about)


def _clock(state: RunState, record: Record, append_time: int, report: Report, about: dict[str, Any]) -> None:
    occurred_at = record["occurred_at"]
    if occurred_at > append_time + SKEW:
        ahead = (occurred_at - append_time) // 1_000_000
        _once(state, Failure.CLOCK_SKEW, report, f"{ahead} s ahead of the broker", about)
    elif state.started_at is not None and occurred_at < state.started_at - SKEW:
        back = (state.started_at - occurred_at) // 1_000_000
        _once(state, Failure.CLOCK_SKEW, report, f"{back} s before the start of the run", about)


def _event(state: RunState, record: Record, report: Report, about: dict[str, Any]) -> None:
    provenance, output = record["prompt_provenance"], record["model_output"]
    if record["evaluation"] is None:
        report.fail(Failure.MISSING_EVALUATION, **about)
    if provenance is None:
        if output is not None:
            report.fail(Failure.MISSING_PROMPT_BUNDLE, "no provenance at all", **about)
        return
    bundle = provenance["prompt_bundle"]
    if not provenance["capture_mode"]:
        report.fail(Failure.MISSING_CAPTURE_MODE, **about)
    if bundle is None and provenance["bundle_pointer"] is None:
        report.fail(Failure.MISSING_PROMPT_BUNDLE, **about)
    bundle_hash, sent_hash = provenance["prompt_bundle_hash"], provenance["sent_hash"]
    if not bundle_hash:
        report.fail(Failure.MISSING_BUNDLE_HASH, **about)
    changed_unseen = bundle is not None and not continues(state.conversations, bundle)
    if sent_hash and bundle_hash and sent_hash != bundle_hash:
        report.fail(Failure.UNRECORDED_TRANSFORMATION, "the hash of what was sent is another", **about)
    elif changed_unseen:
        report.fail(Failure.UNRECORDED_TRANSFORMATION, "earlier messages of the conversation are not the same", **about)


def _leg(_state: RunState, record: Record, report: Report, about: dict[str, Any]) -> None:
    if not record["capture_mode"]:
        report.fail(Failure.MISSING_CAPTURE_MODE, tool_use_id=record["tool_use_id"], **about)


def _start(state: RunState, record: Record, _report: Report, _about: dict[str, Any]) -> None:
    foreign = record["metadata"].get("parent_span_id")
    if isinstance(foreign, str):
        _known(state, foreign)  # a span of the trace that the run joined


def _step(state: RunState, record: Record, _report: Report, _about: dict[str, Any]) -> None:
    _want(state, _MANIFEST + record["step_id"], record["event_id"])


def _manifest(state: RunState, record: Record, _report: Report, _about: dict[str, Any]) -> None:
    name = _MANIFEST + (record["step_id"] or "")
    if state.wanted.pop(name, None) is None and state.spans.find(name) is None:
        state.spans.add(name)  # it came before its step began


def _dropped(_state: RunState, record: Record, report: Report, about: dict[str, Any]) -> None:
    report.fail(Failure.EVENTS_DROPPED, f"{record['count']} records, because of {record['reason']}", **about)


_CHECKS: Final = {
    "ContextManifest": _manifest,
    "DecisionEvent": _event,
    "EventsDropped": _dropped,
    "RunStarted": _start,
    "StepStarted": _step,
    "ToolCallRecord": _leg,
}
"""Checks of one record type each."""


def detect_reuse(state: RunState, record: Record, report: Report) -> None:
    """Check that the span of an event is its own. Steps and the legs of a tool call may share theirs."""
    if not record["span_id"]:
        return
    name = _EVENT + record["span_id"]
    if state.spans.find(name) is not None:
        report.fail(Failure.SPAN_REUSED, event_id=record["event_id"], step_id=record["step_id"])
    else:
        state.spans.add(name)


def _spans(state: RunState, name: str, record: Record, report: Report) -> None:
    if name == "ToolCallRecord":
        _known(state, f"tool:{record['tool_use_id']}")
        if record["parent_tool_use_id"]:
            _want(state, f"tool:{record['parent_tool_use_id']}", record["event_id"])
    elif record["parent_span_id"]:
        if record["span_id"] and leads_to_itself(
            state.parents, state.spans, record["span_id"], record["parent_span_id"]
        ):
            report.fail(Failure.PARENT_CIRCLE, "a span", event_id=record["event_id"])
        _want(state, record["parent_span_id"], record["event_id"])
    if record["span_id"]:
        _known(state, record["span_id"])


def _known(state: RunState, span: str) -> None:
    state.wanted.pop(span, None)
    if state.spans.find(span) is None:
        state.spans.add(span)


def _want(state: RunState, span: str, event_id: str) -> None:
    if span in state.wanted or len(state.wanted) >= state.MOST_WANTED or state.spans.find(span) is not None:
        return
    if state_bytes([span, event_id]) <= _MOST_OF_A_WISH:
        state.wanted[span] = event_id


def _once(state: RunState, failure: Failure, report: Report, detail: str, about: dict[str, Any]) -> None:
    """Report what would be true of every further record of the run, too, with the first that shows it."""
    if failure.name not in state.reported:
        state.reported.append(failure.name)
        report.fail(failure, detail, **about)
