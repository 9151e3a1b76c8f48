"""The agent plans to go to production. A person sets that aside, opens the gate for staging, and so it goes there."""

from typing import Final

from tachograph.console.demo.model import Answer
from tachograph.console.demo.release import approval, evidence, proposal
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.scenarios.deferred import APPROVAL
from tachograph.console.demo.stage import Stage

_PERSON_MS: Final = 2600
_ANSWERS: Final = (
    Answer("First the build.", "build", {"version": "1.4.2"}),
    Answer("It is only a small change: straight to production.", thinking_ms=1200),
    Answer("To staging, as decided.", "deploy", {"target": "staging"}),
)


def play(on: Stage) -> None:
    """Play it."""
    with on.working_on("ship", "Ship the parser", "T-108", (APPROVAL,), _ANSWERS) as (run, agent):
        with agent.phase("planning"), run.step("plan", "prepare the release"):
            built = agent.act(agent.think("Build the parser.", does="plan", summary="Build what is to be shipped"))
        with agent.phase("planning"), run.step("retrieve", "gather the evidence"):
            refs = evidence(run, built)
        with agent.phase("planning"), run.step("plan", "choose where to"):
            planned = agent.think("Where does the parser go?", does="plan", summary="Ship 1.4.2 to production")
            on.clock.pass_time(_PERSON_MS)
            assert planned.event_id is not None
            run.override(planned.event_id, reason="A person chose staging instead")
            opened = approval(on.clock, refs)
        with agent.phase("execution"), run.step("tool", "deploy to staging"):
            agent.act(agent.think("Deploy the parser to staging.", does="plan", summary="Do as the person decided"))
            run.propose_record(**proposal(run, refs, environment="staging", approvals=[opened]))
            run.action("deploy", "Deployed parser 1.4.2 to staging")


SCENARIO: Final = Scenario(
    name="ship", title="is overridden by a person, who opens the gate", play=play, records=("DECIDED",)
)
