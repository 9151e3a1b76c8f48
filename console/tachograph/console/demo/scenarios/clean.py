"""A test fails. The agent reads, edits, tests, opens a pull request and deploys to staging. All is well."""

from typing import Final

from tachograph.console.demo.agent import CodingAgent
from tachograph.console.demo.model import Answer
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.stage import SCOPE, Stage
from tachograph.producers import Run

_PATH: Final = "src/parser.py"
_TITLE: Final = "Keep the last token in parse()"
_ANSWERS: Final = (
    Answer("I will run the tests to see what fails.", "run_tests", thinking_ms=1430),
    Answer(
        "parse() drops the last token. I will return all of them.",
        "edit_file",
        {"path": _PATH, "old": "return tokens[:-1]", "new": "return tokens"},
    ),
    Answer("Now the tests again.", "run_tests", thinking_ms=620),
    Answer("All pass. I will open a pull request.", "open_pull_request", {"title": _TITLE}),
    Answer("Reviewed and merged. To staging with it.", "deploy", {"target": "staging"}, thinking_ms=700),
)


def play(on: Stage) -> None:
    """Play it."""
    with on.working_on("fix_test", "Fix the failing test in tests/test_parser.py", "T-101", (SCOPE,), _ANSWERS) as (
        run,
        agent,
    ):
        with agent.phase("planning"), run.step("plan", "see what fails"):
            agent.act(agent.think("Which test of the parser fails?", does="plan", summary="Run the tests first"))
        with agent.phase("execution"), run.step("tool", "edit the parser"):
            _edit(run, agent)
        with agent.phase("validation"), run.step("validate", "run the tests"):
            _check(run, agent)
        with agent.phase("execution"), run.step("tool", "open a pull request"):
            asked = agent.think("Propose the parser's fix for review.", does="plan", summary="Ask for a review")
            reference = agent.act(asked)
            opened = run.artifacts.pull_request(reference, _TITLE, diff=on.workspace.diff_to_main())
            run.action("open_pr", "Opened a pull request", artifacts=[opened])
        on.workspace.merge()
        with agent.phase("execution"), run.step("tool", "deploy to staging"):
            agent.act(agent.think("Deploy the parser to staging.", does="plan", summary="Try it in staging"))
            run.action("deploy", "Deployed the parser to staging")


def _edit(run: Run, agent: CodingAgent) -> None:
    asked = agent.think("Fix the parser: the last of its tokens is lost.", does="plan", summary="Return every token")
    run.record_decision(
        decision_type="tool_selection",
        selected="edit_file",
        reason_code="latency_optimization",
        candidates=["edit_file", "run_tests"],
        confidence=0.9,
    )
    agent.edit(asked, "Keep the last token")
    run.record_quality_signal(signal_type="tool_success", signal_code="first_attempt", value=True)


def _check(run: Run, agent: CodingAgent) -> None:
    agent.test(agent.think("Run the tests of the parser.", does="plan", summary="Check the fix"))
    run.record_quality_signal(signal_type="schema_valid", signal_code="full_match", value=True)


SCENARIO: Final = Scenario(name="fix_test", title="fixes a test, and all is well", play=play)
