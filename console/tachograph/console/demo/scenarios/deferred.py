"""A release needs somebody's approval. The agent proposes it without one: the record is sealed as DEFERRED."""

from typing import Final

from tachograph.console.demo.model import Answer
from tachograph.console.demo.release import evidence, proposal
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.stage import Stage

APPROVAL: Final = {"id": "constraint.approval", "type": "safety", "rule": "deploy_needs_approval"}
_ANSWERS: Final = (
    Answer("First the build, and how the service is.", "build", {"version": "1.4.2"}, thinking_ms=1200),
    Answer("Production needs approval. I have none, so I will ask and not deploy.", thinking_ms=800),
)


def play(on: Stage) -> None:
    """Play it."""
    with on.working_on("release", "Release the parser to production", "T-107", (APPROVAL,), _ANSWERS) as (run, agent):
        with agent.phase("planning"), run.step("plan", "prepare the release"):
            built = agent.act(agent.think("Build the parser.", does="plan", summary="Build what is to be released"))
        with agent.phase("planning"), run.step("retrieve", "gather the evidence"):
            refs = evidence(run, built)
        with agent.phase("planning"), run.step("plan", "ask for approval"):
            agent.think("May the parser be released?", does="plan", summary="Ask before releasing")
            run.propose_record(**proposal(run, refs, environment="production", verdict="require_approval"))
            run.no_op("Not released: GATE_RELEASE is not open")


SCENARIO: Final = Scenario(
    name="release",
    title="needs approval, and its decision is deferred",
    play=play,
    violations=frozenset({"record.approval.missing"}),
    records=("DEFERRED",),
)
