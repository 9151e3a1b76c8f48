"""What is looked for, as data: rules as they come from TOML files, before anything is compiled."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tachograph.producers.redaction.scan import Scanner

__all__ = ["DEFAULT_RULES", "KEY_RULE", "PATH_RULE", "Allowlist", "Rule", "RulePack", "default_pack", "load_rules"]

DEFAULT_RULES: Final = Path(__file__).with_name("rules") / "default.toml"
"""The rules that ship with the package."""

KEY_RULE: Final = "key-name"
"""Rule id of values that were dropped because of the name they stand under."""

PATH_RULE: Final = "path"
"""Rule id of members that were dropped because of the file they belong to."""


class Target(StrEnum):
    """What an allowlist's expressions are tried on."""

    SECRET = "secret"  # noqa: S105 - gitleaks' own word
    MATCH = "match"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Allowlist:
    """Findings that are none. Any entry suffices, unless `all_of` is set: then one of every kind that is given."""

    regexes: tuple[str, ...] = ()
    stopwords: tuple[str, ...] = ()
    """Lower-case texts; a secret that contains one is none."""
    paths: tuple[str, ...] = ()
    """Expressions on the path of the file that the text came from, where it is known."""
    target: Target = Target.SECRET
    all_of: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for in text."""

    id: str
    description: str
    regex: str
    """RE2 syntax. What is replaced is `secret_group`, else the first group that took part, else the whole match."""
    keywords: tuple[str, ...] = ()
    """Lower-case texts, one of which any match has in it or near it. Without keywords the rule is tried on all text."""
    secret_group: int = 0
    entropy: float = 0.0
    """Least bits per byte of the secret, by Shannon's measure; 0 is no limit."""
    path: str = ""
    """Expression on the file's path outside of which the rule does not apply. An unknown path is no reason to skip."""
    validator: str = ""
    """Name of a check beyond the expression: luhn, iban or jwt."""
    label: str = ""
    """What the placeholder says instead of the rule's id."""
    window: int = 0
    """Bytes around a keyword within which a match begins and ends, or after which only its repeated tail goes on.
    0: unknown, so the whole text is searched."""
    allowlists: tuple[Allowlist, ...] = ()
    match: tuple[str, ...] = ()
    """Samples that must be found, in the sample syntax."""
    no_match: tuple[str, ...] = ()
    """Samples that must be left alone."""

    @property
    def placeholder(self) -> str:
        """What stands in the text instead of the secret."""
        return f"[REDACTED:{self.label or self.id}]"


@dataclass(frozen=True, slots=True)
class KeyNames:
    """Names under which a value is dropped whatever it looks like. Compared without case, `_`, `-`, `.` and blanks."""

    endings: tuple[str, ...] = ()
    """The name ends with one of these: ``db_password`` ends with ``password``."""
    exact: tuple[str, ...] = ()
    """The name is one of these."""
    headers: tuple[str, ...] = ()
    """Names whose value in text is the rest of the line."""
    harmless: tuple[str, ...] = ()
    """Expressions for whole values that no secret looks like: ``null``, ``${VARIABLE}``. Text only."""


@dataclass(frozen=True, slots=True)
class PathNames:
    """Files whose content is dropped whole."""

    globs: tuple[str, ...] = ()
    """With a slash: compared with the end of the path; without: with the file's name. Case does not matter."""
    exceptions: tuple[str, ...] = ()
    """Globs of files that are kept although `globs` names them."""
    regexes: tuple[str, ...] = ()
    """RE2 expressions on the whole path: gitleaks' rules that have a path and no regex."""
    keys: tuple[str, ...] = ()
    """Names of members that say which file the other members of an object are about."""


@dataclass(frozen=True, eq=False)
class RulePack:
    """An ordered set of rules. Where findings overlap, the earlier rule names the placeholder."""

    rules: tuple[Rule, ...] = field(repr=False)
    keys: KeyNames = field(default=KeyNames(), repr=False)
    paths: PathNames = field(default=PathNames(), repr=False)
    allowlists: tuple[Allowlist, ...] = field(default=(), repr=False)
    """For findings of every rule."""

    @staticmethod
    def load(*paths: str | Path) -> "RulePack":
        """Read rule files, ours or gitleaks', into one pack. Raises RuleError that names the file and the rule."""
        from tachograph.producers.redaction.load import load_pack  # noqa: PLC0415 - tomllib is 25 ms nobody else needs

        return load_pack([Path(path) for path in paths])

    @staticmethod
    def default() -> "RulePack":
        """The pack that ships with the package, read once in a process."""
        return default_pack()

    @functools.cached_property
    def scanner(self) -> "Scanner":
        """The compiled content rules; compiled when they are first asked for, once for all redactors of the pack."""
        from tachograph.producers.redaction.scan import Scanner  # noqa: PLC0415 - brings RE2 and Aho-Corasick

        return Scanner(self)

    @functools.cached_property
    def is_secret_name(self) -> Callable[[str], bool]:
        """Whether the value under a name is dropped whatever it looks like."""
        from tachograph.producers.redaction.keys import name_test  # noqa: PLC0415 - keys.py knows this module

        return name_test(self.keys)

    @functools.cached_property
    def path_keys(self) -> frozenset[str]:
        """Names of members that say which file the other members of an object are about."""
        return frozenset(self.paths.keys)

    @functools.cached_property
    def is_secret_path(self) -> Callable[[str], bool]:
        """Whether content of the file at a path is dropped whole."""
        from tachograph.producers.redaction.paths import path_test  # noqa: PLC0415 - paths.py knows this module

        return path_test(self.paths)


@functools.cache
def default_pack() -> RulePack:
    """Return the pack that ships with the package, read once in a process."""
    return RulePack.load(DEFAULT_RULES)


def load_rules(*paths: str | Path, with_default: bool = True) -> RulePack:
    """Read the user's rule files on top of the default rules, or alone."""
    files: Sequence[str | Path] = (*paths, DEFAULT_RULES) if with_default else paths
    return RulePack.load(*files)
