"""DangerousCommandHook: aborts shell commands that destroy, escalate or send out. The patterns are data."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from tachograph.producers.hooks.types import HookAction, HookMatcher, PreHookResult, ToolUseContext
from tachograph.schemas.errors import ConfigError

DEFAULT_FIELDS: Final = ("command", "cmd", "script", "code", "args", "argv")
_MOST_CHARACTERS: Final = 64 * 1024  # of a command that are looked at; a longer one is refused unread


@dataclass(frozen=True, slots=True)
class DangerousCommand:
    """One kind of dangerous command."""

    id: str
    pattern: re.Pattern[str]
    reason: str
    matches: tuple[str, ...] = ()
    """Samples that it must find; the tests run them."""
    passes: tuple[str, ...] = ()
    """Samples that it must not find."""


def read_patterns(text: str) -> tuple[DangerousCommand, ...]:
    """Patterns from TOML: tables ``[[command]]`` with ``id, pattern, reason, matches, passes``."""
    try:
        return tuple(
            DangerousCommand(
                item["id"],
                re.compile(item["pattern"]),
                item["reason"],
                tuple(item.get("matches", ())),
                tuple(item.get("passes", ())),
            )
            for item in tomllib.loads(text)["command"]
        )
    except (KeyError, re.error, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the command patterns cannot be read: {type(error).__name__}") from error


@cache
def default_patterns() -> tuple[DangerousCommand, ...]:
    """The patterns that ship with the package. The contract holds them: the stream judges by the same ones."""
    return read_patterns((files("tachograph.schemas") / "dangerous_commands.toml").read_text(encoding="utf-8"))


class DangerousCommandHook:
    """Looks at the fields of a tool's input that hold commands.

    A guard rail against accidents, not a sandbox: a shell has more ways to say a thing than patterns have.

    ::

        registry.register(DangerousCommandHook().matcher("shell*"))
    """

    def __init__(
        self,
        patterns: Iterable[DangerousCommand] | None = None,
        *,
        fields: tuple[str, ...] = DEFAULT_FIELDS,
        action: HookAction = HookAction.ABORT,
    ) -> None:
        self._patterns = default_patterns() if patterns is None else tuple(patterns)
        self._fields = fields
        self._action = action

    def matcher(self, pattern: str | None = None) -> HookMatcher:
        """The hook, for every tool unless told otherwise."""
        return HookMatcher(pattern=pattern, pre_hooks=(self.pre_hook,))

    def pre_hook(self, context: ToolUseContext) -> PreHookResult:
        """Refuse a dangerous command. The answer names the rule, never the command."""
        for command in commands_in(context.tool_input, self._fields):
            if len(command) > _MOST_CHARACTERS:
                return self._refuse("too_long", "a command too long to be judged")
            for known in self._patterns:
                if known.pattern.search(command):
                    return self._refuse(known.id, known.reason)
        return PreHookResult()

    def _refuse(self, rule: str, reason: str) -> PreHookResult:
        return PreHookResult(
            self._action, metadata={"violation": "dangerous_command", "rule": rule}, reason=f"{rule}: {reason}"
        )


def commands_in(tool_input: Any, fields: tuple[str, ...]) -> list[str]:
    """Commands in a tool's input: a text, or a list of words. An input that is a text is a command itself."""
    if isinstance(tool_input, str):
        return [tool_input]
    if not isinstance(tool_input, dict):
        return []
    found = []
    for field in fields:
        value = tool_input.get(field)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.append(" ".join(str(word) for word in value))
    return found
