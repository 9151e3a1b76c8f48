"""Finding secrets in bytes: one pass for the keywords of all rules, then RE2 only where a keyword was seen.

Everything works on UTF-8 bytes; offsets are bytes. RE2 takes linear time on any input but has no timeout, so a deadline
is checked between chunks, rules and matches, and the caller bounds the size of the input.
"""

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

import ahocorasick_rs
import re2

from tachograph.producers.redaction.errors import RuleError
from tachograph.producers.redaction.rules import Allowlist, Rule, RulePack, Target
from tachograph.producers.redaction.validators import VALIDATORS, entropy

__all__ = ["Deadline", "Engine", "Span", "Timeout", "compile_regex", "merge"]

_CHUNK: Final = 64 * 1024
"""Bytes between two looks at the clock in the keyword pass; bounds the memory of its hits too (about 10 MB)."""

_ENTROPY_BYTES: Final = 4096
"""Bytes of a secret that its entropy is taken of: one of megabytes would take the better part of a second."""

_ANCHORS: Final = ("^", "$", r"\A", r"\z")


class Timeout(Exception):  # noqa: N818 - not an error of anybody
    """The deadline has passed."""


class Deadline:
    """Processor time of this thread after which work is given up.

    By the wall, a busy machine would drop harmless content: a thread that waits for its turn has done nothing wrong.
    """

    __slots__ = ("_expires",)

    def __init__(self, seconds: float) -> None:
        self._expires = time.thread_time() + seconds

    def check(self) -> None:
        """Raise Timeout if the time is spent."""
        if time.thread_time() > self._expires:
            raise Timeout


class Span(NamedTuple):
    """Bytes to replace. `rule` is the place of the rule in its pack."""

    start: int
    end: int
    rule: int


class Regex(Protocol):
    """The part of RE2's compiled expression that is used."""

    groups: int

    def search(self, text: bytes, pos: int | None = None, endpos: int | None = None) -> Any:
        """First match between two offsets; what lies outside still counts as context."""


def compile_regex(regex: str) -> Regex:
    """Compile for UTF-8 bytes. Raises RuleError that says what RE2 does not take."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Regex = re2.compile(regex.encode(), options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise RuleError(f"RE2 does not take the expression: {reason}") from None
    return compiled


class _Compiled:
    """A rule with its expressions compiled."""

    def __init__(self, rule: Rule, shared: tuple[Allowlist, ...]) -> None:
        self.rule = rule
        self.regex = compile_regex(rule.regex)
        self._groups = range(1, self.regex.groups + 1)
        self.path = compile_regex(rule.path) if rule.path else None
        self.validator = VALIDATORS[rule.validator] if rule.validator else None
        self.allowed = [_Allowed(allowlist) for allowlist in (*rule.allowlists, *shared)]

    def secret(self, match: Any) -> tuple[int, int]:
        """Where the secret is in a match."""
        if self.rule.secret_group:
            span: tuple[int, int] = match.span(self.rule.secret_group)
            return span
        for group in self._groups:
            start, end = match.span(group)
            if end > start:
                return start, end
        whole: tuple[int, int] = match.span()
        return whole

    def accepts(self, data: bytes, match: Any, start: int, end: int, path: str | None) -> bool:
        """Whether what the expression found is a secret after all."""
        secret = data[start:end]
        if self.rule.entropy and entropy(secret[:_ENTROPY_BYTES]) <= self.rule.entropy:
            return False
        if self.validator is not None and not self.validator(secret):
            return False
        return not any(allowed.covers(data, match, secret, path) for allowed in self.allowed)


class _Allowed:
    """An allowlist with its expressions compiled."""

    def __init__(self, allowlist: Allowlist) -> None:
        self._regexes = [compile_regex(regex) for regex in allowlist.regexes]
        self._paths = [compile_regex(regex) for regex in allowlist.paths]
        self._stopwords = [word.encode() for word in allowlist.stopwords]
        self._target = allowlist.target
        self._verdict = all if allowlist.all_of else any

    def covers(self, data: bytes, match: Any, secret: bytes, path: str | None) -> bool:
        checks = []
        if self._regexes:
            text = self._text(data, match, secret)
            checks.append(any(regex.search(text) for regex in self._regexes))
        if self._stopwords:
            lowered = secret.lower()
            checks.append(any(word in lowered for word in self._stopwords))
        if self._paths:
            encoded = path.encode("utf-8", "replace") if path else None
            checks.append(encoded is not None and any(regex.search(encoded) for regex in self._paths))
        return bool(checks) and self._verdict(checks)

    def _text(self, data: bytes, match: Any, secret: bytes) -> bytes:
        if self._target is Target.SECRET:
            return secret
        start, end = match.span()
        if self._target is Target.MATCH:
            return data[start:end]
        line_end = data.find(b"\n", end)
        return data[data.rfind(b"\n", 0, start) + 1 : line_end if line_end >= 0 else len(data)]


class Engine:
    """A compiled pack. Immutable; threads may share it."""

    def __init__(self, pack: RulePack) -> None:
        self.rules = pack.rules
        self._compiled = [_Compiled(rule, pack.allowlists) for rule in pack.rules]
        users: dict[str, list[tuple[int, int]]] = {}
        for index, rule in enumerate(pack.rules):
            # Padded, so that of two keywords that end together the shorter one's window covers the longer one's.
            window = rule.window + max(map(len, rule.keywords), default=0) if rule.window else 0
            for keyword in rule.keywords:
                users.setdefault(keyword.lower(), []).append((index, window))
        self._users = list(users.values())
        keywords = [keyword.encode() for keyword in users]
        self._reach = max(map(len, keywords), default=0)
        # The DFA scans 460 MB/s on one core here; the default automaton 140.
        self._gate = ahocorasick_rs.BytesAhoCorasick(keywords, implementation=ahocorasick_rs.Implementation.DFA)
        self._always = [index for index, rule in enumerate(pack.rules) if not rule.keywords]
        always = [pack.rules[index].regex for index in self._always]
        self._any_always = compile_regex("|".join(f"(?:{regex})" for regex in always)) if always else None
        self.joinable = not any(
            anchor in regex for regex in always if not regex.startswith("(?m)") for anchor in _ANCHORS
        )
        """Whether texts joined by line ends can be judged together by `is_clean`."""

    def is_clean(self, data: bytes) -> bool:
        """Whether no rule can match: no keyword is there, and no rule without keywords matches."""
        if self._any_always is not None and self._any_always.search(data) is not None:
            return False
        return not any(
            self._gate.find_matches_as_indexes(data[base : base + _CHUNK + self._reach].lower())
            for base in range(0, len(data), _CHUNK)
        )

    def find(self, data: bytes, deadline: Deadline, path: str | None = None) -> list[Span]:
        """Return every finding, overlapping ones included, in no order."""
        spans: list[Span] = []
        windows = self._windows(data, deadline)
        if self._any_always is not None and self._any_always.search(data) is not None:
            windows.update((index, [0, len(data)]) for index in self._always)
        for index, edges in windows.items():
            rule = self._compiled[index]
            if rule.path is not None and path is not None and not rule.path.search(path.encode("utf-8", "replace")):
                continue
            last = 0
            for low, high in zip(edges[::2], edges[1::2], strict=True):
                for match in _scan(rule.regex, data, max(low, last), min(high, len(data)), deadline):
                    start, end = rule.secret(match)
                    if end > start and rule.accepts(data, match, start, end, path):
                        spans.append(Span(start, end, index))
                    last = match.end()
        return spans

    def _windows(self, data: bytes, deadline: Deadline) -> dict[int, list[int]]:
        """Return where each rule has to look: low and high edges in turn, ascending."""
        size = len(data)
        lowered = data.lower()
        windows: dict[int, list[int]] = {}
        for base in range(0, size, _CHUNK):
            deadline.check()
            chunk = lowered if size <= _CHUNK else lowered[base : base + _CHUNK + self._reach]
            for keyword, start, end in self._gate.find_matches_as_indexes(chunk, overlapping=True):
                for index, window in self._users[keyword]:
                    # Hits come in the order of their ends, so edges ascend.
                    edges = windows.get(index)
                    if not window:
                        windows[index] = [0, size]
                    elif edges is None:
                        windows[index] = [max(0, base + start - window), base + end + window]
                    elif base + start - window > edges[-1]:
                        edges += (base + start - window, base + end + window)
                    else:
                        edges[-1] = base + end + window
        return windows


def _scan(regex: Regex, data: bytes, low: int, high: int, deadline: Deadline) -> Iterator[Any]:
    """Yield matches from left to right. One that runs into the window's edge is followed beyond it."""
    size = len(data)
    while low <= high:
        deadline.check()
        match = regex.search(data, low, high)
        if match is None:
            return
        start, end = match.span()
        if end == high < size:
            low, high = start, min(size, high + 2 * (high - start) + _CHUNK)
            continue
        yield match
        low = end if end > start else end + 1


def merge(spans: Iterable[Span], kept: list[tuple[int, int]]) -> list[Span]:
    """Join overlapping spans, in order; the earliest rule names the joined one. Spans within a kept stretch go."""
    starts = [start for start, _ in kept]
    merged: list[Span] = []
    for span in sorted(spans):
        place = bisect_right(starts, span.start) - 1
        if place >= 0 and span.end <= kept[place][1]:
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), min(last.rule, span.rule))
        else:
            merged.append(span)
    return merged
