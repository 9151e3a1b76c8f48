"""Comparing what was made with what is stored, and naming values without showing them."""

from collections.abc import Mapping
from typing import Any

from tachograph.schemas.canonical import sha256_hex


def same(made: Any, stored: Any) -> bool:
    """Whether a column holds what was made. Objects are compared by the columns that the table has."""
    if isinstance(made, (list, tuple)) and isinstance(stored, (list, tuple)):
        return len(made) == len(stored) and all(map(same, made, stored))
    if isinstance(made, Mapping) and isinstance(stored, Mapping):
        return all(same(made.get(name), value) for name, value in stored.items())
    return (made or "") == (stored or "") if made is None or stored is None else bool(made == stored)


def hash_of(value: Any) -> str:
    """A value as a difference may name it."""
    return "sha256:" + sha256_hex(repr(value).encode())
