"""The six kinds of document a catalog holds."""

import re
from typing import Annotated, Any, Final, Literal

from jsonschema import Draft202012Validator, SchemaError
from pydantic import AfterValidator, Field, model_validator

from tachograph.schemas.enums import PolicyVerdict
from tachograph.schemas.models.base import ExactDecimal, Frozen, Identifier, JsonObject, Timestamp
from tachograph.schemas.models.record import ControlsActive
from tachograph.schemas.models.terms import ApprovalRule, BudgetLimits, RequiredEvidence, ScoreName
from tachograph.schemas.proofs.keys import KeyEntry, KeySet, KeySetError

_VERSION: Final = r"^\d+\.\d+\.\d+$"


def _json_schema(value: dict[str, Any]) -> dict[str, Any]:
    try:
        Draft202012Validator.check_schema(value)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "the top"
        raise ValueError(f"not a JSON Schema (2020-12), at {place}") from None
    if "$ref" in str(value) and re.search(r"'\$(?:dynamicR|r)ef': '[^#]", str(value)):
        raise ValueError("a $ref leads out of this document: a schema must be whole, or its hash pins nothing")
    return value


Version = Annotated[str, Field(pattern=_VERSION)]
"""Three numbers. A published version is never changed: give it the next one."""


class Titled(Frozen):
    """What every document carries."""

    version: Version
    title: str = ""
    """One line for people."""


class DecisionSpec(Titled):
    """What may be decided, and what it must stand on."""

    kind: Literal["decision_spec"]
    key: Identifier
    allowed_outcomes: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    outcome_field: Identifier = "outcome"
    """Member of the outputs that holds the outcome."""
    output_schema: Annotated[JsonObject, AfterValidator(_json_schema)]
    required_evidence: tuple[RequiredEvidence, ...] = ()
    approval: ApprovalRule
    policies: tuple[Identifier, ...] = ()
    """Bundles that must have said something. Empty: the decision is not governed by policy."""
    tools: tuple[str, ...] = ()
    """Globs over the tools that carry the decision out. They are not executed before the plan is checked."""
    budget: BudgetLimits = BudgetLimits()
    """The most that a run may have used when it carries the decision out."""
    plan: Literal["optional", "required"] = "optional"
    """Whether a record may take effect without a plan that was checked before execution."""

    @property
    def name(self) -> str:
        """Name within the catalog."""
        return self.key


class PolicyRule(Frozen):
    """A rule of a bundle, by name. Its text lives where it is enforced."""

    id: Identifier
    title: str = ""
    verdicts: Annotated[tuple[PolicyVerdict, ...], Field(min_length=1)]
    """What it can say."""


class Named(Titled):
    """A document with an id."""

    id: Identifier

    @property
    def name(self) -> str:
        """Name within the catalog."""
        return self.id


class PolicyBundle(Named):
    """Rules under one version, in force for a time."""

    kind: Literal["policy_bundle"]
    active_from: Timestamp
    active_until: Timestamp | None = None
    """The first moment at which it is no longer in force."""
    rules: Annotated[tuple[PolicyRule, ...], Field(min_length=1)]

    @property
    def rule_ids(self) -> frozenset[str]:
        """Names of its rules."""
        return frozenset(rule.id for rule in self.rules)

    @model_validator(mode="after")
    def _window_is_open(self) -> "PolicyBundle":
        if self.active_until is not None and self.active_until <= self.active_from:
            raise ValueError("active_until must be after active_from")
        return self


class ContextPack(Named):
    """What a context may be made of, and the controls that are compiled into it."""

    kind: Literal["context_pack"]
    decisions: tuple[Identifier, ...]
    """Keys of the decisions that may be made with it."""
    controls: ControlsActive = ControlsActive()
    tools: tuple[str, ...] = ()
    """Globs over the tools that take part."""


class ModelProfile(Named):
    """Models that may be asked, and how."""

    kind: Literal["model_profile"]
    models: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    parameters: JsonObject = Field(default_factory=dict)


class EvaluatorSuite(Named):
    """Evaluators, and the scores below which a record counts as failed."""

    kind: Literal["evaluator_suite"]
    evaluators: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    minimum: dict[ScoreName, ExactDecimal] = Field(default_factory=dict)


class KeySetDocument(Named):
    """Public keys that may seal, each with its window."""

    kind: Literal["key_set"]
    keys: Annotated[tuple[KeyEntry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _keys_hold(self) -> "KeySetDocument":
        try:
            KeySet(self.keys)
        except KeySetError as error:
            raise ValueError(str(error)) from None
        return self


AnyDocument = DecisionSpec | PolicyBundle | ContextPack | ModelProfile | EvaluatorSuite | KeySetDocument

KINDS: Final[dict[str, type[AnyDocument]]] = {
    "decision_spec": DecisionSpec,
    "policy_bundle": PolicyBundle,
    "context_pack": ContextPack,
    "model_profile": ModelProfile,
    "evaluator_suite": EvaluatorSuite,
    "key_set": KeySetDocument,
}
