"""Unified diffs: made from two texts, counted, and taken apart by file. Pure functions."""

import difflib
import re
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["LineCounts", "count_lines", "unified", "without_files"]

_MAX_PAIRS: Final = 4_000_000
"""Pairs of lines up to which difflib is asked: it is quadratic, and 2,000 by 2,000 lines take about a second."""

_CONTEXT: Final = 3
_GIT_SECTION: Final = re.compile(r"^(?=diff --git )", re.MULTILINE)
_PLAIN_SECTION: Final = re.compile(r"^(?=--- [^\n]*\n\+\+\+ )", re.MULTILINE)
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_GIT_NAMES: Final = re.compile(r'diff --git "?a/(.*?)"? "?b/(.*?)"?$', re.MULTILINE)
_FILE_NAMES: Final = re.compile(r"^(?:---|\+\+\+|rename from|rename to|copy from|copy to) ([^\n\t]+)", re.MULTILINE)


class LineCounts(NamedTuple):
    """Lines a diff adds and removes."""

    added: int
    removed: int


def unified(path: str, before: str, after: str) -> str:
    """Return the unified diff between two texts of a file; empty if they are equal."""
    if before == after:
        return ""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) * len(new) <= _MAX_PAIRS:
        lines = list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=_CONTEXT))
    else:
        lines = _one_hunk(path, old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _one_hunk(path: str, old: list[str], new: list[str]) -> list[str]:
    """Diff large texts in linear time: everything between the first and the last difference is one hunk."""
    shortest = min(len(old), len(new))
    head = next((index for index in range(shortest) if old[index] != new[index]), shortest)
    rest = shortest - head
    tail = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    start = max(0, head - _CONTEXT)
    kept = old[len(old) - tail : len(old) - tail + _CONTEXT]
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    context = head - start + len(kept)
    return [
        f"--- a/{path}\n",
        f"+++ b/{path}\n",
        f"@@ -{start + 1},{context + len(removed)} +{start + 1},{context + len(added)} @@\n",
        *(f" {line}" for line in old[start:head]),
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in kept),
    ]


def count_lines(diff: str) -> LineCounts:
    """Count by the hunks' own headers, so that a changed line that looks like a header still counts."""
    added = removed = old_left = new_left = 0
    for line in diff.split("\n"):
        if old_left <= 0 and new_left <= 0:
            hunk = _HUNK.match(line)
            if hunk:
                old_left, new_left = (1 if size is None else int(size) for size in hunk.groups())
        elif line.startswith("+"):
            added, new_left = added + 1, new_left - 1
        elif line.startswith("-"):
            removed, old_left = removed + 1, old_left - 1
        elif not line.startswith("\\"):
            old_left, new_left = old_left - 1, new_left - 1
    return LineCounts(added, removed)


def without_files(diff: str, is_secret: Callable[[str], bool], marker: str) -> str:
    """Return the diff with the changes of secret files replaced by a marker; their names stay."""
    sections = (_GIT_SECTION if _GIT_SECTION.search(diff) else _PLAIN_SECTION).split(diff)
    return "".join(
        f"{section.partition(chr(10))[0]}\n{marker}\n" if any(map(is_secret, _names(section))) else section
        for section in sections
    )


def _names(section: str) -> list[str]:
    """Names of the files a section is about: from its head only, since content may look like anything."""
    head = section.partition("\n@@ ")[0]
    names = [name for match in _GIT_NAMES.finditer(head) for name in match.groups()]
    names += (match[1].strip().strip('"').removeprefix("a/").removeprefix("b/") for match in _FILE_NAMES.finditer(head))
    return names
