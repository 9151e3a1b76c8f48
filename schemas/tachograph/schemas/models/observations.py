"""AgentDecision and AgentQualitySignal: structured observations, codes instead of prose."""

from typing import Annotated

from pydantic import Field, model_validator

from tachograph.schemas.enums import REASON_CODES, SIGNAL_CODES, DecisionType, SignalType
from tachograph.schemas.models.base import Fraction, Identifier, Metadata, Record, UuidText


class AgentDecision(Record):
    """A point where the agent chose between options."""

    decision_id: UuidText
    step_id: Identifier | None = None
    decision_type: DecisionType
    selected: Annotated[str, Field(min_length=1, max_length=200)]
    reason_code: Annotated[str, Field(min_length=1, max_length=100)]
    candidates: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = ()
    confidence: Fraction | None = None
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="after")
    def _code_belongs_to_type(self) -> "AgentDecision":
        allowed = REASON_CODES[self.decision_type]
        if self.reason_code not in allowed:
            raise ValueError(f"reason codes of {self.decision_type.value} are {', '.join(sorted(allowed))}")
        return self


class AgentQualitySignal(Record):
    """An atomic fact correlated with the quality of an outcome."""

    signal_id: UuidText
    step_id: Identifier | None = None
    signal_type: SignalType
    signal_code: Annotated[str, Field(min_length=1, max_length=100)]
    value: bool
    weight: Fraction | None = None
    metadata: Metadata = Field(default_factory=dict)
    record_id: Identifier | None = None
    """Decision record that the fact is about: what was decided then, this run says now."""

    @model_validator(mode="after")
    def _code_belongs_to_type(self) -> "AgentQualitySignal":
        allowed = SIGNAL_CODES[self.signal_type]
        if self.signal_code not in allowed:
            raise ValueError(f"signal codes of {self.signal_type.value} are {', '.join(sorted(allowed))}")
        return self
