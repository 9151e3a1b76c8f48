"""A tool does not answer. The agent tries twice and gives up; what its model had been shown is kept for both."""

from contextlib import suppress
from typing import Final

from tachograph.console.demo.agent import CodingAgent
from tachograph.console.demo.model import Answer
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.stage import SCOPE, Stage
from tachograph.producers import Run

_SUITE: Final = {"environment": "staging"}
_REQUEST: Final = "Check the client's upgrade with the integration suite"
_ANSWERS: Final = (
    Answer("I will run the integration suite.", "run_suite", _SUITE),
    Answer("No answer. I will try once more.", "run_suite", _SUITE, thinking_ms=450),
)


def play(on: Stage) -> None:
    """Play it. The run fails, and that is recorded; the demo goes on."""
    with (
        suppress(TimeoutError),
        on.working_on("upgrade", _REQUEST, "T-104", (SCOPE,), _ANSWERS) as (run, agent),
        agent.phase("validation"),
    ):
        with run.step("validate", "run the suite"):
            asked = agent.think("Run the integration suite of the client.", does="plan", summary="Run the suite")
            with suppress(TimeoutError):
                agent.act(asked)
            run.record_quality_signal(signal_type="tool_failure", signal_code="timeout", value=True)
            _decide(run, "retry", "timeout_exceeded")
        with run.step("validate", "run the suite again"):
            _try_for_the_last_time(run, agent)


def _try_for_the_last_time(run: Run, agent: CodingAgent) -> None:
    asked = agent.think("Run the integration suite of the client again.", does="plan", summary="Try once more")
    try:
        agent.act(asked)
    except TimeoutError:
        run.record_quality_signal(signal_type="tool_failure", signal_code="timeout", value=True)
        _decide(run, "give_up", "max_retries_reached")
        run.no_op("Stopped: the suite cannot be run")
        raise


def _decide(run: Run, selected: str, reason_code: str) -> None:
    run.record_decision(
        decision_type="retry_strategy",
        selected=selected,
        reason_code=reason_code,
        candidates=["retry", "give_up"],
        confidence=0.8,
    )


SCENARIO: Final = Scenario(
    name="upgrade", title="waits for a tool that does not answer", play=play, status="failed", snapshots=2
)
