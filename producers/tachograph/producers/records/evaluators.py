"""Evaluators of a governed decision: each gives one score of the card, from what the run knows of itself.

Four come with the recorder, because the terms of the decision say what they are measured against. Utility is the
user's: nobody else knows what the outcome was for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from types import MappingProxyType
from typing import Any, Final

from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.records.pieces import Exact
from tachograph.schemas.enums import PolicyVerdict
from tachograph.schemas.models.terms import DecisionTerms
from tachograph.schemas.plan import PLAN_BUNDLE

_STEP: Final = Decimal("0.01")
_ONE: Final = Decimal(1)


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a decision was carried out, as evaluators see it."""

    terms: DecisionTerms
    used: Mapping[str, int | Decimal]
    """Tokens, tool_calls, wall_clock_ms; cost_usd_cents if it was said."""
    policy_decisions: tuple[Mapping[str, Any], ...]
    refused: int
    """Governed tools and plans that were refused."""


Evaluator = Callable[[Conduct], Exact]
"""Gives a score between 0 and 1, exact."""


def policy(conduct: Conduct) -> Decimal:
    """Share of the bundles that have spoken and did not deny."""
    spoken = {given["bundle_id"] for given in conduct.policy_decisions if given["bundle_id"] != PLAN_BUNDLE}
    denied = {given["bundle_id"] for given in conduct.policy_decisions if given["verdict"] == PolicyVerdict.DENY}
    asked = {bundle.id for bundle in conduct.terms.policies}
    heard = len(asked & (spoken - denied))
    return _ONE if heard == len(asked) else _share(heard, len(asked))


def latency(conduct: Conduct) -> Decimal:
    """1 within the time that the spec's budget gives; less by as much as it took longer."""
    return _within(conduct.terms.budget.wall_clock_ms, conduct.used["wall_clock_ms"])


def safety(conduct: Conduct) -> Decimal:
    """0 if the boundary had to refuse anything of this decision, else 1."""
    return Decimal(0) if conduct.refused else _ONE


def cost(conduct: Conduct) -> Decimal:
    """1 within the cost that the spec's budget gives; less by as much as it was more."""
    limit = conduct.terms.budget.cost_usd_cents
    if limit is not None and "cost_usd_cents" not in conduct.used:
        raise RecordRefusedError("cost", "was not said: call spent(cost_usd_cents=…) before, or give the score")
    return _within(limit, conduct.used.get("cost_usd_cents", 0))


SHIPPED: Final[Mapping[str, Evaluator]] = MappingProxyType(
    {"policy": policy, "latency": latency, "safety": safety, "cost": cost}
)


def _within(limit: int | Decimal | None, used: int | Decimal) -> Decimal:
    return _ONE if limit is None or used <= limit else _share(limit, used)


def _share(part: int | Decimal, whole: int | Decimal) -> Decimal:
    """Downwards, so that no score looks better than it is."""
    return (Decimal(part) / Decimal(whole)).quantize(_STEP, ROUND_DOWN) if part else Decimal(0)
