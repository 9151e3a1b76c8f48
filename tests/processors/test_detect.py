"""Every way in which a record of a run can fall short is caught, from records that no SDK would write."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.core import process
from tachograph.processors.failures import Failure
from tachograph.processors.report import Output
from tachograph.processors.state import RunState
from tachograph.schemas.models import Record
from tachograph.schemas.topics import ViolationKind, violation_topic
from tachograph.schemas.wire import to_avro
from tests.processors.records import codes_of, landed, numbered
from tests.schemas import samples

EVENT = to_avro(samples.DECISION_EVENT)
PROVENANCE = EVENT["prompt_provenance"]
LEGS = ("pre", "post", "result")
PLAIN = {
    "parent_span_id": None,
    "model_output": EVENT["model_output"] | {"tool_calls": []},
    "agent_action": EVENT["agent_action"] | {"tool_results": []},
}
"""An event of which nothing is expected later."""


def event(seq: int, **changes: Any) -> Any:
    return numbered(samples.DECISION_EVENT, seq, **PLAIN | changes)


def provenance(**changes: Any) -> dict[str, Any]:
    return {"prompt_provenance": PROVENANCE | changes}


def found(record: Record, **changes: Any) -> list[str]:
    """Codes for one record of a run that has started."""
    state = RunState()
    process(state, numbered(samples.RUN_STARTED, 0))
    return codes_of(process(state, numbered(record, 1, **changes)))


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        pytest.param(provenance(prompt_bundle=None), Failure.MISSING_PROMPT_BUNDLE, id="no bundle"),
        pytest.param({"prompt_provenance": None}, Failure.MISSING_PROMPT_BUNDLE, id="an output without provenance"),
        pytest.param(provenance(prompt_bundle_hash=None), Failure.MISSING_BUNDLE_HASH, id="no hash"),
        pytest.param({"span_id": None}, Failure.MISSING_CORRELATION_IDS, id="no span"),
        pytest.param({"trace_id": None}, Failure.MISSING_CORRELATION_IDS, id="no trace"),
        pytest.param({"run_id": None}, Failure.MISSING_CORRELATION_IDS, id="no run"),
        pytest.param(provenance(capture_mode=None), Failure.MISSING_CAPTURE_MODE, id="no capture mode"),
        pytest.param({"evaluation": None}, Failure.MISSING_EVALUATION, id="no evaluation"),
        pytest.param(provenance(sent_hash="0" * 64), Failure.UNRECORDED_TRANSFORMATION, id="another hash was sent"),
    ],
)
def test_an_event_that_falls_short_is_caught_once(changes: dict[str, Any], failure: Failure) -> None:
    """One violation, of its own code, that names the event."""
    state = RunState()
    process(state, numbered(samples.RUN_STARTED, 0))
    outputs = process(state, event(1, **changes))
    [row] = [row for schema, row in landed(outputs) if schema == "rows.violations"]
    assert (row["code"], row["event_id"], row["severity"]) == (failure.code, "event-1", failure.severity.value)
    assert (row["kind"], row["verdict"], row["action"]) == ("observability", "fail", "none")
    assert "rows.decision_events" in [output.schema for output in outputs], "the record itself is kept"


def test_a_violation_goes_to_the_topic_of_its_kind_under_the_trace() -> None:
    """Where alerting consumers wait for it."""
    [output] = [
        output for output in process(RunState(), event(0, evaluation=None)) if output.schema == "rows.violations"
    ]
    assert (output.topic, output.key) == (violation_topic(ViolationKind.OBSERVABILITY), EVENT["trace_id"])


def test_a_whole_event_is_not_complained_about() -> None:
    """The sixth, a call without a result, is seen at the end; see the join."""
    assert codes_of(process(RunState(), event(0))) == []


def test_a_bundle_that_is_kept_by_pointer_is_there() -> None:
    """Too large for the record, and no failure."""
    kept = provenance(prompt_bundle=None, bundle_pointer=to_avro(samples.POINTER))
    assert codes_of(process(RunState(), event(0, **kept))) == []


def test_the_id_of_a_violation_is_what_it_reports() -> None:
    """The same again is the same id; another event or another code is another."""

    def ids(*seqs: int, **changes: Any) -> set[str]:
        outputs = [output for seq in seqs for output in process(RunState(), event(seq, **changes))]
        return {output.row["violation_id"] for output in outputs if output.schema == "rows.violations"}

    assert ids(1, evaluation=None) == ids(1, evaluation=None)
    assert len(ids(1, 2, evaluation=None)) == 2
    assert len(ids(1, evaluation=None) | ids(1, span_id=None)) == 2


def test_a_tool_call_without_capture_mode() -> None:
    """Its legs carry content, so they say how it was captured."""
    assert found(samples.TOOL_CALL_RECORD, capture_mode=None, parent_tool_use_id=None) == [
        Failure.MISSING_CAPTURE_MODE.code
    ]


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


HEAD = [message("system", "be brief"), message("user", "fix it")]


@pytest.mark.parametrize(
    ("first", "second", "transformations", "caught"),
    [
        pytest.param(HEAD, HEAD, [], False, id="the same again"),
        pytest.param(HEAD, [*HEAD, message("assistant", "ok")], [], False, id="added to"),
        pytest.param(
            [*HEAD, message("tool", "long")], [*HEAD, message("tool", "short")], [], True, id="an old message changed"
        ),
        pytest.param([*HEAD, message("tool", "long")], HEAD, [], True, id="cut"),
        pytest.param(
            [*HEAD, message("tool", "long")],
            [*HEAD, message("tool", "short")],
            [{"type": "summarize", "summary": "shortened"}],
            False,
            id="changed, and said so",
        ),
        pytest.param(
            [*HEAD, message("tool", "x")],
            [message("system", "be brief"), message("user", "another task")],
            [],
            False,
            id="another conversation",
        ),
        pytest.param([], HEAD, [], False, id="nothing before"),
        pytest.param([message("system", "x")], [message("system", "x")], [], False, id="no user yet"),
        pytest.param(
            [message("user", "ab")], [message("user", "a"), message("user", "b")], [], False, id="cut elsewhere"
        ),
    ],
)
def test_a_prompt_that_changes_must_say_so(
    first: list[dict[str, str]],
    second: list[dict[str, str]],
    transformations: list[dict[str, str]],
    *,
    caught: bool,
) -> None:
    """Decided by the messages of the conversation's previous call."""
    state = RunState()
    bundle = PROVENANCE["prompt_bundle"]
    process(state, event(0, **provenance(prompt_bundle=bundle | {"messages": first, "transformations": []})))
    changed = bundle | {"messages": second, "transformations": transformations}
    codes = codes_of(process(RunState.from_bytes(state.to_bytes()), event(1, **provenance(prompt_bundle=changed))))
    assert codes == ([Failure.UNRECORDED_TRANSFORMATION.code] if caught else [])


def whole_run(*middle: Any, emitted: int, dropped: int = 0) -> list[Output]:
    state = RunState()
    outputs = process(state, numbered(samples.RUN_STARTED, 0))
    for record in middle:
        outputs += process(state, record)
    end = numbered(samples.RUN_ENDED, emitted - 1, emitted=emitted, dropped=dropped)
    return outputs + process(state, end._replace(offset=1000))


def test_a_gap_is_named_at_the_end() -> None:
    """How many, and where."""
    outputs = whole_run(numbered(samples.AGENT_DECISION, 2), emitted=6)
    [row] = violations(outputs)
    assert row["code"] == Failure.SEQ_GAP.code
    assert row["message"].endswith("3 of 6, at 1, 3 to 4")
    assert outputs[-1].row["missing"] == ["3 of 6 records"]


def violations(outputs: list[Output]) -> list[dict[str, Any]]:
    return [output.row for output in outputs if output.schema == "rows.violations"]


def test_the_same_record_again_is_a_repeat() -> None:
    """Same id, same bytes, another offset: counted, and nothing else."""
    again = numbered(samples.AGENT_DECISION, 1)
    outputs = whole_run(again, again._replace(offset=2), emitted=3)
    assert codes_of(outputs) == []
    assert (outputs[-1].row["received"], outputs[-1].row["repeats"]) == (3, 1)
    assert [output.schema for output in outputs].count("rows.agent_decisions") == 1


def test_the_same_id_with_other_content_is_critical_and_kept() -> None:
    """Somebody rewrote history, or an id generator is broken."""
    first = numbered(samples.AGENT_DECISION, 1)
    outputs = whole_run(first, first._replace(offset=2, digest=b"other123"), emitted=3)
    assert codes_of(outputs) == [Failure.DUPLICATE_EVENT_ID.code]
    assert [output.schema for output in outputs].count("rows.agent_decisions") == 2


def test_two_records_in_one_place() -> None:
    """Another id at a place that is taken."""
    second = numbered(samples.AGENT_DECISION, 1, event_id="other")._replace(offset=2)
    assert codes_of(whole_run(numbered(samples.AGENT_DECISION, 1), second, emitted=3)) == [Failure.SEQ_REUSED.code]


def test_a_parent_that_never_comes_is_an_orphan() -> None:
    """At the end of the run, because it may come after its child."""
    orphan = event(1, parent_span_id="feedfeedfeedfeed")
    assert codes_of(whole_run(orphan, emitted=3)) == [Failure.ORPHAN_PARENT.code]
    parent = event(2, span_id="feedfeedfeedfeed")
    assert codes_of(whole_run(orphan, parent, emitted=4)) == []


@pytest.mark.parametrize(
    "parents",
    [
        pytest.param({"a": "a"}, id="of one"),
        pytest.param({"a": "b", "b": "a"}, id="of two"),
        pytest.param({"b": "c", "a": "b", "c": "a"}, id="of three, in an order that hides it"),
        pytest.param({"x": "a", "a": "b", "y": "x", "b": "a"}, id="of two with others hanging on it"),
    ],
)
def test_parents_that_lead_in_a_circle_are_reported_once(parents: dict[str, str]) -> None:
    """With the span that closes it; nothing in a circle is an orphan."""
    events = [event(seq, span_id=span, parent_span_id=parent) for seq, (span, parent) in enumerate(parents.items(), 1)]
    assert codes_of(whole_run(*events, emitted=len(events) + 2)) == [Failure.PARENT_CIRCLE.code]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.randoms())
def test_spans_that_form_a_tree_are_in_order_however_they_arrive(above: list[int], random: Random) -> None:
    """Span n hangs on an earlier one, or on none: no circle, no orphan."""
    spans = [(f"s{number}", f"s{parent % number}" if number else None) for number, parent in enumerate(above)]
    random.shuffle(spans)
    events = [event(seq, span_id=span, parent_span_id=parent) for seq, (span, parent) in enumerate(spans, 1)]
    assert codes_of(whole_run(*events, emitted=len(events) + 2)) == []


def test_a_span_belongs_to_one_event() -> None:
    """A second event under it is reported; the legs of a tool call, and a step, may share theirs."""
    first, second = event(1, span_id="5" * 16), event(2, span_id="5" * 16)
    outputs = whole_run(first, second, emitted=4)
    assert [(row["code"], row["event_id"]) for row in violations(outputs)] == [(Failure.SPAN_REUSED.code, "event-2")]
    shared = {"span_id": "5" * 16, "parent_tool_use_id": None, "tool_use_id": "t"}
    legs = [numbered(samples.TOOL_CALL_RECORD, seq, leg=leg, **shared) for seq, leg in enumerate(LEGS, 2)]
    assert codes_of(whole_run(first, *legs, emitted=6)) == []


STEP = {"parent_span_id": None, "parent_step_id": None}


def test_a_step_without_a_manifest_is_reported_at_the_end() -> None:
    """What a step saw must be on record; the manifest may come before its step or after its end."""
    step = numbered(samples.STEP_STARTED, 1, **STEP)
    outputs = whole_run(step, numbered(samples.STEP_ENDED, 2), emitted=4)
    [row] = violations(outputs)
    assert (row["code"], row["event_id"], row["step_id"]) == (Failure.MISSING_MANIFEST.code, "event-1", "step_1")
    assert codes_of(whole_run(step, numbered(samples.CONTEXT_MANIFEST, 2), emitted=4)) == []
    early = [numbered(samples.CONTEXT_MANIFEST, 1), numbered(samples.STEP_STARTED, 2, **STEP)]
    assert codes_of(whole_run(*early, emitted=4)) == []
    another = numbered(samples.CONTEXT_MANIFEST, 2, step_id="step_2")
    assert codes_of(whole_run(step, another, emitted=4)) == [Failure.MISSING_MANIFEST.code]


def test_many_steps_without_manifests_are_summed_up() -> None:
    """Twenty are named, the rest is a number."""
    steps = [numbered(samples.STEP_STARTED, seq, step_id=f"s{seq}", **STEP) for seq in range(1, 31)]
    rows = violations(whole_run(*steps, emitted=32))
    assert len(rows) == 21
    assert rows[-1]["message"].endswith("and 10 more")


def test_the_parent_of_a_joined_trace_is_no_orphan() -> None:
    """The start of the run names it."""
    state = RunState()
    process(state, numbered(samples.RUN_STARTED, 0, metadata={"parent_span_id": "feedfeedfeedfeed"}))
    process(state, event(1, parent_span_id="feedfeedfeedfeed"))
    assert codes_of(process(state, numbered(samples.RUN_ENDED, 2, emitted=3, dropped=0))) == []


def test_a_trace_that_changes_is_reported_once() -> None:
    """With the first record that shows it."""
    others = [numbered(samples.AGENT_DECISION, seq, trace_id="another") for seq in (1, 2)]
    outputs = whole_run(*others, emitted=4)
    assert codes_of(outputs) == [Failure.TRACE_CHANGED.code]


@pytest.mark.parametrize("by", [pytest.param(120_000_000, id="ahead"), pytest.param(-120_000_000, id="back in time")])
def test_a_clock_that_is_off_is_reported_once(by: int) -> None:
    """Ahead of the broker, or before the start of its own run."""
    at = to_avro(samples.AGENT_DECISION)["occurred_at"]
    skewed = [numbered(samples.AGENT_DECISION, seq, occurred_at=at + by) for seq in (1, 2)]
    assert codes_of(whole_run(*skewed, emitted=4)) == [Failure.CLOCK_SKEW.code]


def test_what_the_recorder_dropped_is_a_violation() -> None:
    """By its own record, or by the count of the run's end alone."""
    record = numbered(samples.EVENTS_DROPPED, 1)
    lost = record.record["count"]
    assert codes_of(whole_run(record, emitted=3, dropped=lost)) == [Failure.EVENTS_DROPPED.code]
    assert codes_of(whole_run(emitted=2, dropped=2)) == [Failure.EVENTS_DROPPED.code]


def test_a_record_after_the_end() -> None:
    """Its row is written all the same."""
    state = RunState()
    process(state, numbered(samples.RUN_STARTED, 0))
    process(state, numbered(samples.RUN_ENDED, 1, emitted=2, dropped=0))
    outputs = process(state, numbered(samples.AGENT_DECISION, 2))
    assert [output.schema for output in outputs] == ["rows.agent_decisions", "rows.violations"]
    assert codes_of(outputs) == [Failure.RECORD_AFTER_END.code]


def test_no_message_carries_content() -> None:
    """Texts of violations are made of ids, counts and our own words."""
    secret = "s3cr3t-content"
    outputs = process(RunState(), event(0, evaluation=None, action_summary=secret, span_id=None))
    assert outputs
    for output in outputs:
        if output.schema == "rows.violations":
            assert secret not in str(output.row)


def test_codes_are_unique_and_in_their_own_namespace() -> None:
    """They are what alerts are routed by."""
    codes = [failure.code for failure in Failure]
    assert len(set(codes)) == len(codes)
    assert all(code.startswith("observability.") for code in codes)
