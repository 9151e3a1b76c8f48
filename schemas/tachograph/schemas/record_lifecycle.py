"""Statuses of a governed decision, and which may follow which."""

from typing import Final

from tachograph.schemas.enums import RecordStatus

_S = RecordStatus

TERMINAL: Final = frozenset({_S.DECIDED, _S.REJECTED, _S.ESCALATED, _S.CLOSED})
"""After one of these a decision goes on only by a record that supersedes."""

ACCEPTED: Final = frozenset({_S.DECIDED, _S.CLOSED})
"""Statuses under which an outcome takes effect, and so must have its evidence, policy and approval."""

NEXT: Final[dict[RecordStatus | None, frozenset[RecordStatus]]] = {
    None: frozenset(_S) - {_S.CLOSED},  # only what was open can be closed
    _S.IN_FLIGHT: frozenset(_S),
    _S.DEFERRED: frozenset(_S),
    _S.DECIDED: frozenset(),
    _S.REJECTED: frozenset(),
    _S.ESCALATED: frozenset(),
    _S.CLOSED: frozenset(),
}
"""What may follow a status; None is a decision without any record yet."""


def may_follow(before: RecordStatus | None, after: RecordStatus) -> bool:
    """Tell whether a decision may go from one status to another without superseding."""
    return after in NEXT[before]
