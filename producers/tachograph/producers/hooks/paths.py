"""PathScopeHook: keeps a tool's files inside a folder, by globs, after resolving ``..`` and symbolic links."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

from tachograph.producers.hooks.types import HookAction, HookMatcher, PreHookResult, ToolUseContext

DEFAULT_FIELDS: Final = (
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filename",
    "directory",
    "folder",
    "source",
    "destination",
    "target",
    "cwd",
)


class PathScopeHook:
    """Refuses paths outside of ``root``, paths that match a forbidden glob, and those that match no allowed one.

    Globs are relative to the root: ``*`` within a folder, ``**`` across folders. The path is judged as it is when the
    hook runs; a tool that follows a link made in between is beyond it.

    ::

        registry.register(PathScopeHook(".", allowed=["src/**"], forbidden=["**/.env"]).matcher("*file*"))
    """

    def __init__(
        self,
        root: str | Path = ".",
        *,
        allowed: Iterable[str] = ("**",),
        forbidden: Iterable[str] = (),
        fields: tuple[str, ...] = DEFAULT_FIELDS,
        action: HookAction = HookAction.ABORT,
    ) -> None:
        self._root = Path(root).resolve()
        self._allowed = tuple(allowed)
        self._forbidden = tuple(forbidden)
        self._fields = fields
        self._action = action

    def matcher(self, pattern: str | None = None) -> HookMatcher:
        """The hook, for every tool unless told otherwise."""
        return HookMatcher(pattern=pattern, pre_hooks=(self.pre_hook,))

    def pre_hook(self, context: ToolUseContext) -> PreHookResult:
        """Refuse a path out of scope. The answer names the rule, never the path."""
        for path in paths_in(context.tool_input, self._fields):
            rule = self.broken_rule(path)
            if rule is not None:
                return PreHookResult(
                    self._action, metadata={"violation": "path_out_of_scope", "rule": rule}, reason=rule
                )
        return PreHookResult()

    def broken_rule(self, path: str) -> str | None:
        """Which rule the path breaks; None if it is in scope."""
        try:
            resolved = (self._root / path).resolve()
        except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL, a name too long
            return "unresolvable_path"
        if not resolved.is_relative_to(self._root):
            return "outside_root"
        relative = resolved.relative_to(self._root).as_posix()
        if any(_glob(glob).fullmatch(relative) for glob in self._forbidden):
            return "forbidden_path"
        if not any(_glob(glob).fullmatch(relative) for glob in self._allowed):
            return "not_allowed_path"
        return None


def paths_in(tool_input: Any, fields: tuple[str, ...]) -> list[str]:
    """Paths in a tool's input: texts and paths, alone or in lists."""
    if not isinstance(tool_input, dict):
        return []
    found: list[str] = []
    for field in fields:
        value = tool_input.get(field)
        listed = value if isinstance(value, (list, tuple)) else (value,)
        found += [str(item) for item in listed if isinstance(item, (str, Path))]
    return found


@cache
def _glob(glob: str) -> re.Pattern[str]:
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob):
        match piece:
            case "**/":
                parts.append(r"(?:[^/]+/)*")
            case "**":
                parts.append(r".*")
            case "*":
                parts.append(r"[^/]*")
            case "?":
                parts.append(r"[^/]")
            case _:
                parts.append(re.escape(piece))
    return re.compile("".join(parts), re.DOTALL)
