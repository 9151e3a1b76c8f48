"""A record replayed from its inputs: equal, or exactly the type of the input that changed."""

from dataclasses import replace
from typing import Any

import pytest

from tachograph.console.replay import Packet, replayed
from tachograph.console.replay.judge import SEVERITY, RecordedSigner
from tachograph.processors.catalog.documents import ContextPack
from tachograph.processors.catalog.terms import terms_of
from tachograph.processors.sealing.errors import CustodyError
from tachograph.schemas.enums import ReplayStatus
from tachograph.schemas.models.terms import BudgetLimits
from tachograph.schemas.plan import plan_decision
from tachograph.schemas.proofs.chain import signed_message
from tachograph.schemas.transcripts import call_entry, prompt_entry
from tests.console.replay.packets import CALLS, CONTEXTS, OBSERVED, catalog_with, changed, packet
from tests.processors.decisions.proposals import CATALOG, proposal
from tests.processors.sealing.logs import sealed_log

WHOLE = packet()
PACK = next(pinned.document for pinned in CATALOG.documents if isinstance(pinned.document, ContextPack))


def stored(**columns: Any) -> Packet:
    return changed(WHOLE, stored={**WHOLE.stored, **columns})


def proposed(**columns: Any) -> Packet:
    return changed(WHOLE, proposal={**(WHOLE.proposal or {}), **columns})


def test_an_unchanged_record_replays_equal() -> None:
    """Every input is there, and the same functions give the same bytes."""
    result = replayed(WHOLE)
    assert result.outcome is ReplayStatus.EQUAL
    assert (result.diffs, result.unchecked) == ((), ())


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"approvals": []}, id="deferred for want of an approval"),
        pytest.param({"status": "ESCALATED", "outputs": {}}, id="escalated"),
        pytest.param({"outputs": {"outcome": "maybe"}}, id="rejected"),
        pytest.param({"outputs": {"outcome": "approved", "rate": 0.5}}, id="outputs without an exact form"),
        pytest.param({"scorecard": None, "budget_usage": None}, id="without scores"),
    ],
)
def test_blocked_records_replay_equal_too(changes: dict[str, Any]) -> None:
    """What the rules said then, they say again."""
    assert replayed(packet(**changes)) == replayed(WHOLE)


TOOL_CHANGED = (CALLS[0], call_entry("tc_119", "adp_policy.eval", None, "00" * 32, None, skipped=False))

ONE_CHANGE = {
    ReplayStatus.CHANGED_EVIDENCE: {
        "a fact is gone": changed(WHOLE, observed=[item for item in OBSERVED if item.name != "ContextManifest"]),
        "other references in the proposal": proposed(evidence_refs=["kg:other"]),
        "another snapshot in the proposal": proposed(kg_snapshot="kg_2"),
    },
    ReplayStatus.CHANGED_POLICY: {
        "another policy under the same version": changed(WHOLE, catalog=catalog_with("policy_bundle", rules=())),
        "another spec under the same version": changed(WHOLE, catalog=catalog_with("decision_spec", policies=())),
        "another verdict in the proposal": proposed(policy_decisions=[]),
        "another approval in the proposal": proposed(approvals=[]),
    },
    ReplayStatus.CHANGED_TOOL_TRANSCRIPT: {
        "another result": changed(WHOLE, calls=TOOL_CHANGED),
        "a call is gone, and its evidence with it": changed(WHOLE, calls=CALLS[:1], observed=OBSERVED[:3]),
        "a call more": changed(WHOLE, calls=(*CALLS, call_entry("tc_1", "x", None, None, None, skipped=True))),
    },
    ReplayStatus.CHANGED_COMPILED_CONTEXT: {
        "another prompt": changed(WHOLE, contexts=(prompt_entry("span_1", "ff" * 32), CONTEXTS[1])),
        "another pack under the same version": changed(
            WHOLE,
            catalog=catalog_with(
                "context_pack", controls=PACK.controls.model_copy(update={"must_refuse": ("everything",)})
            ),
        ),
        "another model profile": changed(WHOLE, catalog=catalog_with("model_profile")),
        "the run's start is gone": changed(WHOLE, has_run_context=False),
        "other controls in the proposal": proposed(must_escalate=[]),
    },
    ReplayStatus.CHANGED_SCORECARD: {
        "another score in the proposal": proposed(score_utility="0.1"),
        "another suite under the same version": changed(WHOLE, catalog=catalog_with("evaluator_suite", minimum={})),
    },
    ReplayStatus.TAMPER_DETECTED: {
        "a value of the record": changed(
            WHOLE, record=replace(WHOLE.record, body=WHOLE.record.body.replace("4200", "4201"))
        ),
        "a signature": changed(WHOLE, record=replace(WHOLE.record, signature=WHOLE.stored["signature"][::-1])),
        "a column": stored(outputs='{"outcome":"denied"}'),
        "the record before": changed(WHOLE, previous=sealed_log(2)[-1].record),
        "the record before is gone": changed(WHOLE, previous=None),
        "another time of arrival": stored(received_at=WHOLE.stored["received_at"] + 1),
        "another outcome in the proposal": proposed(outputs='{"outcome":"denied"}'),
    },
}


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        pytest.param(made, kind, id=f"{kind.value}: {name}")
        for kind, changes in ONE_CHANGE.items()
        for name, made in changes.items()
    ],
)
def test_one_changed_input_gives_exactly_its_type(made: Packet, kind: ReplayStatus) -> None:
    """All differences are of that type, and none quotes content."""
    result = replayed(made)
    assert (result.outcome, {diff.type for diff in result.diffs}) == (kind, {kind})
    told = str([diff.as_json() for diff in result.diffs])
    assert not any(word in told for word in ("4200", "denied", "lead_77", "everything"))


_SPEC = CATALOG.spec("support.refund.execute", "1.0.0")
assert _SPEC is not None
TERMS = terms_of(CATALOG, _SPEC, proposal()["lineage"])
assert TERMS is not None
PLANNED = packet(policy_decisions=[*proposal()["policy_decisions"], plan_decision("plan_1", TERMS, (), None)])


@pytest.mark.parametrize(
    ("document", "changes", "kind"),
    [
        pytest.param("policy_bundle", {"title": "x"}, ReplayStatus.CHANGED_POLICY, id="policy bundle"),
        pytest.param("decision_spec", {"budget": BudgetLimits(tokens=1)}, ReplayStatus.CHANGED_POLICY, id="spec"),
        pytest.param("context_pack", {"tools": ()}, ReplayStatus.CHANGED_COMPILED_CONTEXT, id="context pack"),
        pytest.param("model_profile", {}, ReplayStatus.CHANGED_COMPILED_CONTEXT, id="model profile"),
        pytest.param("evaluator_suite", {"minimum": {}}, ReplayStatus.CHANGED_SCORECARD, id="evaluator suite"),
    ],
)
def test_a_plan_adds_no_type_of_its_own(document: str, changes: dict[str, Any], kind: ReplayStatus) -> None:
    """Its terms were taken from all documents; the one that changed names the type."""
    assert replayed(PLANNED).outcome is ReplayStatus.EQUAL
    result = replayed(changed(PLANNED, catalog=catalog_with(document, **changes)))
    assert (result.outcome, {diff.type for diff in result.diffs}) == (kind, {kind})


def test_every_type_of_the_contract_is_shown() -> None:
    """Six types, and none that nothing can give."""
    assert set(ONE_CHANGE) == set(SEVERITY) == set(ReplayStatus) - {ReplayStatus.EQUAL, ReplayStatus.NOT_REPLAYED}


def test_several_changes_are_all_told_and_the_worst_names_the_outcome() -> None:
    """Nothing hides behind the first difference, but for a record that cannot be believed at all."""
    result = replayed(changed(WHOLE, calls=(), observed=OBSERVED[:1], contexts=()))
    assert result.outcome is ReplayStatus.CHANGED_EVIDENCE
    assert {diff.type for diff in result.diffs} == {
        ReplayStatus.CHANGED_EVIDENCE,
        ReplayStatus.CHANGED_TOOL_TRANSCRIPT,
        ReplayStatus.CHANGED_COMPILED_CONTEXT,
    }


def test_what_a_record_does_not_bind_is_said() -> None:
    """A proposal of another maker has no packet of ours: equal as far as it can be checked, and it says so."""
    made = packet(replay=None)
    result = replayed(changed(made, calls=(), contexts=(), proposal=None))
    assert result.outcome is ReplayStatus.EQUAL
    assert result.unchecked == ("proposal", "tool transcript", "compiled context")


def test_a_replay_holds_no_key() -> None:
    """What it can sign is what was signed."""
    signer, key_id = RecordedSigner(WHOLE), WHOLE.stored["signed_by"]
    assert signer.sign(key_id, signed_message(WHOLE.record.record_hash))
    with pytest.raises(CustodyError, match="no key"):
        signer.sign(key_id, b"something else")
