"""Bodies of AgentDecision and AgentQualitySignal: codes, names and numbers, no prose."""

from collections.abc import Iterable, Mapping
from typing import Any

from tachograph.producers import checks
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.recorder import Recorder
from tachograph.schemas.enums import REASON_CODES, SIGNAL_CODES, DecisionType, SignalType


def decision_body(
    recorder: Recorder,
    *,
    decision_type: DecisionType | str,
    selected: str,
    reason_code: str,
    candidates: Iterable[str],
    confidence: float | None,
    step_id: str | None,
    metadata: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """A choice between options."""
    kind = checks.member("decision_type", decision_type, DecisionType)
    return {
        "decision_id": recorder.ids.uuid(),
        "step_id": step_id,
        "decision_type": kind.value,
        "selected": checks.name("selected", selected, recorder.label, 200),
        "reason_code": checks.code("reason_code", reason_code, REASON_CODES[kind], kind.value),
        "candidates": checks.names("candidates", candidates, recorder.label, 200),
        "confidence": checks.fraction("confidence", confidence),
        "metadata": recorder.metadata(metadata),
    }


def signal_body(
    recorder: Recorder,
    *,
    signal_type: SignalType | str,
    signal_code: str,
    value: bool,
    weight: float | None,
    step_id: str | None,
    metadata: Mapping[str, Any] | None,
    record_id: str | None = None,
) -> dict[str, Any]:
    """A fact correlated with the quality of an outcome."""
    kind = checks.member("signal_type", signal_type, SignalType)
    if not isinstance(value, bool):
        raise RecordRefusedError("value", "is true or false")
    return {
        "signal_id": recorder.ids.uuid(),
        "step_id": step_id,
        "signal_type": kind.value,
        "signal_code": checks.code("signal_code", signal_code, SIGNAL_CODES[kind], kind.value),
        "value": value,
        "weight": checks.fraction("weight", weight),
        "metadata": recorder.metadata(metadata),
        "record_id": checks.maybe_name(record_id, recorder.label),
    }
