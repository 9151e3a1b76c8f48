"""How a tracer behaves, apart from what it is connected to."""

from dataclasses import dataclass
from typing import Final, Literal

from tachograph.schemas.errors import ConfigError

DEFAULT_HOOK_TIMEOUT: Final = 10.0
DEFAULT_LOOP_THRESHOLD: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TracerOptions:
    """Options of a tracer. Times are in seconds."""

    manifests: Literal["every_step", "explicit"] = "every_step"
    """``every_step``: a step for which no context manifest was recorded gets one when it ends, made from its last
    prompt; a manifest that cannot be kept stops the run. ``explicit``: only manifests that the agent records."""

    full_capture_in: frozenset[str] = frozenset({"local", "ci", "staging", "unknown"})
    """Environments in which capture mode ``full`` is allowed: those you control. Production is not among them; a
    tracer that asks for it there is refused."""

    loop_threshold: int = DEFAULT_LOOP_THRESHOLD
    """Identical tool calls in one run that are still no loop."""

    sample_prompts: int = 0
    """Capture one in this many prompts, encrypted, without a fault. 0: none."""

    hook_timeout: float | None = DEFAULT_HOOK_TIMEOUT
    """Longest an async hook may take; None waits for ever. A plain function cannot be interrupted: wrap one that may
    hang in ``tachograph.producers.hooks.threads.in_thread``."""

    tool_timeout: float | None = None
    """Longest an async tool may take; None waits for ever."""

    on_hook_error: Literal["continue", "abort"] = "continue"
    """What a hook's own failure means for the call. It is recorded either way."""

    exit_timeout: float = 2.0
    """How long ``Tracer.close`` waits for the broker unless told otherwise."""

    def __post_init__(self) -> None:
        if self.manifests not in {"every_step", "explicit"}:
            raise ConfigError("manifests must be every_step or explicit")
        if self.on_hook_error not in {"continue", "abort"}:
            raise ConfigError("on_hook_error must be continue or abort")
        if self.loop_threshold < 1 or self.sample_prompts < 0:
            raise ConfigError("loop_threshold must be at least 1, sample_prompts at least 0")
