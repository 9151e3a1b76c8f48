"""Third story: a deployment needs approval. The agent proposes a record, and a person overrides its target."""

from typing import Any, Final

from tachograph.console.demo.agent import CodingAgent
from tachograph.console.demo.model import Answer, ScriptedModel
from tachograph.console.demo.stage import Stage
from tachograph.producers import AttributionScope, Run

_RELEASE: Final = {"service": "parser", "version": "1.4.2"}
_PERSON_MS: Final = 2600
_ANSWERS: Final = (
    Answer("Production needs approval, so I will ask before I deploy.", thinking_ms=1200),
    Answer("Deploying to staging, as decided.", "deploy", {**_RELEASE, "target": "staging"}),
)


def asks_before_deploying(on: Stage) -> None:
    """Play it."""
    with (
        on.start_run("deploy", "Deploy the parser to production", ticket="T-103", constraints=()) as run,
        AttributionScope(task_id="T-103"),
    ):
        agent = CodingAgent(run, ScriptedModel(on.clock, *_ANSWERS), on.workspace)
        with AttributionScope(phase="planning"), run.step("plan", "decide on the deployment"):
            planned = agent.think(
                "Deploy the parser to production.",
                does="deploy",
                summary="Deploy parser 1.4.2 to production",
                evaluation={
                    "policy": {"status": "warn", "checks": [{"id": "deploy.needs_approval", "status": "warn"}]}
                },
            )
            run.propose_record(**_proposal(run))
            on.clock.pass_time(_PERSON_MS)
            assert planned.event_id is not None
            run.override(planned.event_id, reason="A person chose staging instead")
        with AttributionScope(phase="execution"), run.step("tool", "deploy to staging"):
            agent.act(agent.think("Deploy the parser to staging.", does="plan", summary="Do as the person decided"))
            run.action("deploy", "Deployed parser 1.4.2 to staging")


def _proposal(run: Run) -> dict[str, Any]:
    return {
        "decision_key": "coding.deploy",
        "decision_version": "1.0.0",
        "status": "DEFERRED",
        "actor": {"type": "AGENT", "id": "demo-coder"},
        "intent_ref": "coding.deploy",
        "subject_ids": ["service:parser"],
        "inputs_refs": {"request": "req_T-103", "session": run.session_id},
        "outputs": {"outcome": "deferred", "version": "1.4.2"},
        "evidence_refs": ["test_run:T-101"],
        "policy_decisions": [
            {
                "policy_decision_id": "pol_deploy_1",
                "bundle_id": "CODING",
                "bundle_version": "1.0.0",
                "rule_ids": ["R_DEPLOY_NEEDS_APPROVAL"],
                "verdict": "require_approval",
            }
        ],
        "approvals": [],
        "controls_active": {"approval_gates_active": ["GATE_RELEASE"]},
        "lineage": {
            "pack_version": "coding@1.0.0",
            "policy_versions": ["CODING@1.0.0"],
            "decision_spec": "coding.deploy@1.0.0",
            "kg_snapshot": "none",
            "model_profile": "scripted@1.0.0",
            "evaluator_suite": "coding@1.0.0",
        },
    }
