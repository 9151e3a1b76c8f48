"""A governed decision on its way: evidence, policy, approval, and a record at each status that it reaches.

::

    with run.governed_decision("support.refund.execute", "1.0.0", subjects=["order:ord_881"]) as decision:
        decision.evidence(tool_ref("orders.lookup", call_id))
        decision.policy("pol_1", bundle="POLICY_RETURNS_V1", version="1.0.0", rules=["R_IDV"], verdict="allow")
        decision.approval("GATE_FINANCE", approver="lead_77", mode="destructive")
        decision.decided({"outcome": "approved", "amount": "42.00"})

A block that ends without a status proposes DEFERRED: it was begun and not made, and the run can resume. Recording is a
local append, so the same methods serve async code; ``async with`` works too.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.records import pieces
from tachograph.producers.records.references import frozen_hash
from tachograph.schemas.enums import ActorType, ApprovalMode, PolicyVerdict, RecordStatus
from tachograph.schemas.record_lifecycle import may_follow

if TYPE_CHECKING:
    from tachograph.producers.run import Run


class GovernedDecision:
    """Builds the records of one decision. Every method that adds returns the decision, so that calls can be chained."""

    def __init__(
        self,
        run: "Run",
        decision_key: str,
        decision_version: str,
        *,
        subjects: Iterable[str],
        primary: bool = True,
        intent_ref: str | None = None,
        session: str | None = None,
        request: str | None = None,
        attachments: Iterable[str] = (),
        incident_id: str | None = None,
    ) -> None:
        self._run = run
        self._evidence: dict[str, None] = {}
        self._lists: dict[str, list[dict[str, Any]]] = {"policy_decisions": [], "approvals": [], "tool_lineage": []}
        self._controls: dict[str, list[str]] = {}
        self._lineage: dict[str, Any] = {"policy_versions": []}
        self._fields: dict[str, Any] = {
            "decision_key": decision_key,
            "decision_version": decision_version,
            "primary": primary,
            "intent_ref": intent_ref,
            "subject_ids": list(subjects),
            "inputs_refs": {
                "request": request or run.request_body["request_id"],
                "session": session or run.session_id,
                "attachments": list(attachments),
            },
            "actor": pieces.actor(ActorType.AGENT, run.agent_id),
            "incident_id": incident_id,
        }
        self.status: RecordStatus | None = None
        """Status that was proposed last; None before the first."""
        self.record_id: str | None = None
        """Record that was proposed last."""

    def actor(self, type: ActorType | str, id: str, **fields: str | None) -> Self:  # noqa: A002 - the fields' names
        """Who decides, if not the agent itself; ``workload_identity``, ``delegated_user_id``."""
        with self._guarded():
            self._fields["actor"] = pieces.actor(type, id, **fields)
        return self

    def evidence(self, *references: str) -> Self:
        """Facts that the decision stands on. See `tool_ref` and `artifact_ref`."""
        self._evidence.update(dict.fromkeys(references))
        return self

    def policy(
        self,
        policy_decision_id: str,
        *,
        bundle: str,
        rules: Iterable[str],
        verdict: PolicyVerdict | str,
        version: str | None = None,
    ) -> Self:
        """What a bundle of rules said. Its version is pinned in the lineage as well."""
        with self._guarded():
            self._lists["policy_decisions"].append(
                pieces.policy_decision(policy_decision_id, bundle=bundle, rules=rules, verdict=verdict, version=version)
            )
        if version is not None and f"{bundle}@{version}" not in self._lineage["policy_versions"]:
            self._lineage["policy_versions"].append(f"{bundle}@{version}")
        return self

    def approval(
        self,
        gate: str,
        *,
        approver: str,
        mode: ApprovalMode | str,
        evidence_snapshot_hash: str | None = None,
        decided_at: datetime | None = None,
    ) -> Self:
        """A gate that somebody opened: over the evidence attached so far, now, unless said otherwise."""
        with self._guarded():
            self._lists["approvals"].append(
                pieces.approval(
                    gate,
                    approver=approver,
                    mode=mode,
                    evidence_snapshot_hash=evidence_snapshot_hash or frozen_hash(self._evidence),
                    decided_at=decided_at or self._run.recorder.clock.now_micros(),
                )
            )
        return self

    def controls(
        self,
        *,
        must_refuse: Iterable[str] = (),
        must_escalate: Iterable[str] = (),
        approval_gates_active: Iterable[str] = (),
        redaction_rules_active: Iterable[str] = (),
    ) -> Self:
        """Runtime controls in force, as the context pack compiled them in."""
        self._controls = {
            "must_refuse": list(must_refuse),
            "must_escalate": list(must_escalate),
            "approval_gates_active": list(approval_gates_active),
            "redaction_rules_active": list(redaction_rules_active),
        }
        return self

    def side_effect(self, tool_call_id: str, *, mode: ApprovalMode | str, **fields: str | None) -> Self:
        """A tool call that changed something; ``tool_result_id``, ``idempotency_key``, ``reversal_token``."""
        with self._guarded():
            self._lists["tool_lineage"].append(pieces.side_effect(tool_call_id, mode=mode, **fields))
        return self

    def scores(self, **given: pieces.Exact) -> Self:
        """Scores of the evaluators: policy, utility, latency, safety and cost, between 0 and 1, exact."""
        with self._guarded():
            self._fields["scorecard"] = pieces.scorecard(**given)
        return self

    def budget(self, *, tokens: int, tool_calls: int, cost_usd_cents: pieces.Exact, wall_clock_ms: int) -> Self:
        """Resources used."""
        with self._guarded():
            self._fields["budget_usage"] = pieces.budget(
                tokens=tokens, tool_calls=tool_calls, cost_usd_cents=cost_usd_cents, wall_clock_ms=wall_clock_ms
            )
        return self

    def lineage(self, *, pack: str, model_profile: str, evaluator_suite: str, kg_snapshot: str) -> Self:
        """What the runtime was made of, each as ``name@version`` of the catalog; policies are added by `policy`."""
        self._lineage |= {
            "pack_version": pack,
            "model_profile": model_profile,
            "evaluator_suite": evaluator_suite,
            "kg_snapshot": kg_snapshot,
        }
        return self

    def replay(self, replay_packet_id: str, *, compiled_context_hash: str, tool_transcript_chain_hash: str) -> Self:
        """What a replay has to load."""
        self._fields["replay"] = {
            "replay_packet_id": replay_packet_id,
            "compiled_context_hash": compiled_context_hash,
            "tool_transcript_chain_hash": tool_transcript_chain_hash,
        }
        return self

    def decided(self, outputs: Mapping[str, Any], *, supersedes: str | None = None) -> str | None:
        """The outcome is accepted. Returns the event id of the proposal, None if it was refused."""
        return self.propose(RecordStatus.DECIDED, outputs, supersedes=supersedes)

    def deferred(self, outputs: Mapping[str, Any] | None = None) -> str | None:
        """Evidence or approval is missing; the run can resume."""
        return self.propose(RecordStatus.DEFERRED, outputs)

    def rejected(self, outputs: Mapping[str, Any] | None = None) -> str | None:
        """A check or a policy refused the outcome."""
        return self.propose(RecordStatus.REJECTED, outputs)

    def escalated(self, outputs: Mapping[str, Any] | None = None) -> str | None:
        """The decision goes to a person, or to a workflow of higher trust."""
        return self.propose(RecordStatus.ESCALATED, outputs)

    def in_flight(self, outputs: Mapping[str, Any] | None = None) -> str | None:
        """A checkpoint of a long decision that has not ended."""
        return self.propose(RecordStatus.IN_FLIGHT, outputs)

    def closed(self, outputs: Mapping[str, Any], *, supersedes: str | None = None) -> str | None:
        """What was open is finished or retired. In a later run, ``supersedes`` names the record it closes."""
        return self.propose(RecordStatus.CLOSED, outputs, supersedes=supersedes)

    def propose(
        self,
        status: RecordStatus,
        outputs: Mapping[str, Any] | None = None,
        *,
        supersedes: str | None = None,
        record_id: str | None = None,
    ) -> str | None:
        """Propose a record of all that was attached. A correction names what it supersedes; history is not edited."""
        if not self._may_follow(status, supersedes):
            return None
        own = record_id or self._run.recorder.ids.uuid()
        event_id = self._run.propose_record(
            record_id=own,
            status=status.value,
            outputs=dict(outputs or {}),
            supersedes=supersedes,
            evidence_refs=list(self._evidence),
            controls_active=self._controls,
            lineage=self._pinned(),
            **self._lists,
            **self._fields,
        )
        if event_id is not None:
            self.status, self.record_id = status, own
        return event_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status is None:
            self.deferred()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """A piece that is wrong is left out and counted; under pytest it is raised. The sealer says what is missing."""
        try:
            yield
        except (RecordRefusedError, TypeError) as error:
            self._run.recorder.guard.swallow("RecordProposal", error)

    def _may_follow(self, wanted: RecordStatus, supersedes: str | None) -> bool:
        """Whether a status may be proposed now. If not, the proposal is accounted as every record that is refused."""
        if supersedes is not None or may_follow(self.status, wanted):
            return True
        before = "nothing" if self.status is None else self.status.value
        recorder = self._run.recorder
        recorder.channel.lose("RecordProposal")
        sentence = f"{wanted.value} cannot follow {before}: name the record it supersedes"
        recorder.guard.swallow("RecordProposal", RecordRefusedError("status", sentence))
        return False

    def _pinned(self) -> dict[str, Any]:
        unpinned = dict.fromkeys(("pack_version", "model_profile", "evaluator_suite", "kg_snapshot"), "")
        spec = f"{self._fields['decision_key']}@{self._fields['decision_version']}"
        return unpinned | self._lineage | {"decision_spec": spec}
