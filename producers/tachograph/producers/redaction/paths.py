"""Files whose content is never stored."""

import fnmatch
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tachograph.producers.redaction.rules import PathNames

if TYPE_CHECKING:
    from tachograph.producers.redaction.engine import Regex

__all__ = ["path_test"]

_TAIL: Final = 4096  # characters of a path that are looked at: PATH_MAX


def path_test(names: PathNames) -> Callable[[str], bool]:
    """Return a test that tells whether content of the file at a path is to be dropped."""
    dropped, kept = _any_of(names.globs), _any_of(names.exceptions)
    regexes = _compiled(names.regexes)

    def is_secret(path: str) -> bool:
        path = path[-_TAIL:]
        # The same file in any spelling: C:\x\.ENV, ./x/.env, file:///x/.env
        normal = "/" + path.strip().replace("\\", "/").removeprefix("file://").lower().lstrip("/")
        if dropped.search(normal) and not kept.search(normal):
            return True
        data = path.encode("utf-8", "replace")
        return any(regex.search(data) for regex in regexes)

    return is_secret


def _any_of(globs: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all globs; each is anchored at a slash, so it covers the last segments whole."""
    if not globs:
        return re.compile(r"(?!)")
    return re.compile("|".join("/" + fnmatch.translate(glob.lower().lstrip("/")) for glob in globs))


def _compiled(regexes: tuple[str, ...]) -> list["Regex"]:
    if not regexes:
        return []
    from tachograph.producers.redaction.engine import compile_regex  # noqa: PLC0415 - brings RE2

    return [compile_regex(regex) for regex in regexes]
