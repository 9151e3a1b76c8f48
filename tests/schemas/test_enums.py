"""Every closed set of values is exactly the required one."""

from enum import StrEnum

import pytest

from tachograph.schemas import enums
from tachograph.schemas.enums import REASON_CODES, SIGNAL_CODES, DecisionType, SignalType


@pytest.mark.parametrize(
    ("enum", "values"),
    [
        pytest.param(enums.Environment, "local ci staging prod unknown", id="environment"),
        pytest.param(enums.ConstraintType, "style safety format scope other", id="constraint type"),
        pytest.param(enums.Provider, "openai anthropic other", id="provider"),
        pytest.param(enums.CaptureMode, "full redacted hashed", id="capture mode"),
        pytest.param(
            enums.ActionType,
            "plan edit run_tests command open_pr merge deploy api_call message no_op override other",
            id="action type",
        ),
        pytest.param(enums.ArtifactType, "file_edit command test_run pr commit diff", id="artifact type"),
        pytest.param(enums.TransformationType, "template rewrite summarize other", id="transformation type"),
        pytest.param(enums.EvaluationStatus, "pass warn fail unknown", id="evaluation status"),
        pytest.param(enums.HookAction, "continue skip abort", id="hook action"),
        pytest.param(
            enums.ContextItemType, "user_input tool_output memory evidence policy summary", id="context item type"
        ),
        pytest.param(
            enums.DecisionType,
            "tool_selection retrieval_strategy response_mode retry_strategy orchestration_path",
            id="decision type",
        ),
        pytest.param(
            enums.SignalType,
            "schema_valid empty_retrieval tool_success tool_failure retry_occurred latency_threshold token_usage "
            "privacy_rejected user_feedback",
            id="signal type, and our own privacy_rejected and user_feedback",
        ),
        pytest.param(
            enums.RecordStatus, "DECIDED DEFERRED REJECTED ESCALATED IN_FLIGHT CLOSED", id="status of a record"
        ),
        pytest.param(
            enums.ValidationRule, "schema evidence policy approval controls lineage trace seal", id="validation rule"
        ),
        pytest.param(
            enums.ReplayStatus,
            "not_replayed replay_equal changed_evidence changed_policy changed_tool_transcript "
            "changed_compiled_context changed_scorecard tamper_detected",
            id="replay status",
        ),
    ],
)
def test_values(enum: type[StrEnum], values: str) -> None:
    """No value is missing, and none was added without a word."""
    assert {member.value for member in enum} == set(values.split())


@pytest.mark.parametrize(
    ("decision_type", "codes"),
    [
        pytest.param(
            DecisionType.TOOL_SELECTION,
            "fresh_data_required cached_data_sufficient cost_optimization latency_optimization",
            id="tool selection",
        ),
        pytest.param(
            DecisionType.RETRY_STRATEGY,
            "rate_limit_encountered transient_error timeout_exceeded max_retries_reached",
            id="retry strategy",
        ),
        pytest.param(
            DecisionType.RESPONSE_MODE, "streaming_preferred batch_preferred token_limit_exceeded", id="response mode"
        ),
    ],
)
def test_reason_codes(decision_type: DecisionType, codes: str) -> None:
    """The reasons an agent may give, by type of decision."""
    assert REASON_CODES[decision_type] == set(codes.split())


@pytest.mark.parametrize(
    ("signal_type", "codes"),
    [
        pytest.param(SignalType.SCHEMA_VALID, "full_match partial_match validation_failed", id="schema valid"),
        pytest.param(SignalType.EMPTY_RETRIEVAL, "no_results empty_response", id="empty retrieval"),
        pytest.param(SignalType.TOOL_SUCCESS, "first_attempt after_retry fallback_used", id="tool success"),
        pytest.param(SignalType.TOOL_FAILURE, "rate_limited timeout invalid_input unauthorized", id="tool failure"),
        pytest.param(SignalType.RETRY_OCCURRED, "single_retry multiple_retries", id="retry occurred"),
        pytest.param(SignalType.LATENCY_THRESHOLD, "under_threshold over_threshold", id="latency threshold"),
        pytest.param(SignalType.TOKEN_USAGE, "within_budget over_budget", id="token usage"),
    ],
)
def test_signal_codes(signal_type: SignalType, codes: str) -> None:
    """The facts a signal may state, by type of signal."""
    assert SIGNAL_CODES[signal_type] == set(codes.split())
