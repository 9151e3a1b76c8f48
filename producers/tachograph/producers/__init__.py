"""Tachograph inside the agent. Names are loaded when they are first used, so that importing this costs little."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tachograph.producers.attribution import (
        AttributionScope,
        ContextThreadPoolExecutor,
        ExecutionContext,
        carry_context,
        get_current_context,
    )
    from tachograph.producers.audit import AuditTrail
    from tachograph.producers.capture import CapturePolicy
    from tachograph.producers.errors import HookAbortError, PlanRefusedError, RecorderStop, SystemErrorStop
    from tachograph.producers.hooks.types import (
        HookAction,
        HookMatcher,
        HookRegistry,
        PostHookResult,
        PreHookResult,
        ToolUseContext,
    )
    from tachograph.producers.json_lines import JsonLinesPublisher
    from tachograph.producers.options import TracerOptions
    from tachograph.producers.position import current_run
    from tachograph.producers.records import GovernedDecision, PlannedDecision, artifact_ref, load_terms, tool_ref
    from tachograph.producers.run import Run
    from tachograph.producers.step import Step
    from tachograph.producers.tools.executor import ToolExecutor
    from tachograph.producers.tracer import Tracer

__all__ = [
    "AttributionScope",
    "AuditTrail",
    "CapturePolicy",
    "ContextThreadPoolExecutor",
    "ExecutionContext",
    "GovernedDecision",
    "HookAbortError",
    "HookAction",
    "HookMatcher",
    "HookRegistry",
    "JsonLinesPublisher",
    "PlanRefusedError",
    "PlannedDecision",
    "PostHookResult",
    "PreHookResult",
    "RecorderStop",
    "Run",
    "Step",
    "SystemErrorStop",
    "ToolExecutor",
    "ToolUseContext",
    "Tracer",
    "TracerOptions",
    "artifact_ref",
    "carry_context",
    "current_run",
    "get_current_context",
    "load_terms",
    "tool_ref",
]

_HOME: Final = {
    "AttributionScope": "attribution",
    "AuditTrail": "audit",
    "CapturePolicy": "capture",
    "ContextThreadPoolExecutor": "attribution",
    "ExecutionContext": "attribution",
    "GovernedDecision": "records",
    "HookAbortError": "errors",
    "HookAction": "hooks.types",
    "HookMatcher": "hooks.types",
    "HookRegistry": "hooks.types",
    "JsonLinesPublisher": "json_lines",
    "PlanRefusedError": "errors",
    "PlannedDecision": "records",
    "PostHookResult": "hooks.types",
    "PreHookResult": "hooks.types",
    "RecorderStop": "errors",
    "Run": "run",
    "Step": "step",
    "SystemErrorStop": "errors",
    "ToolExecutor": "tools.executor",
    "ToolUseContext": "hooks.types",
    "Tracer": "tracer",
    "TracerOptions": "options",
    "artifact_ref": "records",
    "carry_context": "attribution",
    "current_run": "position",
    "get_current_context": "attribution",
    "load_terms": "records",
    "tool_ref": "records",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
