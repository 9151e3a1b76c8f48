"""Three short stories of a coding agent, with every record type in them. No model is asked: the script is the model."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from tachograph.console.demo.recorder import DemoRun
from tachograph.schemas import models
from tachograph.schemas.canonical import sha256_hex
from tachograph.schemas.settings import Settings

_TOOLS: list[dict[str, Any]] = [
    {"name": "edit_file", "description": "Replace text in a file", "schema": {"type": "object", "required": ["path"]}},
    {"name": "run_tests", "description": "Run the test suite", "schema": {"type": "object"}},
    {"name": "deploy", "description": "Deploy a service", "schema": {"type": "object", "required": ["service"]}},
]
_SCOPE = {"id": "constraint.scope", "type": "scope", "rule": "paths_within('src/**', 'tests/**')"}


def runs(settings: Settings, started_at: datetime, suffix: str) -> Iterator[list[models.Record]]:
    """The records of every run, in the order they happened."""
    yield fixes_a_test(settings, started_at, suffix)
    yield times_out(settings, started_at + timedelta(seconds=20), suffix)
    yield asks_before_deploying(settings, started_at + timedelta(seconds=40), suffix)


def fixes_a_test(settings: Settings, started_at: datetime, suffix: str) -> list[models.Record]:
    """Plans, edits, tests, opens a pull request. All is well."""
    run = DemoRun(
        settings,
        f"fix_test_{suffix}",
        started_at=started_at,
        request=_request("Fix the failing test in tests/test_parser.py", [_SCOPE], ticket="T-101"),
    )
    plan = run.step("plan", "read the failure")
    _manifest(run, plan, used=2100)
    run.act(
        "plan",
        "Read the failing test, then fix the parser",
        step_id=plan,
        bundle=_bundle("Fix the failing test in tests/test_parser.py"),
        output=_output("The parser drops the last token. I will edit src/parser.py.", 812, 64),
    )
    run.end_step(plan, milliseconds=1430)
    edit = run.step("tool", "edit src/parser.py")
    _manifest(run, edit, used=2600)
    _choose(run, edit, "edit_file", ["edit_file", "run_tests"], "latency_optimization")
    call = run.tool("edit_file", '{"path":"src/parser.py"}', step_id=edit, milliseconds=14, output="1 file changed")
    diff = "--- a/src/parser.py\n+++ b/src/parser.py\n@@ -41 +41 @@\n-    return tokens[:-1]\n+    return tokens\n"
    run.act(
        "edit",
        "Keep the last token",
        step_id=edit,
        bundle=_bundle("Now make the edit."),
        output=_output("Editing.", 930, 41, calls=[("edit_file", call, {"path": "src/parser.py"})]),
        artifacts=[_artifact("file_edit", "src/parser.py +1 -1", diff, path="src/parser.py", added=1, removed=1)],
        tool_results=[{"tool_call_id": call, "name": "edit_file", "output": "1 file changed", "duration_ms": 14}],
    )
    _signal(run, edit, "tool_success", "first_attempt")
    run.end_step(edit, milliseconds=620)
    check = run.step("validate", "run the tests")
    _manifest(run, check, used=2700)
    run.tool("run_tests", '{"command":"pytest -q"}', step_id=check, milliseconds=2200, output="128 passed")
    run.act(
        "run_tests",
        "128 passed",
        step_id=check,
        artifacts=[_artifact("test_run", "pytest -q: 128 passed", "pytest -q", exit_code=0)],
        evaluation={"quality": {"status": "pass", "checks": [{"id": "tests.passed", "status": "pass"}]}},
    )
    _signal(run, check, "schema_valid", "full_match")
    run.act(
        "open_pr",
        "Opened a pull request",
        step_id=check,
        artifacts=[_artifact("pr", "Keep the last token in parse()", "acme/parser!17")],
    )
    run.end_step(check, milliseconds=2400)
    return run.end("succeeded")


def times_out(settings: Settings, started_at: datetime, suffix: str) -> list[models.Record]:
    """A tool does not answer; the agent retries, gives up, and its recorder lost two records on the way."""
    run = DemoRun(
        settings,
        f"upgrade_{suffix}",
        started_at=started_at,
        request=_request("Upgrade the HTTP client and run the suite", [_SCOPE], ticket="T-102"),
    )
    step = run.step("tool", "run the tests")
    _manifest(run, step, used=3900)
    for attempt in (1, 2):
        call = run.tool(
            "run_tests",
            '{"command":"pytest -q"}',
            step_id=step,
            milliseconds=30_000,
            error_type="TimeoutError",
            error="no answer in 30 s",
            metadata={"attempt": attempt},
        )
        _signal(run, step, "tool_failure", "timeout")
        run.add(
            models.AgentDecision,
            decision_id=run.new_id("decision"),
            step_id=step,
            decision_type="retry_strategy",
            selected="retry" if attempt == 1 else "give_up",
            reason_code="timeout_exceeded" if attempt == 1 else "max_retries_reached",
            candidates=["retry", "give_up"],
            confidence=0.8,
        )
    run.add(
        models.AgentFailure,
        failure_id=run.new_id("failure"),
        step_id=step,
        error_type="TimeoutError",
        message="the test runner did not answer in 30 s",
        trigger="tool_timeout",
        tool_use_id=call,
    )
    run.add(models.EventsDropped, count=2, reason="spool_full", record_types=["ToolCallRecord"])
    run.act("no_op", "Stopped: the suite cannot be run", step_id=step)
    run.end_step(step, milliseconds=60_400, status="failed", error="TimeoutError")
    return run.end("failed", error="TimeoutError")


def asks_before_deploying(settings: Settings, started_at: datetime, suffix: str) -> list[models.Record]:
    """A deployment needs approval. The agent proposes a record, and a human overrides the target."""
    run = DemoRun(
        settings,
        f"deploy_{suffix}",
        started_at=started_at,
        request=_request("Deploy the parser to production", [], ticket="T-103"),
    )
    step = run.step("plan", "decide on the deployment")
    _manifest(run, step, used=1800)
    planned = run.act(
        "deploy",
        "Deploy parser 1.4.2 to production",
        step_id=step,
        bundle=_bundle("Deploy the parser to production"),
        output=_output("Requesting approval before I deploy.", 640, 38),
        evaluation={"policy": {"status": "warn", "checks": [{"id": "deploy.needs_approval", "status": "warn"}]}},
    )
    run.add(models.RecordProposal, **_proposal(run))
    run.act("override", "A person chose staging instead", step_id=step, overrides_event_id=planned)
    run.end_step(step, milliseconds=5200)
    return run.end("succeeded")


def _request(text: str, constraints: list[dict[str, str]], *, ticket: str) -> dict[str, Any]:
    return {
        "request_id": f"req_{ticket}",
        "user_request_raw": text,
        "constraints": constraints,
        "context": {"channel": "cli", "repo": "acme/parser", "branch": "main", "ticket_id": ticket},
    }


def _bundle(question: str) -> dict[str, Any]:
    return {
        "messages": [
            {"role": "system", "content": "You are a coding agent. Work in small steps and run the tests."},
            {"role": "developer", "content": "Touch only src/ and tests/."},
            {"role": "user", "content": question},
        ],
        "retrieval": {"enabled": True, "sources": ["repo:src/parser.py"], "snippets": "def parse(text): ..."},
        "tools": _TOOLS,
        "transformations": [{"type": "template", "summary": "filled the coding template"}],
    }


def _output(
    text: str, tokens_in: int, tokens_out: int, *, calls: list[tuple[str, str, dict[str, Any]]] | None = None
) -> dict[str, Any]:
    return {
        "output_raw": text,
        "tool_calls": [{"tool_call_id": call, "name": name, "arguments": args} for name, call, args in calls or []],
        "usage": {"input_tokens": tokens_in, "output_tokens": tokens_out, "latency_ms": 900 + tokens_out},
    }


def _artifact(
    kind: str,
    summary: str,
    content: str,
    *,
    path: str | None = None,
    added: int | None = None,
    removed: int | None = None,
    exit_code: int | None = None,
) -> dict[str, Any]:
    return {
        "type": kind,
        "id": sha256_hex(content.encode())[:12],
        "summary": summary,
        "content": content,
        "hash": sha256_hex(content.encode()),
        "metadata": {"path": path, "lines_added": added, "lines_removed": removed, "exit_code": exit_code},
    }


def _manifest(run: DemoRun, step_id: str, *, used: int) -> None:
    run.add(
        models.ContextManifest,
        manifest_id=run.new_id("manifest"),
        step_id=step_id,
        snapshot_id=run.new_id("snapshot"),
        intent={"goal": "answer the request"},
        retrieval_query="parser tokens",
        candidate_chunk_ids=["src/parser.py#1", "src/lexer.py#1"],
        selected_chunk_ids=["src/parser.py#1"],
        reranker_model="lexical",
        reranker_version="1",
        token_budget={"limit": 8000, "used": used, "by_source": {"evidence": used - 400, "user_input": 400}},
        compiler_version="demo-1",
        prefix_hash=sha256_hex(b"You are a coding agent."),
        prefix_length=210,
        included=[
            {
                "item_id": "src/parser.py#1",
                "item_type": "evidence",
                "source_ref": "repo:src/parser.py#L1-80",
                "included_reason": "named in the failing test",
                "tokens": used - 400,
                "score": 0.91,
            },
            {
                "item_id": "request",
                "item_type": "user_input",
                "source_ref": "request",
                "included_reason": "the user's words",
                "tokens": 400,
            },
        ],
        excluded=[
            {
                "item_id": "src/lexer.py#1",
                "item_type": "evidence",
                "excluded_reason": "score below threshold",
                "tokens": 1900,
                "score": 0.22,
            }
        ],
    )


def _choose(run: DemoRun, step_id: str, selected: str, candidates: list[str], reason: str) -> None:
    run.add(
        models.AgentDecision,
        decision_id=run.new_id("decision"),
        step_id=step_id,
        decision_type="tool_selection",
        selected=selected,
        reason_code=reason,
        candidates=candidates,
        confidence=0.9,
    )


def _signal(run: DemoRun, step_id: str, signal_type: str, signal_code: str) -> None:
    run.add(
        models.AgentQualitySignal,
        signal_id=run.new_id("signal"),
        step_id=step_id,
        signal_type=signal_type,
        signal_code=signal_code,
        value=True,
    )


def _proposal(run: DemoRun) -> dict[str, Any]:
    return {
        "record_id": run.new_id("record"),
        "decision_key": "coding.deploy",
        "decision_version": "1.0.0",
        "status": "DEFERRED",
        "actor": {"type": "AGENT", "id": "demo-coder"},
        "intent_ref": "coding.deploy",
        "subject_ids": ["service:parser"],
        "inputs_refs": {"request": "req_T-103", "session": run.run_id},
        "outputs": {"outcome": "deferred", "version": "1.4.2"},
        "evidence_refs": ["test_run:pytest-128"],
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
