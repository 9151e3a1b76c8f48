"""First story: a test fails. The agent reads, edits, tests and opens a pull request. All is well."""

from typing import Final

from tachograph.console.demo.agent import CodingAgent
from tachograph.console.demo.model import Answer, ScriptedModel
from tachograph.console.demo.stage import SCOPE, Stage
from tachograph.console.demo.workspace import TEST_COMMAND
from tachograph.producers import AttributionScope, Run

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
)


def fixes_a_test(on: Stage) -> None:
    """Play it."""
    with (
        on.start_run(
            "fix_test", "Fix the failing test in tests/test_parser.py", ticket="T-101", constraints=(SCOPE,)
        ) as run,
        AttributionScope(task_id="T-101"),
    ):
        agent = CodingAgent(run, ScriptedModel(on.clock, *_ANSWERS), on.workspace)
        with AttributionScope(phase="planning"), run.step("plan", "see what fails"):
            agent.act(agent.think("Which test of the parser fails?", does="plan", summary="Run the tests first"))
        with AttributionScope(phase="execution"), run.step("tool", "edit the parser"):
            diff = _edit(on, run, agent)
        with AttributionScope(phase="validation"), run.step("validate", "run the tests"):
            _check(run, agent)
        with AttributionScope(phase="execution"), run.step("tool", "open a pull request"):
            call = agent.think("Propose the parser's fix for review.", does="plan", summary="Ask for a review")
            reference = agent.act(call)
            run.action(
                "open_pr",
                "Opened a pull request",
                artifacts=[run.artifacts.pull_request(reference, _TITLE, diff=diff)],
            )


def _edit(on: Stage, run: Run, agent: CodingAgent) -> str:
    call = agent.think("Fix the parser: the last of its tokens is lost.", does="plan", summary="Return every token")
    run.record_decision(
        decision_type="tool_selection",
        selected="edit_file",
        reason_code="latency_optimization",
        candidates=["edit_file", "run_tests"],
        confidence=0.9,
    )
    before = on.workspace.read(_PATH)
    agent.act(call)
    edit = run.artifacts.file_edit(_PATH, before, on.workspace.read(_PATH))
    run.action("edit", "Keep the last token", artifacts=[edit])
    run.record_quality_signal(signal_type="tool_success", signal_code="first_attempt", value=True)
    return edit.content or ""


def _check(run: Run, agent: CodingAgent) -> None:
    call = agent.think("Run the tests of the parser.", does="plan", summary="Check the fix")
    result = agent.act(call)
    tested = run.artifacts.test_run(TEST_COMMAND, result["exit_code"], passed=result["passed"], failed=result["failed"])
    status = "pass" if result["exit_code"] == 0 else "fail"
    run.action(
        "run_tests",
        tested.summary,
        artifacts=[tested],
        evaluation={"quality": {"status": status, "checks": [{"id": "tests.passed", "status": status}]}},
    )
    run.record_quality_signal(signal_type="schema_valid", signal_code="full_match", value=True)
