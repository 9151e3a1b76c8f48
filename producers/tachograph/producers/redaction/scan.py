"""From text to redacted text: find, merge, replace, and look again until nothing is found."""

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from tachograph.producers.redaction.decode import decoded_spans
from tachograph.producers.redaction.engine import Deadline, Engine, Span, compile_regex, merge
from tachograph.producers.redaction.glance import Glance
from tachograph.producers.redaction.results import Finding

if TYPE_CHECKING:
    from tachograph.producers.redaction.rules import RulePack

__all__ = ["Scanner", "UnstableError"]

_MAX_PASSES: Final = 8
"""Each pass leaves less of the original, and the last one finds nothing. All but hostile text needs two."""

_PLACEHOLDER: Final = re.compile(rb"\[REDACTED:([a-z0-9-]+)\]")
_MAYBE_ENCODED: Final = r"[A-Za-z0-9+/_-]{20}|%[0-9A-Fa-f]{2}"
_ENCODED: Final = compile_regex(_MAYBE_ENCODED)


class UnstableError(Exception):
    """Redaction kept finding more after the last pass."""


class Scanner:
    """The compiled pack as one function on UTF-8 bytes. Immutable; threads may share it."""

    def __init__(self, pack: "RulePack") -> None:
        self._engine = Engine(pack)
        self._placeholders = [rule.placeholder.encode() for rule in pack.rules]
        self._known = frozenset(self._placeholders)
        self._joinable: Final = self._engine.joinable
        self.at_a_glance: Final = Glance(pack.rules, [_MAYBE_ENCODED]).is_clean
        """Whether nothing can be found in a text, or in texts joined by line ends. False says nothing."""

    def is_clean(self, data: bytes) -> bool:
        """As `at_a_glance`, for texts joined by line ends that are too large for that."""
        return self._joinable and _ENCODED.search(data) is None and self._engine.is_clean(data)

    def redact(self, data: bytes, deadline: Deadline, path: str | None = None) -> tuple[bytes, Counter[str]]:
        """Return the bytes with placeholders and the number of redactions by rule id. Raises Timeout, UnstableError."""
        counts: Counter[str] = Counter()
        for _ in range(_MAX_PASSES):
            spans = self._spans(data, deadline, path)
            if not spans:
                return data, counts
            data = self._replaced(data, spans)
            counts.update(self._engine.rules[span.rule].id for span in spans)
        raise UnstableError

    def explain(self, data: bytes, deadline: Deadline) -> list[Finding]:
        """Return what the first pass finds, with offsets in characters."""
        findings = []
        place = characters = 0
        for span in self._spans(data, deadline, None):
            start = characters + len(data[place : span.start].decode())
            characters = start + len(data[span.start : span.end].decode())
            place = span.end
            findings.append(Finding(self._engine.rules[span.rule].id, start, characters))
        return findings

    def _spans(self, data: bytes, deadline: Deadline, path: str | None) -> list[Span]:
        spans = self._engine.find(data, deadline, path)
        if _ENCODED.search(data) is not None:
            spans += decoded_spans(self._engine, data, deadline, path)
        return merge(spans, self._kept(data)) if spans else spans

    def _kept(self, data: bytes) -> list[tuple[int, int]]:
        """Return where our own placeholders are. Only names of rules count: anything else may be a disguised secret."""
        if b"[REDACTED:" not in data:
            return []
        return [match.span() for match in _PLACEHOLDER.finditer(data) if match[0] in self._known]

    def _replaced(self, data: bytes, spans: list[Span]) -> bytes:
        parts: list[bytes] = []
        place = 0
        for span in spans:
            parts += (data[place : span.start], self._placeholders[span.rule])
            place = span.end
        return b"".join((*parts, data[place:]))
