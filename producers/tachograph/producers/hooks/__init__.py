from tachograph.producers.hooks.types import (
    HookAction,
    HookMatcher,
    HookRegistry,
    PostHookResult,
    PostToolHook,
    PreHookResult,
    PreToolHook,
    ToolUseContext,
)

__all__ = [
    "HookAction",
    "HookMatcher",
    "HookRegistry",
    "PostHookResult",
    "PostToolHook",
    "PreHookResult",
    "PreToolHook",
    "ToolUseContext",
]
