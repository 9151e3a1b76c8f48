"""Action boundaries of a run: what each leaves, under which constraints, and what a person may set aside."""

from typing import Any

import pytest

from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.ids import RandomIds
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.models.request import Constraint
from tests.producers.support import explicit, make_tracer, validated
from tests.producers.test_records import PROPOSAL, everything

DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"


def test_every_action_boundary_is_an_event_of_the_run() -> None:
    """A completion, an edit, a command, a test run, a pull request, a merge, a deployment, an API call, silence."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, options=explicit()).start_run("fix it") as run, run.step("tool", "work") as step:
        build = run.artifacts
        run.model_call(lambda **_: "I shall edit a.py", model="m", messages="fix it")
        run.action("edit", "changed a.py", artifacts=[build.file_edit("a.py", "x\n", "y\n")])
        run.action("command", "formatted", artifacts=[build.command("ruff format", 0)])
        run.action("run_tests", "ran the tests", artifacts=[build.test_run("pytest -q", 1, passed=3, failed=1)])
        run.action("open_pr", "opened #7", artifacts=[build.pull_request("#7", "Fix the parser", diff=DIFF)])
        run.action("merge", "merged #7", artifacts=[build.commit("c0ffee", "Fix the parser", diff=DIFF)])
        run.action("deploy", "deployed 1.4.2 to staging", artifacts=[build.command("deploy staging", 0)])
        run.action("api_call", "told the tracker that T-101 is done")
        run.no_op("the rest is somebody else's")
    events = publisher.of("DecisionEvent")
    assert [(event["agent_action"]["action_type"], event["step_id"]) for event in events] == [
        (action, step.step_id)
        for action in (
            "message", "edit", "command", "run_tests", "open_pr", "merge", "deploy", "api_call", "no_op",
        )
    ]  # fmt: skip
    artifacts = [[item["type"] for item in event["agent_action"]["artifacts"]] for event in events]
    assert artifacts == [[], ["file_edit"], ["command"], ["test_run"], ["pr"], ["commit"], ["command"], [], []]
    tests = events[3]["agent_action"]["artifacts"][0]
    assert (tests["content"], tests["metadata"]["exit_code"]) == ("pytest -q", 1)
    validated(publisher)


def test_a_decision_to_do_nothing_says_so() -> None:
    """The word is no_op, the reason is the summary, and there is no prompt to it."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run() as run:
        assert run.no_op("the customer answered meanwhile") is not None
    [event] = publisher.of("DecisionEvent")
    action = event["agent_action"]
    assert (action["action_type"], action["action_summary"]) == ("no_op", "the customer answered meanwhile")
    assert (event["prompt_provenance"], event["model_output"]) == (None, None)


def test_spans_are_unique_and_form_a_tree() -> None:
    """Each event and each tool call has a span of its own, whose parent is a span of the run or none."""
    publisher = InMemoryPublisher()
    everything(publisher, ids=RandomIds())
    events = publisher.of("DecisionEvent")
    calls = [item for item in publisher.of("ToolCallRecord") if item["leg"] == "pre"]
    spans = [item["span_id"] for item in (*events, *calls, *publisher.of("StepStarted"))]
    assert len(events) > 3
    assert len(spans) == len(set(spans))
    parents = {item["parent_span_id"] for item in (*events, *publisher.of("StepStarted"))}
    assert parents - {None} <= set(spans)


GIVEN: list[Any] = [
    {"id": "scope.src", "type": "scope", "rule": "only under src/"},
    Constraint(id="format.json", type="format", rule="must output JSON"),
    "no emojis",
]


def test_constraints_of_the_policy_and_of_the_request_stand_in_the_records() -> None:
    """The policy's in every run and first; the request's own as mappings, as models or as plain rules."""
    publisher = InMemoryPublisher()
    policy = ({"id": "policy.secrets", "type": "safety", "rule": "do not exfiltrate secrets"},)
    tracer = make_tracer(publisher, constraints=iter(policy))
    request = {"user_request_raw": "go", "constraints": [{"id": "own", "type": "style", "rule": "be brief"}]}
    with tracer.start_run(request, constraints=GIVEN) as run:
        run.no_op("done")
    with tracer.start_run("another"):
        pass
    first, second = (item["request"]["constraints"] for item in publisher.of("RunStarted"))
    assert first == [
        *policy,
        {"id": "own", "type": "style", "rule": "be brief"},
        {"id": "scope.src", "type": "scope", "rule": "only under src/"},
        {"id": "format.json", "type": "format", "rule": "must output JSON"},
        {"id": "constraint.4", "type": "other", "rule": "no emojis"},
    ]
    assert publisher.of("DecisionEvent")[0]["request"]["constraints"] == first
    assert second == list(policy)
    validated(publisher)


def test_a_constraint_that_is_refused_does_not_cost_the_request(caplog: pytest.LogCaptureFixture) -> None:
    """The log says what is wrong with it, in our words; the request and the other constraints are kept."""
    bad: list[Any] = [{"id": "x", "type": "mood", "rule": "be merry"}, {"id": "no rule"}, 7]
    with pytest.raises(RecordRefusedError, match="type: is one of style"):
        make_tracer().start_run("go", constraints=bad)
    publisher = InMemoryPublisher()
    with make_tracer(publisher, strict=False).start_run("go", constraints=[*bad, "be kind"]) as run:
        pass
    request = publisher.of("RunStarted")[0]["request"]
    assert (request["user_request_raw"], [item["rule"] for item in request["constraints"]]) == ("go", ["be kind"])
    assert run.recorder.guard.counts == {"constraints": 3}
    assert "constraints.type: is one of style, safety, format, scope, other" in caplog.text
    assert "merry" not in caplog.text


def test_an_override_names_the_event_that_it_sets_aside() -> None:
    """Now, or in retrospect: a review of a run that has ended is a run of its own."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher)
    with tracer.start_run("deploy") as run:
        planned = run.action("plan", "deploy to production")
        assert planned is not None
        run.override(planned, reason="a person chose staging")
    with tracer.start_run("review of last week") as review:
        review.override(planned, reason="should have waited for the approval")
    _, now, later = publisher.of("DecisionEvent")
    assert {event["overrides_event_id"] for event in (now, later)} == {planned}
    assert {event["agent_action"]["action_type"] for event in (now, later)} == {"override"}
    assert (now["run_id"], later["run_id"]) == (run.run_id, review.run_id)
    validated(publisher)


@pytest.mark.parametrize("outputs", [{"tier": "gold"}, {}], ids=["an answer", "no output at all"])
def test_a_read_only_decision_is_proposed_while_it_is_made(outputs: dict[str, Any]) -> None:
    """Without any tool call or action: it may affect a user or memory all the same. Its place is inside of its step."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher, options=explicit()).start_run() as run, run.step("plan", "classify"):
        run.propose_record(**(PROPOSAL | {"outputs": outputs}))
    names = [kept.type for kept in publisher.records]
    assert names == ["RunStarted", "StepStarted", "RecordProposal", "StepEnded", "RunEnded"]
    times = [kept.record["occurred_at"] for kept in publisher.records]
    assert times == sorted(times)
    validated(publisher)
