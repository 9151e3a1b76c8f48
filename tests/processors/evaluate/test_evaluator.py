"""Laws of the evaluator: it repeats itself, forgets nothing it needs, and overwrites nothing."""

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.processors.evaluate import Evaluator, RulePacks, RunFacts
from tachograph.processors.evaluate.facts import MOST_BLOCKED, MOST_CONSTRAINTS, MOST_PATHS, MOST_TOOLS
from tachograph.processors.evaluate.packs import read_pack
from tachograph.schemas.models import Violation
from tests.processors.evaluate.events import HMAC, artifact, call, edit, evaluate, event, run_started
from tests.processors.records import as_decoded
from tests.schemas import samples

texts = st.text(max_size=60) | st.sampled_from(
    ["", HMAC, "```", "https://a.b", "rm -rf /", "AKIA" + "A" * 16, "\u2728"]
)
artifacts = st.builds(
    artifact,
    st.sampled_from(["file_edit", "diff", "command", "test_run", "commit"]),
    st.none() | texts,
    path=st.none() | texts,
    exit_code=st.none() | st.integers(-2, 3),
    lines_added=st.none() | st.integers(0, 900),
)
calls = st.builds(call, st.sampled_from(["shell", "edit_file", "x"]), st.none() | texts | st.dictionaries(texts, texts))
rules = st.sampled_from(
    ["no_emojis", "valid_json", "paths_within(src/**)", "cel: size(files) < 2", "cel: nope", "be nice", "max_files(1)"]
) | st.text(min_size=1, max_size=40)
events = st.builds(
    event,
    st.sampled_from(["edit", "command", "merge", "deploy", "override", "message", "run_tests", "unheard_of"]),
    output=st.none() | texts,
    artifacts=st.lists(artifacts, max_size=3),
    calls=st.lists(calls, max_size=3),
    constraints=st.lists(rules, max_size=3),
    mode=st.sampled_from(["full", "redacted", "hashed", None, "new"]),
    environment=st.sampled_from(["ci", "prod", "unknown", ""]),
)
PACKS = RulePacks.load()


@settings(max_examples=150, deadline=None)
@given(st.lists(events, min_size=1, max_size=4))
def test_the_same_facts_and_event_give_the_same_evaluation(run: list[dict[str, Any]]) -> None:
    """A restarted worker with its facts from the changelog says what the first one would have said."""
    steady, facts, restarted = Evaluator(PACKS), RunFacts(), RunFacts()
    for each in run:
        before = copy.deepcopy(each)
        restarted = RunFacts.from_list(orjson.loads(orjson.dumps(restarted.to_list())))
        assert Evaluator(PACKS).evaluate(restarted, each) == steady.evaluate(facts, each)
        assert each == before
    assert restarted == facts


@settings(max_examples=150, deadline=None)
@given(events)
def test_hashed_content_is_never_judged_by_what_it_says(subject: dict[str, Any]) -> None:
    """In hashed mode no check that needs content passes or fails."""
    subject["prompt_provenance"]["capture_mode"] = "hashed"
    needing = ["no_secrets", "no_emojis", "valid_json", "no_exfiltration", "cel: output.length < 10"]
    subject["request"]["constraints"] = [{"id": rule, "type": "other", "rule": rule} for rule in needing]
    assert {check.status for check in evaluate(subject).alignment.checks} <= {"unknown"}


@settings(max_examples=60, deadline=None)
@given(events, st.permutations(range(4)))
def test_the_order_of_rules_and_constraints_does_not_matter(subject: dict[str, Any], order: list[int]) -> None:
    """Rules say the same in any order, and their answers come sorted by id."""
    lines = [f"- {{id: r{place}, check: {name}}}" for place, name in enumerate(
        ["no_secrets", "no_ci_or_infra", "tests_passed", "no_merge_without_tests"])]  # fmt: skip
    head = "pack: p\nversion: 1.0.0\nrules:\n"
    first, _ = read_pack(head + "\n".join(lines), "p")
    second, _ = read_pack(head + "\n".join(lines[place] for place in order), "p")
    assert first is not None
    assert second is not None
    mixed = copy.deepcopy(subject)
    mixed["request"]["constraints"].reverse()
    assert Evaluator(RulePacks([first])).evaluate(RunFacts(), subject) == Evaluator(RulePacks([second])).evaluate(
        RunFacts(), mixed
    )


def test_facts_stay_small_whatever_a_run_does() -> None:
    """Files, tools, blocked calls and constraints are bounded, and the bounds are told."""
    facts = RunFacts()
    for number in range(1000):
        facts.changed(f"src/{number}.py", 1)
        facts.tool_ended(f"tool-{number}", error=True)
        facts.block(f"call-{number}", "abort")
    facts.demand([{"id": f"c{number}", "type": "other", "rule": "x" * 4000} for number in range(1000)])
    assert (facts.files_changed, facts.paths_full, facts.lines_changed) == (MOST_PATHS, True, 1000)
    assert len(facts.failures) == MOST_TOOLS
    assert len(facts.blocked) == MOST_BLOCKED
    assert len(facts.constraints) < MOST_CONSTRAINTS
    assert len(orjson.dumps(facts.to_list())) < 24 * 1024


@pytest.mark.parametrize("values", [[], [1], [0, *RunFacts().to_list()[1:]]])
def test_facts_of_another_version_are_refused(values: list[Any]) -> None:
    """Facts that were written otherwise are an error, not a guess."""
    with pytest.raises(ValueError, match="another version"):
        RunFacts.from_list(values)


def test_a_constraint_that_is_dropped_or_changed_still_counts() -> None:
    """The run is held to what it started with; a changed rule is itself a finding."""
    evaluator, facts = Evaluator(RulePacks()), RunFacts()
    evaluator.observe(facts, "RunStarted", run_started())
    silent = evaluator.evaluate(facts, event("edit", artifacts=[edit("docs/a.md")]))
    assert [(found.code, found.constraint_id) for found in silent.violations] == [
        ("alignment.paths_within", "constraint.scope")
    ]
    changed = event("edit", artifacts=[edit("docs/a.md")])
    changed["request"]["constraints"] = [{"id": "constraint.scope", "type": "scope", "rule": "paths_within(**)"}]
    assert [found.code for found in evaluator.evaluate(facts, changed).violations] == [
        "policy.constraint_changed",
        "alignment.paths_within",
    ]


def test_verdict_and_action_stay_apart() -> None:
    """A rule says fail whether or not a hook stopped the call; the action says what the hook did."""
    evaluator, facts = Evaluator(RulePacks.load()), RunFacts()
    leg = as_decoded(samples.TOOL_CALL_RECORD)
    stopped = {"hook": "guard", "stage": "pre", "action": "abort", "reason": "", "modified": False, "error_type": None}
    evaluator.observe(facts, "ToolCallRecord", leg | {"tool_use_id": "tc_1", "hooks": [stopped]})
    both = [call("shell", {"command": "rm -rf /"}, "tc_1"), call("shell", {"command": "ls"}, "tc_2")]
    found = evaluator.evaluate(facts, event("command", calls=both)).violations
    assert [(each.verdict, each.action, each.tool_use_id) for each in found] == [("fail", "abort", "tc_1")]
    unstopped = event("command", calls=[call("shell", {"command": "rm -rf /"}, "tc_3")])
    assert [each.action for each in evaluator.evaluate(facts, unstopped).violations] == ["none"]


def test_retries_are_counted_once() -> None:
    """With records of tool calls, results inside events are not counted again; a success ends the row."""
    evaluator, facts = Evaluator(RulePacks()), RunFacts()
    leg = as_decoded(samples.TOOL_CALL_RECORD) | {"tool_name": "fetch", "hooks": [], "leg": "post", "skipped": False}
    evaluator.observe(facts, "ToolCallRecord", leg | {"error_type": "Timeout"})
    result = {"tool_call_id": "t", "name": "fetch", "output": None, "output_pointer": None, "is_error": True}
    evaluator.evaluate(facts, event(results=[result | {"duration_ms": 1}]))
    assert facts.failures == {"fetch": 1}
    evaluator.observe(facts, "ToolCallRecord", leg | {"error_type": None})
    assert facts.failures == {}


def test_a_finding_has_what_a_violation_needs() -> None:
    """With the fields of its event, every finding is a valid Violation."""
    subject = event("edit", artifacts=[edit("infra/a.tf")], constraints=["no_ci_or_infra"])
    (found,) = evaluate(subject).violations
    fields = found._asdict()
    violation = Violation(
        tenant_id="t", agent_id="a", violation_id="v", trace_id="x", run_id="r", occurred_at=samples.WHEN, **fields
    )
    assert violation.evidence == "agent_action.artifacts[0]: infra/a.tf"
    assert (violation.kind, violation.code, violation.constraint_id) == ("alignment", "alignment.no_ci_or_infra", "c0")


def test_status_and_score_sum_up_the_checks() -> None:
    """One unknown keeps a side from passing; the score counts what was decided."""
    both = evaluate(event(output="fine", constraints=["no_emojis", "be kind"]))
    assert (both.alignment.status, both.alignment.score) == ("unknown", 1.0)
    mixed = evaluate(event(output="not json", constraints=["no_emojis", "valid_json"]))
    assert (mixed.alignment.status, mixed.alignment.score) == ("fail", 0.5)
    assert evaluate(event()).quality == ("unknown", None, [])


def test_the_agents_own_evaluation_is_not_read() -> None:
    """What the agent says of itself changes nothing in what the stream says."""
    subject = event(constraints=["no_emojis"])
    without = evaluate(subject | {"evaluation": None})
    assert evaluate(subject) == without
