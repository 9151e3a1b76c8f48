"""An agent that says a secret in every text that the recorder takes, and keeps what the recorder raises at it."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tachograph.producers import (
    AttributionScope,
    HookAction,
    HookMatcher,
    PostHookResult,
    PreHookResult,
    Run,
    ToolUseContext,
    Tracer,
)
from tachograph.producers.model.response import ModelResponse
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.models.decision_event import Artifact, ArtifactMetadata, Evaluation

DECIDED_AT = "2026-01-01T00:00:00Z"
DIGEST = "0" * 64


class LeakyToolError(Exception):
    """What the agent's own code raises; its text is the agent's."""


class LeakyAgent:
    """Does everything once. ``raised`` has what came out of the recorder, other than the agent's own errors."""

    def __init__(
        self, tracer: Tracer, secret: str, label: str = "", *, capture_mode: CaptureMode | None = None
    ) -> None:
        self.secret = secret
        self.capture_mode = capture_mode
        self.label = label
        self.error = type(f"Error {secret}", (LeakyToolError,), {})
        self.said = f"so I said {secret} aloud"
        self.metadata: dict[str, Any] = {secret: secret}
        self.bad_metadata = {"text": secret, "list": [secret], "cut": "x" * 80 + " " + secret, secret * 3: 1}
        if not tracer.guard.strict:  # which raises at them instead of cleaning them
            self.metadata |= self.bad_metadata
        self.raised: list[BaseException] = []
        self.tracer = tracer
        tracer.tools.update({"echo": lambda **given: given, secret: self._fail, "text": lambda **_: self.said})
        tracer.hooks.register(HookMatcher(pattern="echo", pre_hooks=(self._before,), post_hooks=(self._after,)))
        tracer.hooks.register(HookMatcher(pattern="forbidden-*", pre_hooks=(self._named(self._abort),)))
        tracer.hooks.register(HookMatcher(pattern="skipped", pre_hooks=(self._skip,)))

    def work(self) -> Run:
        """One run with a run inside; returns the outer one."""
        secret = self.secret
        run = self.tracer.start_run(
            {
                "request_id": secret,
                "user_request_raw": self.said,
                "constraints": [{"id": secret, "type": "scope", "rule": self.said}],
                "context": {"repo": secret, "branch": secret, "ticket_id": secret},
            },
            constraints=[self.said],
            session_id=f"session {self.label} {secret}",
            run_id=f"run {self.label} {secret}",
            trace_id=f"trace {self.label} {secret}",
            channel=secret,
            capture_mode=self.capture_mode,
            metadata=self.metadata,
        )
        with self._kept(), run:
            with self._kept(), run.step(secret, secret, step_id=f"outer {secret}", metadata=self.metadata) as step:
                step.annotate(**self.metadata)
                with run.step("plan", "inside the other"):
                    pass
                self._model(run)
                self._tools(run)
                self._context(run)
                self._observations(run)
                with (
                    self._kept(),
                    self.tracer.start_run(self.said, channel=secret, capture_mode=self.capture_mode) as inner,
                ):
                    inner.no_op(self.said)
            with self._kept(), run.step(secret, "fails"):
                self._fail()
            self._actions(run)
            self._faults(run)
            self._mistakes(run)
        return run

    def _model(self, run: Run) -> None:
        secret, said = self.secret, self.said
        given: dict[str, Any] = {
            "model": f"model {secret}",
            "system": said,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": said}]},
                {"role": secret, "content": said, "name": secret},
            ],
            "tools": [
                {
                    "name": f"tool {secret}",
                    "description": said,
                    "input_schema": {"type": "object", "properties": {secret: {"description": said, "enum": [secret]}}},
                }
            ],
            "retrieval": {"sources": [secret], "snippets": said},
            "transformations": [{"type": secret, "summary": said}],
            "summary": said,
            "sent_hash": secret,
            "evaluation": self._evaluation(),
        }
        answer = {
            "id": f"completion {secret}",
            "content": [
                {"type": "text", "text": said},
                {"type": "tool_use", "id": f"call {secret}", "name": secret, "input": {secret: said, "token": secret}},
            ],
        }
        with self._kept():
            run.model_call(lambda **_: answer, **given)
        with self._kept():
            run.model_call(lambda **_: self._fail(), **given)
        with self._kept(), run.model_call(model="m", messages=said) as call:
            call.record({"choices": [{"message": {"tool_calls": [{"id": secret, "function": {"arguments": said}}]}}]})
        with self._kept(), run.model_call(model="m", messages=said) as call:
            call.record(ModelResponse(structured={secret: said, "token": secret}))
        with self._kept(), run.model_call(model="m", messages=said) as call:
            call.record({"unknown": {"shape": said}, secret: secret})

    def _tools(self, run: Run) -> None:
        secret, said = self.secret, self.said
        tool_input = {secret: said, "password": secret, "deep": [{"value": said}, secret], "bytes": said.encode()}
        where = {"tool_use_id": f"use {secret}", "task_id": secret, "parent_tool_use_id": secret, "phase": "execution"}
        with self._kept():
            run.tools.execute("echo", tool_input, **where)
        with self._kept(), AttributionScope(task_id=secret, tool_use_id=secret, phase="fix"):
            run.tools.execute("text", tool_input)
        with self._kept():
            run.tools.execute("echo", {"text": f"{said}. " * 2000})  # over 64 KB: to the artifact store
        for name in (secret, f"unknown {secret}", f"forbidden-{secret}", "skipped"):
            with self._kept():
                run.tools.execute(name, tool_input, **where)
        with self._kept(), run.tools.call(secret, tool_input) as call:
            call.output = {secret: said}

    def _context(self, run: Run) -> None:
        secret, said = self.secret, self.said
        with (
            self._kept(),
            run.context(
                intent={secret: said, "goal": said},
                compiler_version=secret,
                snapshot_id=secret,
                metadata=self.metadata,
            ) as context,
        ):
            context.retrieved(
                said, candidates=[secret], selected=[secret], reranker_model=secret, reranker_version=secret
            )
            context.include(secret, "evidence", source_ref=f"doc://{secret}", reason="retrieval_trigger", content=said)
            context.exclude(secret, "evidence", source_ref=f"doc://{secret}", reason="policy_filter")
            context.prefix(said)

    def _observations(self, run: Run) -> None:
        secret = self.secret
        with self._kept():
            run.record_decision(
                decision_type="tool_selection",
                selected=secret,
                reason_code="cost_optimization",
                candidates=[secret, self.said],
                step_id=secret,
                metadata=self.metadata,
            )
        with self._kept():
            run.record_quality_signal(
                signal_type="tool_success",
                signal_code="first_attempt",
                value=True,
                step_id=secret,
                metadata=self.metadata,
                record_id=secret,
            )

    def _actions(self, run: Run) -> None:
        secret, said, build = self.secret, self.said, run.artifacts
        diff = f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{said}\n+{secret}\n"
        by_hand = {
            "id": secret,
            "summary": said,
            "content": said,
            "content_ref": secret,
            "hash": DIGEST,
        }
        artifacts = [
            build.file_edit(f"src/{secret}.py", said, f"# {secret}"),
            build.diff(diff),
            build.command(["curl", "-u", secret, said], 1, said),
            build.test_run(f"pytest {secret}", 1, said, failed=1),
            build.pull_request(f"#{secret}", said, said),
            build.pull_request(f"#{secret}", said, diff=diff),
            build.commit(secret, said),
            build.commit(secret, said, diff=diff),
            {**by_hand, "type": "file_edit", "metadata": {"path": secret}},
            Artifact(**by_hand, type="command", metadata=ArtifactMetadata(path=secret)),
        ]
        with self._kept():
            run.action("edit", said, artifacts=artifacts, evaluation=self._evaluation(), overrides_event_id=secret)
        with self._kept():
            run.action("message", said, evaluation=Evaluation.model_validate(self._evaluation()))
        with self._kept(), run.acting("plan", said):
            pass
        with self._kept():
            run.no_op(said)
        with self._kept():
            run.override(secret, reason=said)
        with self._kept():
            run.propose_record(**self._proposal())

    def _faults(self, run: Run) -> None:
        secret, said = self.secret, self.said
        with self._kept():
            run.fail(self.error(said), metadata=self.metadata)
        with self._kept():
            run.missing_pointer(secret)
        with self._kept():
            run.debug_snapshot()
        with self._kept():
            run.schema_repair(said, validate=self._fail, repair=lambda value, _: value, max_attempts=1)
        with self._kept():
            run.fail(secret, message=said)

    def _mistakes(self, run: Run) -> None:
        """Calls that the recorder refuses, each for its own reason."""
        secret, said = self.secret, self.said
        refused: list[Callable[[], Any]] = [
            lambda: self.tracer.start_run(said, capture_mode=secret),
            lambda: Tracer("agent", publisher=self.tracer.publisher, capture=secret),
            lambda: Tracer("agent", publisher=self.tracer.publisher, environment=secret),
            lambda: self.tracer.start_run(said, constraints=[{"type": secret, "rule": said}]),
            lambda: run.action(secret, said),
            lambda: run.action("edit", said),
            lambda: run.action("edit", said, artifacts=[secret]),
            lambda: run.action("edit", said, artifacts=[{"type": secret, "hash": secret, secret: secret}]),
            lambda: run.action("message", said, evaluation={secret: said, "quality": {"status": secret}}),
            lambda: run.model_call(lambda **_: said, model="m", messages=said, provider=secret),
            lambda: run.model_call(lambda **_: said, model="m", messages=said, capture_mode=secret),
            lambda: run.record_decision(decision_type=secret, selected=secret, reason_code=secret),
            lambda: run.record_decision(decision_type="tool_selection", selected=secret, reason_code=secret),
            lambda: run.record_decision(
                decision_type="tool_selection", selected="x", reason_code="cost_optimization", candidates=secret
            ),
            lambda: run.record_quality_signal(signal_type=secret, signal_code=secret, value=True),
            lambda: run.record_quality_signal(signal_type="tool_success", signal_code=secret, value=True),
            lambda: run.record_quality_signal(
                signal_type="tool_success", signal_code="first_attempt", value=True, metadata=self.bad_metadata
            ),
            lambda: run.propose_record(**(self._proposal() | {"status": secret, secret: secret})),
            lambda: run.tools.execute("text", phase=secret),
            lambda: HookMatcher(phases=(secret,)),
            self._bad_manifest,
        ]
        for call in refused:
            with self._kept():
                call()

    def _bad_manifest(self) -> None:
        """A reason that is none stops its run, so it has one of its own."""
        item = {"item_id": self.secret, "item_type": "memory", "source_ref": self.secret, "reason": self.said}
        with self.tracer.start_run(self.said, capture_mode=self.capture_mode) as run:
            run.record_manifest(included=[item])

    def _before(self, context: ToolUseContext) -> PreHookResult:
        return PreHookResult(
            modified_input=context.tool_input | {"more": self.said}, metadata=self.metadata, reason=self.said
        )

    def _after(self, context: ToolUseContext, output: Any) -> PostHookResult:  # noqa: ARG002 - the seam's shape
        raise self.error(self.said)

    def _abort(self, context: ToolUseContext) -> PreHookResult:  # noqa: ARG002 - the seam's shape
        return PreHookResult(HookAction.ABORT, metadata=self.metadata, reason=self.said)

    def _skip(self, context: ToolUseContext) -> PreHookResult:  # noqa: ARG002 - the seam's shape
        return PreHookResult(HookAction.SKIP, reason=self.said)

    def _named(self, hook: Callable[[ToolUseContext], PreHookResult]) -> Callable[[ToolUseContext], PreHookResult]:
        def named(context: ToolUseContext) -> PreHookResult:
            return hook(context)

        named.hook_name = f"hook {self.secret}"  # type: ignore[attr-defined]
        return named

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise self.error(self.said)

    def _evaluation(self) -> dict[str, Any]:
        check = {"id": self.secret, "status": "fail", "message": self.said}
        violation = {"id": self.secret, "severity": "error", "message": self.said, "evidence": self.said}
        return {
            "alignment": {"status": "fail", "violations": [violation]},
            "quality": {"status": "fail", "checks": [check]},
            "policy": {"status": "fail", "checks": [check]},
        }

    def _proposal(self) -> dict[str, Any]:
        secret = self.secret
        return {
            "record_id": f"record {secret}",
            "decision_key": secret,
            "decision_version": secret,
            "status": "DECIDED",
            "actor": {"type": "AGENT", "id": secret, "workload_identity": secret, "delegated_user_id": secret},
            "intent_ref": secret,
            "subject_ids": [secret],
            "inputs_refs": {"request": secret, "session": secret, "attachments": [secret]},
            "outputs": {secret: self.said, "token": secret, "deep": [{"value": self.said}]},
            "evidence_refs": [secret],
            "policy_decisions": [
                {
                    "policy_decision_id": secret,
                    "bundle_id": secret,
                    "bundle_version": secret,
                    "rule_ids": [secret],
                    "verdict": "allow",
                }
            ],
            "approvals": [
                {
                    "gate_id": secret,
                    "approver": secret,
                    "approval_mode_effective": "reversible",
                    "evidence_snapshot_hash": secret,
                    "decided_at": DECIDED_AT,
                }
            ],
            "controls_active": {
                "must_refuse": [secret],
                "must_escalate": [secret],
                "approval_gates_active": [secret],
                "redaction_rules_active": [secret],
            },
            "tool_lineage": [
                {
                    "tool_call_id": secret,
                    "tool_result_id": secret,
                    "approval_mode_effective": "reversible",
                    "idempotency_key": secret,
                    "reversal_token": secret,
                }
            ],
            "lineage": {
                "pack_version": secret,
                "policy_versions": [secret],
                "decision_spec": secret,
                "kg_snapshot": secret,
                "model_profile": secret,
                "evaluator_suite": secret,
            },
            "replay": {
                "replay_packet_id": secret,
                "compiled_context_hash": secret,
                "tool_transcript_chain_hash": secret,
            },
            "supersedes": secret,
            "incident_id": secret,
        }

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except LeakyToolError:
            return
        except Exception as error:  # noqa: BLE001 - whatever the recorder raises is what is looked at
            self.raised.append(error)
