"""The run report: one document that answers what a person asks about a run."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest

from tachograph.console.demo.workspace import TOKEN
from tachograph.console.report.build import build_report
from tachograph.console.report.document import document_of, schema, without_content
from tachograph.console.report.model import RunReport
from tachograph.console.report.sections import page_of
from tachograph.schemas.enums import Severity
from tests.console.stories import LATER, NAMES, Played

SCHEMA_FILE = Path(__file__).parents[3] / "docs" / "report.schema.json"


@pytest.fixture(scope="module")
def leaking(played: Played) -> RunReport:
    return played.report("sign_in")


def test_the_summary_tells_the_run_in_a_sentence(leaking: RunReport) -> None:
    """Who, how long, how bad, how complete."""
    assert leaking.summary.headline == (
        "demo-coder succeeded after 5.0 s: 2 violations, the worst critical; the record is complete"
    )
    assert leaking.summary.counts == {
        "steps": 3,
        "model_calls": 3,
        "actions": 5,
        "tool_calls": 4,
        "tool_errors": 0,
        "decisions": 1,
        "signals": 1,
        "violations": 2,
        "faults": 0,
        "snapshots": 0,
    }


def test_the_request_comes_with_its_constraints_and_what_became_of_them(played: Played) -> None:
    """A constraint that was broken says so; one that nothing had to do with is unchecked."""
    (kept,) = played.report("fix_test").request.constraints
    (broken,) = played.report("speed_up").request.constraints
    (unchecked,) = played.report("upgrade").request.constraints
    assert (kept.status, broken.status, unchecked.status) == ("pass", "fail", "unchecked")
    assert played.report("speed_up").request.text.text == "Make the build faster. Leave CI as it is."


def test_the_chain_from_request_to_impact_can_be_followed(played: Played) -> None:
    """Request, prompt bundle, model output, tool call, action and its diff are linked by ids, in that order."""
    report = played.report("fix_test")
    call = next(call for call in report.model_calls if call.asked and call.asked[0].name == "edit_file")
    tool = next(tool for tool in report.tool_calls if tool.tool_use_id == call.asked[0].tool_call_id)
    action = next(action for action in report.actions if action.action_type == "edit")
    assert report.request.text.text == "Fix the failing test in tests/test_parser.py"
    assert len(call.prompt_bundle_hash) == 64
    assert tool.requested_event_id == call.event_id
    assert (tool.state, tool.step_id, action.step_id) == ("ok", call.step_id, call.step_id)
    assert call.at <= tool.at <= action.at
    (edit,) = action.artifacts
    assert (edit.path, edit.lines_added, edit.lines_removed) == ("src/parser.py", 1, 1)
    assert report.actions[-1].action_type == "deploy"


def test_who_called_whom(played: Played) -> None:
    """A tool call names its task, its phase and the calls it is nested in."""
    report = played.report("fix_test")
    inner = next(call for call in report.tool_calls if call.tool_name == "read_file")
    outer = next(call for call in report.tool_calls if call.tool_name == "edit_file")
    assert inner.attribution == (outer.tool_use_id,)
    assert (inner.task_id, inner.phase, inner.asked_by_model) == ("T-101", "execution", False)


def test_the_timeline_is_in_order_and_complete(played: Played) -> None:
    """Everything that has a moment is in it, once, sorted by it; it begins and ends with the run."""
    for name in NAMES:
        report = played.report(name)
        counts = report.summary.counts
        moments = [entry.at for entry in report.timeline]
        assert moments == sorted(moments)
        kinds = [entry.kind for entry in report.timeline]
        happened = [kind for kind in kinds if kind != "violation"]
        assert (happened[0], happened[-1]) == ("run", "run")
        assert kinds.count("model_call") == counts["model_calls"]
        assert kinds.count("model_call") + kinds.count("action") + kinds.count("override") == counts["actions"]
        assert kinds.count("tool_call") == counts["tool_calls"]
        assert kinds.count("violation") == counts["violations"]
        assert kinds.count("step") == counts["steps"]


def test_the_worst_violations_come_first(played: Played) -> None:
    """By severity, then by number."""
    rank = [severity.value for severity in Severity]
    for name in NAMES:
        ranks = [rank.index(item.severity) for item in played.report(name).top_violations]
        assert ranks == sorted(ranks, reverse=True)
    (top,) = played.report("sign_in").top_violations
    assert (top.code, top.severity, top.count) == ("policy.no_secrets", "critical", 2)


def test_a_lost_result_is_called_lost(played: Played) -> None:
    """The call, the legs that are missing, and what the run's count says."""
    report = played.report("docs")
    (lost,) = [call for call in report.tool_calls if call.state == "lost"]
    assert (lost.tool_name, lost.missing, lost.complete) == ("run_tests", ("pre", "post", "result"), False)
    assert report.completeness.missing == ("3 records that the recorder dropped", "results of 1 tool calls")


def test_faults_name_what_triggered_them(played: Played) -> None:
    """A time-out and a loop, each with the tool call it belongs to."""
    assert [fault.trigger for fault in played.report("upgrade").faults] == ["tool_timeout", "tool_timeout"]
    (loop,) = played.report("rename").faults
    assert loop.trigger == "loop_guard"


def test_context_in_and_out(played: Played) -> None:
    """Tokens by source add up over the steps, and what was left out is there with its reason."""
    context = played.report("fix_test").context
    for source, total in context.tokens_by_source.items():
        assert total == sum(step.tokens_by_source.get(source, 0) for step in context.steps)
    assert {item.reason for step in context.steps for item in step.excluded} == {"score_below_threshold"}


def test_an_override_is_seen_from_both_sides(played: Played) -> None:
    """The event that was set aside, and the one that did it."""
    actions = {action.event_id: action for action in played.report("ship").actions}
    (override,) = [action for action in actions.values() if action.overrides_event_id]
    assert override.overrides_event_id is not None
    assert actions[override.overrides_event_id].overridden_by == override.event_id


def test_a_record_explains_its_decision(played: Played) -> None:
    """Outcome, evidence, policy, approvals, controls and lineage, from the record alone."""
    (record,) = played.report("ship").records
    assert json.loads(record.outputs)["environment"] == "staging"
    assert [ref.partition(":")[0] for ref in record.evidence_refs] == ["artifact", "tool"]
    assert [(item.bundle, item.verdict) for item in record.policies] == [("POLICY_DEPLOYMENTS@1.0.0", "allow")]
    assert [(item.gate_id, item.approver) for item in record.approvals] == [("GATE_RELEASE", "person:release-manager")]
    assert record.controls["must_escalate"] == ("production_data_loss",)
    assert all(record.lineage.values())
    assert record.proof is None


def test_cost_is_counted_and_priced_exactly(played: Played) -> None:
    """Tokens by model; money only where every model has a price, and then exact."""
    rows = played.rows("fix_test")
    report = build_report(rows, generated_at=LATER)
    sent, received = report.cost.input_tokens, report.cost.output_tokens
    assert report.cost.usd is None
    assert sent == sum(call.input_tokens or 0 for call in report.model_calls)
    prices = {("other", "scripted-1"): (Decimal("2.5"), Decimal(10))}
    priced = build_report(replace(rows, prices=prices), generated_at=LATER)
    assert priced.cost.usd is not None
    assert Decimal(priced.cost.usd) == (sent * Decimal("2.5") + received * 10) / 1_000_000
    ended = {("other", "scripted-1"): (Decimal("2.5"), None)}
    assert build_report(replace(rows, prices=ended), generated_at=LATER).cost.usd is None


def test_attribution_halves_the_way_to_a_cause(played: Played) -> None:
    """Counted in rows, not minutes: ids lead from a tool call to the request behind it over at most half of the rows.

    Somebody without them reads the run from its start to the call, because any row before it may be the cause.
    """
    ways: list[tuple[int, int]] = []
    for name in NAMES:
        report = played.report(name)
        calls = {call.tool_use_id: call for call in report.tool_calls}
        happened = [entry for entry in report.timeline if entry.kind not in {"violation", "fault"}]
        for call in report.tool_calls:
            outermost = calls.get(call.attribution[0], call) if call.attribution else call
            if outermost.requested_event_id is None:
                continue
            asked = next(entry for entry in happened if entry.event_id == outermost.requested_event_id)
            read = sum(entry.at <= call.at for entry in happened)
            ways.append((len(call.attribution) + 1, read))
            assert asked.at <= call.at
    assert len(ways) > 20
    assert 2 * sum(by_ids for by_ids, _ in ways) <= sum(read for _, read in ways)


def test_the_token_is_in_no_format(leaking: RunReport) -> None:
    """The violation shows where it was, without the value."""
    assert TOKEN not in json.dumps(document_of(leaking))
    assert {item.evidence for item in leaking.violations} == {
        "model_output.tool_calls[0].arguments[34:57]: redacted",
        "agent_action.artifacts[0].content[118:141]: redacted",
    }


def test_a_report_can_be_made_without_content(leaking: RunReport) -> None:
    """Prompts, outputs and tool texts are gone; their lengths, and everything else, stay."""
    bare = without_content(leaking)
    assert bare.request.text.text is None
    assert bare.request.text.characters == len(leaking.request.text.text or "")
    assert all(message.content.text is None for call in bare.model_calls for message in call.messages)
    assert all(call.input.text is None and call.output.text is None for call in bare.tool_calls)
    assert bare.timeline == leaking.timeline
    assert "Let the client sign in" not in json.dumps(document_of(bare)["request"])


def test_the_schema_is_published() -> None:
    """docs/report.schema.json is what the code says; write it with python -m tachograph.console.report."""
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == schema()


@pytest.mark.parametrize("name", NAMES)
def test_every_report_keeps_to_the_schema(name: str, played: Played) -> None:
    """A program that reads the document can rely on it."""
    document = json.loads(json.dumps(document_of(played.report(name))))
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))).validate(document)


def test_the_same_rows_give_the_same_report(played: Played) -> None:
    """There is no clock and no order of a set in it."""
    assert document_of(played.report("ship")) == document_of(played.report("ship"))


@pytest.mark.parametrize("name", NAMES)
def test_every_section_is_there(name: str, played: Played) -> None:
    """A section without content says so: an empty one and a missing one are different things."""
    sections = page_of(played.report(name)).sections
    assert [section.name for section in sections] == [
        "summary",
        "request",
        "violations",
        "timeline",
        "tools",
        "models",
        "actions",
        "decisions",
        "signals",
        "context",
        "faults",
        "completeness",
        "records",
        "cost",
    ]
    assert all(section.parts for section in sections)
