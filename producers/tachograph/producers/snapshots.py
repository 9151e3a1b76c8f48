"""Copies of values that the agent may change while they wait to be captured.

Only values made of JSON's own kinds, exactly, are copied: what else there is has code of its own or parts that change,
and is captured where it is. So a copy is captured to the same bytes as the value itself.
"""

from collections.abc import Callable
from typing import Any, Final

__all__ = ["Snapshot", "snapshot"]

_DEPTH: Final = 32
_NODE_BYTES: Final = 64
"""What a node is taken to hold, besides its text: about a pointer and an object's head."""
_FIXED: Final[frozenset[type]] = frozenset({bool, float, type(None)})


Snapshot = tuple[Any, int]
"""A copy that nobody else has, and about how many bytes of memory it keeps."""


class _NoCopyError(Exception):
    """The value is not of the kinds that are copied, or too large."""


def snapshot(value: object, limit: int) -> Snapshot | None:
    """Copy a value. None if it is not of JSON's own kinds, too deep, or holds more than ``limit`` bytes."""
    kind = type(value)
    if kind is str:
        size = _text(value)  # type: ignore[arg-type]
        return (value, size) if size <= limit else None
    if kind is dict:  # most tool inputs: an object of texts and numbers, without a walk
        members = value.copy()  # type: ignore[attr-defined] # in one go, while no other thread can change it
        size = _NODE_BYTES
        for key, member in members.items():
            kind = type(member)
            if type(key) is not str:
                return None
            if kind is str:
                size += _text(member)
            elif kind is int:
                size += _NODE_BYTES + (member.bit_length() >> 3)
            elif kind in _FIXED:
                size += _NODE_BYTES
            else:
                break
            size += len(key)
        else:
            return (members, size) if size <= limit else None
    try:
        copy, room = _copied(value, limit, _DEPTH)
    except _NoCopyError:
        return None
    return copy, limit - room


def _text(text: str) -> int:
    # Four bytes for a character is the most that Python and UTF-8 take.
    return _NODE_BYTES + (len(text) if text.isascii() else 4 * len(text))


def _node(_value: object) -> int:
    return _NODE_BYTES


_SIZES: Final[dict[type, Callable[[Any], int]]] = {
    str: _text,
    int: lambda number: _NODE_BYTES + (number.bit_length() >> 3),
    bytes: lambda data: _NODE_BYTES + len(data),
    **dict.fromkeys(_FIXED, _node),
}
"""What values that nobody can change are taken to hold."""


def _copied(value: Any, room: int, depth: int) -> tuple[Any, int]:
    """The copy, and what is left of the room."""
    kind = type(value)
    room -= _SIZES.get(kind, _node)(value)
    if room < 0 or not depth:
        raise _NoCopyError
    if kind in _SIZES:
        return value, room
    if kind is dict:
        members = value.copy()
        for key, member in members.items():
            if type(key) is not str:
                raise _NoCopyError
            members[key], room = _copied(member, room - len(key), depth - 1)
        return members, room
    if kind is list or kind is tuple:
        items = list(value)
        for place, item in enumerate(items):
            items[place], room = _copied(item, room, depth - 1)
        return items, room
    raise _NoCopyError
