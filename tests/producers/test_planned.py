"""A decision under its terms: what is checked before a governed tool is executed, and what becomes of a refusal."""

import asyncio
import json
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tachograph.processors.catalog import load_catalog
from tachograph.processors.catalog.documents import DecisionSpec
from tachograph.processors.catalog.shipped import decisions_folder
from tachograph.processors.catalog.terms import terms_of
from tachograph.producers import PlannedDecision, PlanRefusedError, Run, Tracer, load_terms, tool_ref
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.replay import recording_of
from tachograph.producers.testing import FixedClock, InMemoryPublisher
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.models.terms import DecisionTerms
from tachograph.schemas.plan import CHECKS, PLAN_BUNDLE
from tachograph.schemas.terms_file import write_terms
from tests.processors.sealing.events import codes
from tests.producers.support import make_tracer, validated
from tests.producers.test_governed import OUTCOME, sealed

LINEAGE = {
    "pack_version": "ctxpack.support@1.0.0",
    "model_profile": "model_profile.support.safe@1.0.0",
    "evaluator_suite": "eval.support.refund@1.0.0",
    "policy_versions": ["POLICY_RETURNS_V1@1.0.0"],
}
REFUND = "adp_payments.issue_refund"
PLENTY = {"tokens": 1_000_000}


TODAY = int(datetime(2026, 5, 9, tzinfo=UTC).timestamp()) * 1_000_000


def tracing(publisher: InMemoryPublisher | None = None, till: "Till | None" = None) -> Tracer:
    """A tracer of a day on which the policies of the example are in force."""
    return make_tracer(publisher, tools=(till or Till()).tools(), clock=FixedClock(TODAY))


def refund_terms(**changes: Any) -> DecisionTerms:
    """The terms of the refund as the example catalog gives them."""
    catalog = load_catalog(decisions_folder())
    spec = catalog.spec("support.refund.execute", "1.0.0")
    assert isinstance(spec, DecisionSpec)
    terms = terms_of(catalog, spec, LINEAGE)
    assert terms is not None
    return terms.model_copy(update=changes)


class Till:
    """The side effect: money that left."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> None:
        self.paid.append(amount)

    def tools(self) -> dict[str, Any]:
        return {
            "adp_orders.lookup": lambda order: {"order": order},
            "adp_policy.eval": lambda: "allow",
            REFUND: self.pay,
            "adp_payments.reverse": lambda: None,
            "shell.run": lambda: None,
        }


def looked_up(run: Run) -> None:
    """What a refund stands on."""
    with run.step("tool", "look up"):
        run.tools.execute("adp_orders.lookup", {"order": "ord_881"}, tool_use_id="tc_117")
        run.tools.execute("adp_policy.eval", {}, tool_use_id="tc_119")
        run.context().include("ord_881", "evidence", source_ref="kg:order:ord_881#1", reason="plan_dependency").record()


def ready(decision: PlannedDecision) -> PlannedDecision:
    """Evidence attached, policy spoken, gate opened."""
    decision.evidence(
        "kg:order:ord_881#1", tool_ref("adp_orders.lookup", "tc_117"), tool_ref("adp_policy.eval", "tc_119")
    )
    decision.policy(
        "pol_1", bundle="POLICY_RETURNS_V1", version="1.0.0", rules=["R_REFUND_REQUIRES_IDV"], verdict="allow"
    )
    decision.approval("GATE_FINANCE_APPROVAL", approver="lead_77", mode="destructive")
    return decision


def deciding(run: Run, terms: DecisionTerms | None = None) -> PlannedDecision:
    return run.governed_decision(terms or refund_terms(), subjects=["order:ord_881"], kg_snapshot="kg_1")


def pay(run: Run) -> Any:
    return run.tools.execute(REFUND, {"amount": 4200}, tool_use_id="tc_121")


def plan_of(row: dict[str, Any]) -> dict[str, Any]:
    """The verdict on the plan, from a sealed record."""
    (found,) = [given for given in json.loads(row["body"])["policy_decisions"] if given["bundle_id"] == PLAN_BUNDLE]
    return dict(found)


def test_a_plan_that_holds_is_executed_and_on_record() -> None:
    """Controls and lineage come from the pinned pack, the verdict names the terms, the catalog accepts all of it."""
    publisher, till = InMemoryPublisher(), Till()
    with tracing(publisher, till).start_run() as run:
        looked_up(run)
        with deciding(run) as decision:
            ready(decision)
            pay(run)
            decision.side_effect("tc_121", mode="destructive", idempotency_key="ik_1", reversal_token="rv_1")
            decision.spent(cost_usd_cents="0.91").evaluate(utility="0.94").decided(OUTCOME)
    assert till.paid == [4200]
    validated(publisher)
    (row,) = sealed(publisher)
    assert (row["status"], codes(row)) == ("DECIDED", [])
    body = json.loads(row["body"])
    terms = refund_terms()
    assert body["controls_active"] == terms.controls.model_dump(mode="json")
    assert {name: body["lineage"][name] for name in LINEAGE} == LINEAGE
    assert plan_of(row) | {"policy_decision_id": ""} == {
        "policy_decision_id": "",
        "bundle_id": PLAN_BUNDLE,
        "bundle_version": terms.hash,
        "rule_ids": ["evidence", "tools", "policy", "approval", "budget"],
        "verdict": "allow",
    }
    assert body["budget_usage"]["tool_calls"] == 3


def without(*pieces: str) -> Any:
    """A decision that lacks a piece."""

    def build(decision: PlannedDecision) -> None:
        ready(decision)
        for piece in pieces:
            if piece == "evidence":
                decision._evidence.pop(tool_ref("adp_policy.eval", "tc_119"))
            else:
                decision._lists[piece].clear()

    return build


def denied(decision: PlannedDecision) -> None:
    ready(decision).policy(
        "pol_2", bundle="POLICY_RETURNS_V1", version="1.0.0", rules=["R_REFUND_REQUIRES_IDV"], verdict="deny"
    )


def escalated(decision: PlannedDecision) -> None:
    ready(decision).policy(
        "pol_2", bundle="POLICY_RETURNS_V1", version="1.0.0", rules=["R_REFUND_REQUIRES_IDV"], verdict="escalate"
    )


def out_of_force(decision: PlannedDecision) -> None:
    ready(decision).policy(
        "pol_2", bundle="POLICY_RETURNS_V1", version="0.9.0", rules=["R_REFUND_REQUIRES_IDV"], verdict="allow"
    )


@pytest.mark.parametrize(
    ("build", "terms", "status", "code"),
    [
        pytest.param(without("evidence"), {}, "DEFERRED", "evidence.absent", id="evidence is not attached"),
        pytest.param(
            lambda d: ready(d).evidence(tool_ref("adp_policy.eval", "never")) and without("evidence")(d),
            {},
            "DEFERRED",
            "evidence.unresolvable",
            id="evidence was never recorded",
        ),
        pytest.param(without("policy_decisions"), {}, "DEFERRED", "policy.missing", id="no policy has spoken"),
        pytest.param(without("approvals"), {}, "DEFERRED", "approval.missing", id="the gate is closed"),
        pytest.param(denied, {}, "REJECTED", "policy.denied", id="a policy denies"),
        pytest.param(out_of_force, {}, "REJECTED", "policy.inactive_version", id="a version that is not in force"),
        pytest.param(escalated, {}, "ESCALATED", "policy.escalated", id="a policy sends it to a person"),
        pytest.param(ready, {"tools": ("adp_orders.*",)}, "REJECTED", "tools.outside_pack", id="no tool of the pack"),
        pytest.param(ready, {"budget": {"tool_calls": 2}}, "REJECTED", "budget.tool_calls", id="one call too many"),
        pytest.param(ready, {"budget": {"wall_clock_ms": 0}}, "REJECTED", "budget.wall_clock_ms", id="out of time"),
    ],
)
def test_what_is_missing_stops_the_tool_before_it_runs(
    build: Any, terms: dict[str, Any], status: str, code: str
) -> None:
    """Nothing is executed; the record says what was refused and why, and the tool's own record says by what."""
    publisher, till = InMemoryPublisher(), Till()
    given = refund_terms()
    given = DecisionTerms.model_validate(given.model_dump() | terms)
    with tracing(publisher, till).start_run() as run:
        looked_up(run)
        with deciding(run, given) as decision:
            build(decision)
            with pytest.raises(PlanRefusedError) as raised:
                pay(run)
    assert till.paid == []
    assert code in [found for found, _ in raised.value.findings]
    assert (raised.value.status.value, "nothing executed" in str(raised.value)) == (status, True)
    (proposed,) = publisher.of("RecordProposal")
    assert proposed["status"] == status
    spoken = proposed["policy_decisions"][-1]
    assert (spoken["bundle_id"], spoken["bundle_version"]) == (PLAN_BUNDLE, given.hash)
    assert code in spoken["rule_ids"]
    assert spoken["verdict"] == ("escalate" if status == "ESCALATED" else "deny")
    refused = [leg for leg in publisher.of("ToolCallRecord") if leg["tool_use_id"] == "tc_121" and leg["hooks"]]
    assert refused[0]["hooks"][0]["hook"] == "tachograph.plan"


def test_evidence_grows_stale_while_the_agent_thinks() -> None:
    """Fresh to the second that the spec allows, and not a microsecond longer. Time is the recorder's clock."""
    for late, found in ((timedelta(hours=1), set()), (timedelta(hours=1, microseconds=1), {"evidence.stale"})):
        till, publisher = Till(), InMemoryPublisher()
        with tracing(publisher, till).start_run() as run:
            looked_up(run)
            decision = ready(deciding(run))
            run.observed.calls.clear()
            now = TODAY + 1_000_000
            run.recorder.clock = FixedClock(now, step_micros=0)
            seen = datetime.fromtimestamp(now / 1e6, UTC) - late
            for name, call in (("adp_orders.lookup", "tc_117"), ("adp_policy.eval", "tc_119")):
                decision.evidence(tool_ref(name, call), observed_at=seen)
            with suppress(PlanRefusedError), decision:
                pay(run)
        assert (not till.paid) == bool(found)
        assert found == set(publisher.of("RecordProposal")[0]["policy_decisions"][-1]["rule_ids"]) - set(CHECKS)


def test_what_was_missing_can_be_brought() -> None:
    """Deferred, then the gate is opened, then executed and decided: two records of one decision."""
    publisher, till = InMemoryPublisher(), Till()
    with tracing(publisher, till).start_run() as run:
        looked_up(run)
        with deciding(run) as decision:
            without("approvals")(decision)
            with pytest.raises(PlanRefusedError, match=r"approval\.missing"):
                pay(run)
            assert till.paid == []
            decision.approval("GATE_FINANCE_APPROVAL", approver="lead_77", mode="destructive")
            pay(run)
            decision.decided(OUTCOME)
    assert till.paid == [4200]
    deferred, decided = sealed(publisher)
    assert [(row["status"], codes(row)) for row in (deferred, decided)] == [("DEFERRED", []), ("DECIDED", [])]
    assert [plan_of(row)["verdict"] for row in (deferred, decided)] == ["deny", "allow"]


def test_a_plan_of_several_tools() -> None:
    """Checked as a whole; a governed tool that is not in it is refused, others of the run go on."""
    publisher, till = InMemoryPublisher(), Till()
    with tracing(publisher, till).start_run() as run:
        looked_up(run)
        with deciding(run) as decision:
            ready(decision).plan(REFUND, mode="destructive", tokens=100, cost_usd_cents="0.5")
            pay(run)
            run.tools.execute("shell.run", {})
            with pytest.raises(PlanRefusedError, match=r"tools\.not_planned"):
                run.tools.execute("adp_payments.reverse", {})
    assert till.paid == [4200]


@pytest.mark.parametrize(
    ("tools", "expected", "code"),
    [
        pytest.param((), {}, "tools.none", id="a plan of nothing"),
        pytest.param(("adp_orders.lookup",), {}, "tools.outside_spec", id="a tool that does not carry it out"),
        pytest.param(("shell.run",), {}, "tools.outside_pack", id="a tool of no pack"),
        pytest.param((REFUND,), PLENTY, "budget.tokens", id="more tokens than there are"),
        pytest.param((REFUND,), {"cost_usd_cents": "1000"}, "budget.cost_usd_cents", id="more cents than there are"),
    ],
)
def test_a_plan_is_refused_as_a_whole(tools: tuple[str, ...], expected: dict[str, Any], code: str) -> None:
    """Before the first tool."""
    publisher = InMemoryPublisher()
    with tracing(publisher).start_run() as run:
        looked_up(run)
        with pytest.raises(PlanRefusedError) as raised, deciding(run) as decision:
            ready(decision).plan(*tools, **expected)
    assert code in [found for found, _ in raised.value.findings]
    assert [given["status"] for given in publisher.of("RecordProposal")] == ["REJECTED"]


def test_an_approval_for_less_than_the_plan_uses() -> None:
    """The highest mode of the tools counts."""
    with tracing().start_run() as run:
        looked_up(run)
        decision = ready(deciding(run))
        decision._lists["approvals"].clear()
        decision.approval("GATE_FINANCE_APPROVAL", approver="lead_77", mode="read_only")
        with pytest.raises(PlanRefusedError, match=r"approval\.insufficient_mode"):
            decision.plan(REFUND, mode="destructive")


def test_an_approval_binds_what_was_shown() -> None:
    """Approve first and attach later does not do; the same gate opened again over all of it does."""
    till = Till()
    with tracing(till=till).start_run() as run:
        looked_up(run)
        with deciding(run) as decision:
            decision.approval("GATE_FINANCE_APPROVAL", approver="lead_77", mode="destructive")
            decision.evidence(
                "kg:order:ord_881#1", tool_ref("adp_orders.lookup", "tc_117"), tool_ref("adp_policy.eval", "tc_119")
            )
            decision.policy(
                "pol_1", bundle="POLICY_RETURNS_V1", version="1.0.0", rules=["R_REFUND_REQUIRES_IDV"], verdict="allow"
            )
            with pytest.raises(PlanRefusedError, match=r"approval\.other_evidence") as raised:
                pay(run)
            assert raised.value.status.value == "DEFERRED"
            decision.approval("GATE_FINANCE_APPROVAL", approver="lead_77", mode="destructive")
            pay(run)
    assert till.paid == [4200]


def test_the_gate_is_open_for_its_block_and_run_only() -> None:
    """Outside of the block, and in another run of the same tracer, nobody asks."""
    till = Till()
    tracer = tracing(till=till)
    with tracer.start_run() as run, tracer.start_run() as other:
        with deciding(run):
            pay(other)
            with pytest.raises(PlanRefusedError):
                pay(run)
        pay(run)
        assert run.tools.gates == ()
    assert till.paid == [4200, 4200]


def test_threads_and_coroutines_pass_the_same_gate() -> None:
    """A governed tool is refused wherever in the run it is called."""
    till = Till()
    refusals: list[str] = []

    def elsewhere() -> None:
        try:
            pay(run)
        except PlanRefusedError as error:
            refusals.append(error.status.value)

    async def awaited() -> None:
        try:
            await run.tools.aexecute(REFUND, {"amount": 1})
        except PlanRefusedError as error:
            refusals.append(error.status.value)

    with tracing(till=till).start_run() as run, deciding(run):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        asyncio.run(awaited())
    assert (till.paid, refusals) == ([], ["DEFERRED", "DEFERRED"])


def test_calls_whose_records_are_made_later_count_too() -> None:
    """At durability memory, evidence is known when the call returns and not when its record is written."""

    class Later(InMemoryPublisher):
        takes_late = True

        def publish_late(self, record: Any) -> None:
            """Kept as it comes; nobody makes it here."""

    till = Till()
    publisher = Later()
    with tracing(publisher, till).start_run() as run:
        with run.step("tool", "look up"):
            run.tools.execute("adp_orders.lookup", {"order": "ord_881"}, tool_use_id="tc_117")
        assert run.observed.times().keys() == {"tool:adp_orders.lookup:tc_117"}


def test_a_replayed_run_passes_the_same_gate() -> None:
    """Against a recording nothing is executed, and the plan is checked all the same."""

    def agent(tracer: Tracer) -> str:
        with tracer.start_run("refund it", run_id="r") as run:
            looked_up(run)
            with deciding(run) as decision:
                without("approvals")(decision)
                with pytest.raises(PlanRefusedError):
                    pay(run)
                decision.approval("GATE_FINANCE_APPROVAL", approver="lead_77", mode="destructive")
                run.tools.execute(REFUND, {"amount": 4200}, tool_use_id="tc_122")
                decision.decided(OUTCOME)
        return str(decision.status)

    publisher, till = InMemoryPublisher(), Till()
    assert agent(tracing(publisher, till)) == "DECIDED"
    recording = recording_of("r", publisher.records)
    tracer = tracing(InMemoryPublisher(), till)
    with tracer.replaying("r", recording):
        assert agent(tracer) == "DECIDED"
    assert till.paid == [4200]


def test_a_plan_checked_by_other_terms_does_not_count() -> None:
    """The sealer stays what decides: it knows which terms the catalog gives."""
    publisher, till = InMemoryPublisher(), Till()
    easier = refund_terms(required_evidence=(), policies=())
    with tracing(publisher, till).start_run() as run:
        looked_up(run)
        with deciding(run, easier) as decision:
            ready(decision)
            decision.policy("pol_1", bundle="POLICY_RETURNS_V1", version="1.0.0", rules=[], verdict="allow")
            pay(run)
            decision.decided(OUTCOME)
    (row,) = sealed(publisher)
    assert (row["status"], codes(row)) == ("REJECTED", ["policy.plan_of_other_terms"])


def test_evaluators_give_the_five_scores() -> None:
    """Policy, latency, safety and cost by the terms; utility by whoever knows what it was for."""
    publisher, till = InMemoryPublisher(), Till()
    with tracing(publisher, till).start_run() as run:
        looked_up(run)
        decision = ready(deciding(run))
        decision.budget(tokens=0, tool_calls=2, cost_usd_cents="100", wall_clock_ms=60_000)
        decision.evaluate(utility=lambda conduct: "0.9" if conduct.refused == 0 else "0").decided(OUTCOME)
    (given,) = publisher.of("RecordProposal")
    assert given["scorecard"] == {"policy": "1", "utility": "0.9", "latency": "0.50", "safety": "1", "cost": "0.50"}


def test_a_refusal_and_a_denial_cost_their_scores() -> None:
    """A scorecard below the suite's minimum is a failed one, and is kept whatever is sampled."""
    publisher = InMemoryPublisher()
    with tracing(publisher).start_run() as run:
        looked_up(run)
        decision = deciding(run)
        denied(decision)
        with pytest.raises(PlanRefusedError), decision:
            pay(run)
        decision.evaluate(utility=1, cost=1).propose(decision.status, supersedes=decision.record_id)  # type: ignore[arg-type]
    row = sealed(publisher)[-1]
    body = json.loads(row["body"])
    assert body["scorecard"] == {"policy": "0", "utility": "1", "latency": "1", "safety": "0", "cost": "1"}
    assert row["retention"] == "protected"


def test_a_cost_that_nobody_said_is_not_made_up() -> None:
    """Loud under pytest."""
    with tracing().start_run() as run, pytest.raises(RecordRefusedError, match="spent"):
        deciding(run).evaluate(utility=1)


def test_controls_of_the_pack_stay() -> None:
    """More can be added, none taken away."""
    publisher = InMemoryPublisher()
    with tracing(publisher).start_run() as run:
        deciding(run).controls(must_escalate=["vip"], must_refuse=["gift_card"]).rejected()
    (given,) = publisher.of("RecordProposal")
    assert given["controls_active"]["must_escalate"] == ["fraud_signal_high", "vip"]
    assert given["controls_active"]["must_refuse"] == ["gift_card"]
    assert given["controls_active"]["redaction_rules_active"] == ["pan", "credit_card"]


class TestFile:
    """Terms as they are shipped."""

    def test_what_was_written_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "t.json").write_text(write_terms(refund_terms()))
        assert load_terms(tmp_path / "t.json") == refund_terms()
        assert load_terms(str(tmp_path / "t.json")).hash == refund_terms().hash

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            pytest.param("{}", "holds no terms", id="another object"),
            pytest.param("[", "holds no terms", id="no JSON"),
            pytest.param(
                write_terms(refund_terms()).replace("86400", "864000"), "were changed", id="a longer freshness"
            ),
            pytest.param(
                write_terms(refund_terms()).replace('"tools"', '"tools": [], "tools"'), "no terms", id="a key twice"
            ),
            pytest.param(None, "cannot be read", id="no file"),
        ],
    )
    def test_anything_else_is_refused(self, text: str | None, sentence: str, tmp_path: Path) -> None:
        if text is not None:
            (tmp_path / "t.json").write_text(text)
        with pytest.raises(ConfigError, match=sentence):
            load_terms(tmp_path / "t.json")
