"""The agent looks for something that is not there, again and again, until the loop guard notices."""

from typing import Final

from tachograph.console.demo.model import Answer
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.stage import LOOP_THRESHOLD, SCOPE, Stage

_SEARCH: Final = Answer("It must be somewhere.", "search_code", {"pattern": "parse_all"}, thinking_ms=300)
_TIMES: Final = LOOP_THRESHOLD + 1


def play(on: Stage) -> None:
    """Play it."""
    answers = (_SEARCH,) * _TIMES
    with on.working_on("rename", "Rename parse_all() to parse()", "T-105", (SCOPE,), answers) as (run, agent):
        for attempt in range(1, _TIMES + 1):
            with agent.phase("planning"), run.step("retrieve", f"look for parse_all ({attempt})"):
                asked = agent.think("Where is parse_all defined?", does="plan", summary="Search the code")
                agent.act(asked)
                run.record_quality_signal(signal_type="empty_retrieval", signal_code="no_results", value=True)
        with agent.phase("planning"), run.step("plan", "stop"):
            run.record_decision(
                decision_type="retry_strategy",
                selected="stop",
                reason_code="max_retries_reached",
                candidates=["search_again", "ask", "stop"],
                confidence=0.95,
            )
            run.no_op("Stopped: parse_all() does not exist in this repository")


SCENARIO: Final = Scenario(
    name="rename",
    title="runs in a circle until the loop guard notices",
    play=play,
    violations=frozenset({"quality.no_empty_retrieval"}),
    snapshots=2,
)
