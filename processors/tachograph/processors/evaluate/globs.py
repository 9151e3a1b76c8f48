"""Globs over paths and names, compiled once: ``*`` stays within a folder, ``**`` does not."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

_REMEMBERED: Final = 1024
"""Names whose answer each matcher keeps; runs touch the same few files and tools over and over."""


def path_matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path matches one of the globs. A glob that ends in ``/`` means everything below."""
    return _remembering("|".join(_path_expression(glob) for glob in globs))


def name_matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Whether a name (tool, branch, host, agent) matches one of the globs; ``*`` matches any characters."""
    return _remembering("|".join("".join(".*" if c == "*" else re.escape(c) for c in _squeezed(g)) for g in globs))


def _remembering(expression: str) -> Callable[[str], bool]:
    compiled = re.compile(f"(?:{expression})\\Z", re.DOTALL)

    @lru_cache(maxsize=_REMEMBERED)
    def matches(text: str) -> bool:
        return compiled.match(text) is not None

    return matches


def _squeezed(glob: str) -> str:
    # Stars in a row mean one star, and each costs a backtracking step.
    return re.sub(r"\*+", "*", glob)


def _path_expression(glob: str) -> str:
    glob = glob.removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    parts = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?)", glob)
    meaning = {"**/": "(?:[^/]+/)*", "/**": "/.+", "**": "(?!/).+", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(meaning.get(part, re.escape(part)) for part in parts)
    # A path that climbs out of the workspace is within nothing.
    return rf"(?!\.\./){expression}"
