"""DecisionTerms: what a decision must have before it is carried out, pinned from the catalog, shipped as data.

The sealer judges by the catalog. An agent has no catalog: it gets the terms of the decisions it makes, one file each,
written by ``tachograph catalog terms``. Their hash is in every record that was checked by them.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tachograph.schemas.canonical import sealed_bytes, sha256_hex
from tachograph.schemas.enums import ApprovalMode
from tachograph.schemas.models.base import Count, ExactDecimal, Frozen, Identifier, Timestamp
from tachograph.schemas.models.record import ControlsActive

ScoreName = Literal["policy", "utility", "latency", "safety", "cost"]


class RequiredEvidence(Frozen):
    """A fact without which the decision may not be made."""

    name: Identifier
    """What it proves, in a word or two."""
    pattern: Identifier
    """Glob over evidence references, such as ``tool:orders.lookup:*``."""
    max_age_seconds: Count | None = None
    """Older than this, by the broker's time of the proposal, it is stale. Empty: age does not matter."""


class ApprovalRule(Frozen):
    """How much authority the decision needs, and where it is given."""

    mode: ApprovalMode
    """Mode of the decision itself; that of its tools may be higher."""
    gate_from: ApprovalMode = ApprovalMode.DESTRUCTIVE
    """Least mode that needs every gate."""
    gates: tuple[Identifier, ...] = ()

    @model_validator(mode="after")
    def _gates_are_named(self) -> "ApprovalRule":
        if self.mode is not ApprovalMode.NONE and self.mode is self.gate_from and not self.gates:
            raise ValueError("this mode needs a gate, and none is named")
        return self


class BudgetLimits(Frozen):
    """The most that a run may have used when the decision is carried out. Empty: no limit."""

    tokens: Count | None = None
    tool_calls: Count | None = None
    cost_usd_cents: ExactDecimal | None = None
    wall_clock_ms: Count | None = None


class BundleTerms(Frozen):
    """A policy bundle in one version."""

    id: Identifier
    version: Identifier
    active_from: Timestamp
    active_until: Timestamp | None = None
    rule_ids: tuple[Identifier, ...]


class DecisionTerms(Frozen):
    """A decision spec with the documents around it, as far as they matter before execution."""

    format: Literal["tachograph.terms/1"] = "tachograph.terms/1"
    decision_key: Identifier
    decision_version: Identifier
    allowed_outcomes: tuple[Identifier, ...]
    outcome_field: Identifier
    required_evidence: tuple[RequiredEvidence, ...]
    approval: ApprovalRule
    policies: tuple[BundleTerms, ...]
    """Bundles that must have spoken, each in the version that counts."""
    governed_tools: tuple[str, ...]
    """Globs over the tools that carry the decision out."""
    tools: tuple[str, ...]
    """Globs over the tools of the context pack: nothing else may be used."""
    budget: BudgetLimits
    controls: ControlsActive
    """What the context pack compiles in."""
    pack_version: Identifier
    model_profile: Identifier
    evaluator_suite: Identifier
    minimum: dict[ScoreName, ExactDecimal]
    """Scores below which the record counts as failed."""
    pins: Annotated[tuple[str, ...], Field(min_length=1)]
    """Kind, reference and hash of every document the terms were taken from."""

    @property
    def hash(self) -> str:
        """Hash of exactly these terms."""
        return "sha256:" + sha256_hex(sealed_bytes(self.model_dump(mode="json")))
