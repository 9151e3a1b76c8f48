"""Who caused what: the callers of nested tool calls, and whether parents lead in a circle. Bounded."""

from typing import Final

from tachograph.processors.bounds import state_bytes
from tachograph.processors.digests import Digests

Parents = dict[str, str]
"""Parent of every name, the oldest first."""

_MOST: Final = 1024
"""Parents remembered for one run."""

_MOST_BYTES: Final = 160
"""Bytes that an id and its parent's may take. Longer ones are not remembered."""

_DEEPEST: Final = 32
"""Longest chain of callers that is written out."""

_SPAN: Final = "span:"
"""What spans begin with here, so that they are not taken for tool calls."""


def remember_caller(parents: Parents, call_id: str, caller: str) -> bool:
    """Remember which call a call is nested in. True if that, being new, closes a circle."""
    if call_id in parents:
        return False
    _remember(parents, call_id, caller)
    return _reaches(parents, caller, call_id)


def callers(parents: Parents, call_id: str) -> list[str]:
    """The calls that a call is nested in, the outermost first."""
    chain: list[str] = []
    parent = parents.get(call_id)
    while parent is not None and parent not in chain and len(chain) < _DEEPEST:
        chain.append(parent)
        parent = parents.get(parent)
    chain.reverse()
    return chain


def leads_to_itself(parents: Parents, seen: Digests, span: str, parent: str) -> bool:
    """Whether a span that arrives closes a circle of parents. ``seen`` are the spans that have arrived.

    Parents usually arrive before their children; such a child cannot close a circle and is not remembered. What is
    remembered are spans whose parent has not arrived, and what hangs on those.
    """
    if span == parent:
        return True
    child, above = _SPAN + span, _SPAN + parent
    if seen.find(parent) is not None and above not in parents:
        return False
    _remember(parents, child, above)
    return _reaches(parents, above, child)


def _remember(parents: Parents, name: str, parent: str) -> None:
    if state_bytes([name, parent]) > _MOST_BYTES:
        return
    parents[name] = parent
    if len(parents) > _MOST:
        del parents[next(iter(parents))]


def _reaches(parents: Parents, start: str, end: str) -> bool:
    """Whether ``end`` is among the parents of ``start``, itself included."""
    at: str | None = start
    for _ in range(_MOST):
        if at is None or at == end:
            return at == end
        at = parents.get(at)
    return False
