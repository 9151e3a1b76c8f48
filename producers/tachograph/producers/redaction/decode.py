"""One level of decoding: a secret in base64 or behind percent signs is a secret still.

The cost is bounded by the size of the text: every stretch is decoded once (base64 once for each of its four possible
beginnings), and the stretches of a text are judged together before any is looked at alone.
"""

import re
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final
from urllib.parse import unquote_to_bytes

from tachograph.producers.redaction.engine import Deadline, Engine, Span, compile_regex

__all__ = ["decoded_spans"]

_RUN: Final = compile_regex(r"[A-Za-z0-9+/_-]{20,}")
_PERCENT: Final = compile_regex(r"""[^\s"'<>]*%[0-9A-Fa-f]{2}[^\s"'<>]*""")
_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_SLICE: Final = 64 * 1024  # bytes of a percent-encoded stretch that are decoded at a time
_OVERLAP: Final = 4 * 1024  # bytes that two slices share, so that no secret up to this size is cut in two
_LOOK: Final = 16  # bytes of a finding that must be printable: what random bytes decode to is not
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
_PRINTABLE: Final = frozenset(b"\t\n\r") | frozenset(range(32, 127))


def decoded_spans(engine: Engine, data: bytes, deadline: Deadline, path: str | None) -> list[Span]:
    """Return the encoded stretches, or parts of them, that hold a secret once decoded."""
    return [*_from_base64(engine, data, deadline, path), *_from_percent(engine, data, deadline, path)]


def _from_base64(engine: Engine, data: bytes, deadline: Deadline, path: str | None) -> Iterator[Span]:
    """A stretch of base64 goes as a whole: what would be left of it is of no use to a reader."""
    pieces: list[bytes] = []
    runs: list[tuple[int, int]] = []
    place = 0
    while (match := _RUN.search(data, place)) is not None:
        deadline.check()
        start, place = match.span()
        run = data[start:place]
        # Encoded text has letters of both cases; hexadecimal digests, constants and long words have not.
        if run.islower() or run.isupper() or run.isdigit():
            continue
        for piece in _alignments(run.translate(_URL_SAFE)):
            pieces.append(piece)
            runs.append((start, place))
    if not pieces:
        return
    joined = b"\n".join(pieces)
    if engine.is_clean(joined):
        return
    begins = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    for span in engine.find(joined, deadline, path):
        if _PRINTABLE.issuperset(joined[span.start : min(span.end, span.start + _LOOK)]):
            first, last = bisect_right(begins, span.start) - 1, bisect_left(begins, span.end)
            for start, end in runs[first:last]:
                yield Span(start, end, span.rule)


def _alignments(run: bytes) -> Iterator[bytes]:
    """Decode from each of the first four characters: a stretch may begin within a path or behind other text."""
    for offset in range(4):
        size = len(run) - offset
        usable = size - (size % 4 == 1)
        decoded = a2b_base64(run[offset : offset + usable] + b"=" * (-usable % 4))
        yield decoded
        if decoded.count(0) * 3 > len(decoded):  # UTF-16, as PowerShell encodes its commands
            yield decoded.replace(b"\0", b"")


def _from_percent(engine: Engine, data: bytes, deadline: Deadline, path: str | None) -> Iterator[Span]:
    """Of percent-encoded text only the secret itself goes: the rest of an address is worth keeping."""
    if b"%" not in data:
        return
    place = 0
    while (match := _PERCENT.search(data, place)) is not None:
        deadline.check()
        begin, place = match.span()
        for start in range(begin, place, _SLICE):
            run = data[max(begin, start - _OVERLAP) : min(place, start + _SLICE)]
            spans = engine.find(unquote_to_bytes(run), deadline, path)
            if spans:
                base = max(begin, start - _OVERLAP)
                offsets = _offsets(run)
                for span in spans:
                    yield Span(base + offsets[span.start], base + offsets[span.end], span.rule)


def _offsets(run: bytes) -> list[int]:
    """Return for every decoded byte where its encoded form begins, and the end."""
    offsets: list[int] = []
    place = 0
    for escape in _ESCAPE.finditer(run):
        offsets += range(place, escape.start() + 1)
        place = escape.end()
    return [*offsets, *range(place, len(run) + 1)]
