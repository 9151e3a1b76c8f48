"""A governed decision under its terms: controls and lineage come from the catalog, and nothing runs unchecked.

::

    terms = load_terms("refund.terms.json")  # written by `tachograph catalog terms`
    with run.governed_decision(terms, subjects=["order:ord_881"], kg_snapshot="kg_1") as decision:
        decision.evidence(tool_ref("orders.lookup", "tc_1")).policy(…).approval(…)
        run.tools.execute("payments.issue_refund", {…}, tool_use_id="tc_2")  # refused here if anything is missing
        decision.decided({"outcome": "approved"})

Inside the block the terms' governed tools pass a check of the plan: evidence there and fresh, tools of the pack and the
spec, policies spoken, gates open, budget kept. What is refused is not executed; the decision is proposed as DEFERRED,
ESCALATED or REJECTED with the verdict, and `PlanRefusedError` is raised. Bring what is missing and try again, or let it
pass.
"""

import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tachograph.producers import checks
from tachograph.producers.errors import PlanRefusedError, RecordRefusedError
from tachograph.producers.hooks.types import HookMatcher, PreHookResult, ToolUseContext
from tachograph.producers.records.decision import GovernedDecision
from tachograph.producers.records.evaluators import SHIPPED, Conduct, Evaluator
from tachograph.producers.records.pieces import Exact
from tachograph.schemas.enums import ApprovalMode, RecordStatus
from tachograph.schemas.models.terms import DecisionTerms
from tachograph.schemas.plan import PLAN_BUNDLE, Plan, check_plan, governs, plan_decision, status_after
from tachograph.schemas.proofs.keys import micros
from tachograph.schemas.record_lifecycle import may_follow

if TYPE_CHECKING:
    from tachograph.producers.run import Run

_HOOK = "tachograph.plan"


class PlannedDecision(GovernedDecision):
    """Builds the records of one decision, and stands between it and the tools that carry it out."""

    def __init__(
        self, run: "Run", terms: DecisionTerms, *, subjects: Iterable[str], kg_snapshot: str = "", **fields: Any
    ) -> None:
        super().__init__(run, terms.decision_key, terms.decision_version, subjects=subjects, **fields)
        self.terms = terms
        self._controls = {name: list(given) for name, given in terms.controls}
        self._lineage = {
            "pack_version": terms.pack_version,
            "model_profile": terms.model_profile,
            "evaluator_suite": terms.evaluator_suite,
            "kg_snapshot": kg_snapshot,
            "policy_versions": [f"{bundle.id}@{bundle.version}" for bundle in terms.policies],
        }
        self._lock = threading.RLock()
        self._elsewhere: dict[str, int] = {}
        self._shown: dict[str, tuple[str, ...]] = {}
        self._expected: dict[str, int | Decimal] = {}
        self._mode = ApprovalMode.NONE
        self._planned: frozenset[str] | None = None
        self._refused = 0
        self._gate = HookMatcher(pre_hooks=(self._admit,))

    def evidence(self, *references: str, observed_at: datetime | None = None) -> Self:
        """Facts that the decision stands on. ``observed_at`` for one that another run of the trace has recorded."""
        if observed_at is not None:
            if observed_at.tzinfo is None:
                self._run.recorder.guard.swallow("RecordProposal", RecordRefusedError("observed_at", "has a time zone"))
                return self
            self._elsewhere |= dict.fromkeys(references, micros(observed_at))
        return super().evidence(*references)

    def approval(self, gate: str, *, evidence_snapshot_hash: str | None = None, **given: Any) -> Self:
        """A gate that somebody opened. What they saw is the evidence attached so far, unless they say its hash."""
        self._shown.pop(gate, None)
        if evidence_snapshot_hash is None:
            self._shown[gate] = tuple(self._evidence)
        return super().approval(gate, evidence_snapshot_hash=evidence_snapshot_hash, **given)

    def controls(self, **given: Iterable[str]) -> Self:
        """Controls beside those of the context pack, which stay."""
        for name, rules in given.items():
            kept = self._controls[name]
            kept += [rule for rule in rules if rule not in kept]
        return self

    def plan(
        self,
        *tools: str,
        mode: ApprovalMode | str = ApprovalMode.NONE,
        tokens: int = 0,
        tool_calls: int | None = None,
        cost_usd_cents: Exact = 0,
        wall_clock_ms: int = 0,
    ) -> Self:
        """Check a plan of several tools at once: those it names, and no other governed tool, may be executed then.

        ``mode`` is the highest mode of the tools, the rest is what they are expected to use. Raises
        `PlanRefusedError`.
        """
        with self._lock:
            self._mode = checks.member("mode", mode, ApprovalMode)
            self._expected = {
                "tokens": checks.count("tokens", tokens),
                "tool_calls": len(tools) if tool_calls is None else checks.count("tool_calls", tool_calls),
                "cost_usd_cents": Decimal(cost_usd_cents),
                "wall_clock_ms": checks.count("wall_clock_ms", wall_clock_ms),
            }
            self._planned = frozenset(tools)
            self._check(tools, self._expected)
        return self

    def spent(self, *, cost_usd_cents: Exact) -> Self:
        """The budget used so far: tokens, tool calls and time as the run counted them, the cost as you know it."""
        return self.budget(**self._run.used(), cost_usd_cents=cost_usd_cents)

    def evaluate(self, *, utility: Evaluator | Exact, **evaluators: Evaluator | Exact) -> Self:
        """Score the decision. Policy, latency, safety and cost are evaluated by the terms unless you give your own."""
        with self._guarded():
            conduct = Conduct(self.terms, self._used(), tuple(self._lists["policy_decisions"]), self._refused)
            asked: Mapping[str, Evaluator | Exact] = {**SHIPPED, **evaluators, "utility": utility}
            self.scores(**{name: given(conduct) if callable(given) else given for name, given in asked.items()})
        return self

    def __enter__(self) -> Self:
        self._run.tools.gates = (*self._run.tools.gates, self._gate)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run.tools.gates = tuple(gate for gate in self._run.tools.gates if gate is not self._gate)
        super().__exit__(kind, error, trace)

    def _admit(self, context: ToolUseContext) -> PreHookResult | None:
        """Hook before every tool call of the run: a governed one is checked at the moment it would be executed."""
        tool = context.tool_name
        planned = self._planned
        if not governs(self.terms, tool) and (planned is None or tool not in planned):
            return None
        with self._lock:
            if planned is not None and tool not in planned:
                self._refuse((("tools.not_planned", "the tool is governed and is not in the plan that was checked"),))
            self._check((tool,), {"tool_calls": 1})
        return None

    _admit.hook_name = _HOOK  # type: ignore[attr-defined]  # what records call it

    def _check(self, tools: tuple[str, ...], expected: Mapping[str, int | Decimal]) -> None:
        used = self._used()
        plan = Plan(
            tools=tools,
            mode=self._mode,
            references=tuple(self._evidence),
            observed=self._elsewhere | self._run.observed.times(),
            policy_decisions=self._lists["policy_decisions"],
            approvals=[
                given | {"decided_at": micros(datetime.fromisoformat(given["decided_at"]))}
                for given in self._lists["approvals"]
            ],
            gates_active=self._controls["approval_gates_active"],
            shown=self._shown,
            budget={name: used.get(name, 0) + expected.get(name, 0) for name in {*used, *expected}},
        )
        findings = check_plan(self.terms, plan, self._run.recorder.clock.now_micros())
        if findings:
            self._refuse(findings)
        self._record(findings, None)

    def _refuse(self, findings: tuple[tuple[str, str], ...]) -> None:
        """Nothing is executed: the decision is proposed with the verdict, as far as its status may still change."""
        status = status_after(findings)
        self._refused += 1
        self._record(findings, status)
        if may_follow(self.status, status):
            self.propose(status)
        raise PlanRefusedError(self.terms.decision_key, findings, status)

    def _record(self, findings: tuple[tuple[str, str], ...], status: RecordStatus | None) -> None:
        """The latest verdict on the plan; those before it are in the records that they led to."""
        given = self._lists["policy_decisions"]
        before = next((item for item in given if item["bundle_id"] == PLAN_BUNDLE), None)
        own = self._run.recorder.ids.uuid() if before is None else before["policy_decision_id"]
        made = plan_decision(own, self.terms, findings, status)
        self._lists["policy_decisions"] = [*(item for item in given if item["bundle_id"] != PLAN_BUNDLE), made]

    def _used(self) -> dict[str, int | Decimal]:
        """What the run counted, or more where more was said."""
        counted: dict[str, int | Decimal] = dict(self._run.used())
        for name, said in (self._fields.get("budget_usage") or {}).items():
            counted[name] = max(counted.get(name, 0), Decimal(said))
        return counted
