"""Values that are JSON data as they stand, without a walk: a text, or an object of texts and small numbers.

Most tool inputs and outputs are of this kind; the walk over one costs 6 µs, this 1.2.
"""

from collections.abc import Callable, Collection
from typing import Any, Final

__all__ = ["CHECKED_DIGITS", "NODE_BYTES", "flat_text"]

CHECKED_DIGITS: Final = 10**11
"""An integer from here on may be a card or account number: it is looked at as text."""

NODE_BYTES: Final = 8
"""What a node counts for in the budget, besides its text."""


def flat_text(
    obj: object, is_secret_name: Callable[[str], bool], path_keys: Collection[str]
) -> tuple[Any, str, int] | None:
    """Return a copy of the value, all its texts joined by line ends, and what its nodes count for in the budget.

    None if only a walk can tell.
    """
    if type(obj) is str:
        return obj, obj, NODE_BYTES
    if type(obj) is not dict:
        return None
    members = obj.copy()  # whoever else has it may change it while it is read
    texts = []
    for key, value in members.items():
        if type(key) is not str or key in path_keys or is_secret_name(key):
            return None
        texts.append(key)
        kind = type(value)
        if kind is str:
            texts.append(value)
        elif kind is int:
            if not -CHECKED_DIGITS < value < CHECKED_DIGITS:
                return None
        elif kind is not bool and value is not None:
            return None
    return members, "\n".join(texts), NODE_BYTES * (len(members) + 1)
