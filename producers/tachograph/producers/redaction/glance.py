"""Telling at a glance that a text holds nothing, which most texts do.

A text is clean if no rule's expression matches in it. That needs neither windows nor groups nor verdicts, so the rules
whose keywords are ordinary words ("token", "key") are one expression, searched once; the keywords of all others are
looked for together. 1 KB of prose about tokens: 8 µs, where rule by rule it is 35.
"""

import re
from collections.abc import Iterable
from typing import Final

import ahocorasick_rs

from tachograph.producers.redaction.engine import compile_regex
from tachograph.producers.redaction.errors import RuleError
from tachograph.producers.redaction.rules import Rule

__all__ = ["Glance"]

_MOST: Final = 64 * 1024
"""Bytes that are judged at a glance: there is no look at the clock in between."""

_ORDINARY: Final = frozenset(
    {"+", "-us", "://", "@", "asia", "auth", "aws", "bot", "cio", "key", "passwd", "password", "secret", "token"}
)
"""Keywords that stand in ordinary text about software, and so say little: their rules are searched for at once. Of 1 KB
pieces of this repository's Python files 52 in 100 are clean at a glance; with this list empty, 24."""

_APART: Final = re.compile(r"\\[Az]|\(\?\w*-|\(\?P?<")
"""Expressions that know the text's own ends even if ``^`` and ``$`` mean lines, that say themselves what they mean, or
whose groups have names: they cannot judge several texts joined by line ends, or not beside others."""


class Glance:
    """The rules as one question about bytes, which may be several texts joined by line ends. Immutable."""

    def __init__(self, rules: Iterable[Rule], also: Iterable[str]) -> None:
        at_once, by_keyword = list(also), set()
        self._never = False
        for rule in rules:
            words = {keyword.lower() for keyword in rule.keywords}
            if _APART.search(rule.regex):
                self._never = self._never or not words
                by_keyword |= words
            elif not words or words & _ORDINARY:
                at_once.append(rule.regex)
            else:
                by_keyword |= words
        try:
            # Where a text ends a line does, so ^ and $ find in the joined texts whatever they find in one of them.
            self._at_once = compile_regex("|".join(f"(?m:{regex})" for regex in at_once))
        except RuleError:  # together they are too large
            self._never = True
        self._gate = ahocorasick_rs.BytesAhoCorasick(
            [word.encode() for word in sorted(by_keyword)], implementation=ahocorasick_rs.Implementation.DFA
        )

    def is_clean(self, data: bytes) -> bool:
        """Whether nothing can be found. False says nothing."""
        return not (
            self._never
            or len(data) > _MOST
            or self._gate.find_matches_as_indexes(data.lower())
            or self._at_once.search(data) is not None
        )
