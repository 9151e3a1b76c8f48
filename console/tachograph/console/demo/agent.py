"""The demo's coding agent: looks for context, asks its model, runs the tools that the model asks for."""

from typing import Any, Final

from tachograph.console.demo import model as scripted
from tachograph.console.demo.model import ScriptedModel, tokens
from tachograph.console.demo.retrieval import RANKER, Found, search
from tachograph.console.demo.tools import DESCRIBED
from tachograph.console.demo.workspace import TEST_COMMAND, Workspace
from tachograph.producers import AttributionScope, Run
from tachograph.producers.model.call import ModelCall
from tachograph.schemas.enums import ExcludedReason, IncludedReason

SYSTEM: Final = "You are a coding agent. Work in small steps and run the tests."
DEVELOPER: Final = "Touch only src/ and tests/."
_TOKEN_LIMIT: Final = 8000


class CodingAgent:
    """Works on one run."""

    def __init__(self, run: Run, model: ScriptedModel, workspace: Workspace) -> None:
        self._run = run
        self._model = model
        self._workspace = workspace
        self._seen: list[dict[str, str]] = []

    def think(self, question: str, *, does: str, summary: str, evaluation: Any = None) -> ModelCall:
        """Ask the model, and say what it was shown. Once in each step: a step has one context."""
        found = search(self._workspace, question)
        messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "developer", "content": DEVELOPER},
            *self._seen,
            {"role": "user", "content": question},
        ]
        self._describe(question, found)
        shown = [item for item in found if item.is_relevant]
        with self._run.model_call(
            model=scripted.NAME,
            messages=messages,
            tools=DESCRIBED,
            retrieval={
                "sources": [f"repo:{item.path}" for item in shown],
                "snippets": "\n".join(item.text for item in shown),
            },
            transformations=[("template", "filled the coding template")],
            parameters={"temperature": 0.0, "max_tokens": 1024},
            action_type=does,
            summary=summary,
            evaluation=evaluation,
        ) as call:
            call.record(self._model.complete(messages))
        return call

    def act(self, call: ModelCall) -> Any:
        """Run the tool that the model asked for. Returns its output; raises what it raises."""
        (asked,) = call.tool_calls
        output = self._run.tools.execute(asked.name, asked.arguments, tool_use_id=asked.tool_call_id)
        self._seen.append({"role": "tool", "content": f"{asked.name}: {output}"})
        return output

    def edit(self, call: ModelCall, summary: str) -> None:
        """Edit the file that the model named, and record what changed."""
        (asked,) = call.tool_calls
        path = asked.arguments["path"]
        before = self._workspace.read(path)
        self.act(call)
        edited = self._run.artifacts.file_edit(path, before, self._workspace.read(path))
        self._run.action("edit", summary, artifacts=[edited])

    def test(self, call: ModelCall) -> None:
        """Run the tests that the model asked for, and record how they went."""
        result = self.act(call)
        exit_code = result["exit_code"]
        tested = self._run.artifacts.test_run(TEST_COMMAND, exit_code, passed=result["passed"], failed=result["failed"])
        status = "pass" if exit_code == 0 else "fail"
        evaluation = {"quality": {"status": status, "checks": [{"id": "tests.passed", "status": status}]}}
        self._run.action("run_tests", tested.summary, artifacts=[tested], evaluation=evaluation)

    @staticmethod
    def phase(name: str) -> AttributionScope:
        """What the agent is at: planning, execution, validation or fix."""
        return AttributionScope(phase=name)

    def _describe(self, question: str, found: list[Found]) -> None:
        with self._run.context(
            intent={"goal": question}, token_limit=_TOKEN_LIMIT, compiler_version="demo-1"
        ) as context:
            context.prefix(f"{SYSTEM}\n{DEVELOPER}")
            context.retrieved(
                question,
                candidates=[item.path for item in found],
                selected=[item.path for item in found if item.is_relevant],
                reranker_model=RANKER[0],
                reranker_version=RANKER[1],
            )
            context.include(
                "instructions",
                "policy",
                source_ref="prompt:coding",
                reason=IncludedReason.POLICY_REQUIREMENT,
                tokens=tokens(SYSTEM) + tokens(DEVELOPER),
                content=f"{SYSTEM}\n{DEVELOPER}",
            )
            for place, message in enumerate(self._seen):
                context.include(
                    f"result:{place}",
                    "tool_output",
                    source_ref=f"tool_results[{place}]",
                    reason=IncludedReason.PLAN_DEPENDENCY,
                    tokens=tokens(message["content"]),
                    content=message["content"],
                )
            for item in found:
                where: dict[str, Any] = {
                    "source_ref": f"repo:{item.path}",
                    "tokens": tokens(item.text),
                    "score": item.score,
                }
                if item.is_relevant:
                    context.include(
                        item.path, "evidence", reason=IncludedReason.RETRIEVAL_TRIGGER, content=item.text, **where
                    )
                else:
                    context.exclude(item.path, "evidence", reason=ExcludedReason.SCORE_BELOW_THRESHOLD, **where)
