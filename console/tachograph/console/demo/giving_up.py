"""Second story: a tool does not answer. The agent tries twice and gives up; two records are lost meanwhile."""

from contextlib import suppress
from typing import Final

from tachograph.console.demo.agent import CodingAgent
from tachograph.console.demo.model import Answer, ScriptedModel
from tachograph.console.demo.stage import SCOPE, Stage
from tachograph.producers import AttributionScope, Run

_SUITE: Final = {"environment": "staging"}
_ANSWERS: Final = (
    Answer("I will run the integration suite.", "run_suite", _SUITE),
    Answer("No answer. I will try once more.", "run_suite", _SUITE, thinking_ms=450),
)


def gives_up(on: Stage) -> None:
    """Play it. The run fails, and that is recorded; the demo goes on."""
    with (
        suppress(TimeoutError),
        on.start_run(
            "upgrade", "Check the client's upgrade with the integration suite", ticket="T-102", constraints=(SCOPE,)
        ) as run,
        AttributionScope(task_id="T-102", phase="validation"),
    ):
        agent = CodingAgent(run, ScriptedModel(on.clock, *_ANSWERS), on.workspace)
        with run.step("validate", "run the suite"):
            _try_once(on, run, agent)
        with run.step("validate", "run the suite again"):
            _try_for_the_last_time(run, agent)


def _try_once(on: Stage, run: Run, agent: CodingAgent) -> None:
    call = agent.think("Run the integration suite of the client.", does="plan", summary="Run the suite in staging")
    try:
        agent.act(call)
    except TimeoutError:
        with on.publisher.without_room():
            run.record_quality_signal(signal_type="tool_failure", signal_code="timeout", value=True)
            run.record_quality_signal(signal_type="retry_occurred", signal_code="single_retry", value=True)
        _decide(run, "retry", "timeout_exceeded")


def _try_for_the_last_time(run: Run, agent: CodingAgent) -> None:
    call = agent.think("Run the integration suite of the client again.", does="plan", summary="Try once more")
    try:
        agent.act(call)
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
