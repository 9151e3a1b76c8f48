"""The model asks for the tests, they run, and no record of it finds room: the run says that its result was lost."""

from typing import Final

from tachograph.console.demo.model import Answer
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.stage import SCOPE, Stage

_PATH: Final = "src/parser.py"
_ANSWERS: Final = (
    Answer(
        "parse() should say what it takes.",
        "edit_file",
        {"path": _PATH, "old": "The tokens of a text, in order.", "new": "The words of a text, in order."},
    ),
    Answer("The tests, to be sure.", "run_tests"),
)


def play(on: Stage) -> None:
    """Play it. The spool has no room while the tests run, and the run ends before anybody hears how they went."""
    with on.working_on("docs", "Describe what parse() takes", "T-106", (SCOPE,), _ANSWERS) as (run, agent):
        with agent.phase("execution"), run.step("tool", "edit the docstring"):
            agent.edit(agent.think("Describe the parser.", does="plan", summary="Say it better"), "Describe parse()")
        with agent.phase("validation"), run.step("validate", "run the tests"):
            asked = agent.think("Run the tests of the parser.", does="plan", summary="Check the change")
            with on.publisher.without_room():
                agent.act(asked)


SCENARIO: Final = Scenario(
    name="docs",
    title="loses the result of a tool, and says so",
    play=play,
    completeness="incomplete",
    violations=frozenset({"observability.missing_tool_result", "observability.events_dropped"}),
)
