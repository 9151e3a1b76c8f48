"""What the user gave, checked cheaply before a record is built from it. Pydantic would cost more than the record."""

import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tachograph.producers.errors import RecordRefusedError

if TYPE_CHECKING:
    from pydantic import BaseModel

E = TypeVar("E", bound=StrEnum)
M = TypeVar("M", bound="BaseModel")

LARGEST_COUNT: Final = 2**53 - 1
Label = Callable[[str, int], str]
"""Makes a name fit for a record: redacted, cut, never empty."""


def member(field: str, value: Any, kind: type[E]) -> E:
    """The member of an enum, from itself or its value."""
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(item.value for item in kind)
    raise RecordRefusedError(field, f"is one of {allowed}")


def code(field: str, value: Any, allowed: frozenset[str], of: str) -> str:
    """A code that belongs to its type."""
    plain = getattr(value, "value", value)
    if isinstance(plain, str) and plain in allowed:
        return plain
    raise RecordRefusedError(field, f"codes of {of} are {', '.join(sorted(allowed))}")


def fraction(field: str, value: Any) -> float | None:
    """None, or a number from 0 to 1."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    raise RecordRefusedError(field, "lies between 0.0 and 1.0")


def count(field: str, value: Any) -> int:
    """A count that every JSON reader can hold."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT:
        return int(value)
    raise RecordRefusedError(field, "is a whole number from 0 on")


def maybe_count(value: Any) -> int | None:
    """A count where there is one: what a model's server says about usage is taken as it comes, or not at all."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT
    return int(value) if whole else None


def maybe_number(value: Any) -> float | None:
    """A finite number where there is one."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def name(field: str, value: Any, label: Label, limit: int = 256) -> str:
    """A required name."""
    text = label(str(value), limit) if value is not None else ""
    if not text:
        raise RecordRefusedError(field, "is empty")
    return text


def maybe_name(value: Any, label: Label, limit: int = 256) -> str | None:
    """A name, or None where there is none."""
    if value is None:
        return None
    return label(str(value), limit) or None


def names(field: str, values: Iterable[Any], label: Label, limit: int = 256) -> list[str]:
    """A list of names. A lone string is a mistake that would become a list of letters."""
    if isinstance(values, (str, bytes)):
        raise RecordRefusedError(field, "is a list of names, not one text")
    return [name(field, value, label, limit) for value in values]


def fits(field: str, model: type[M], given: Any) -> M:
    """The model of what was given. For the few records that are worth pydantic's price."""
    from pydantic import ValidationError  # noqa: PLC0415 - not at import: it would double the cost

    try:
        return model.model_validate(given)
    except ValidationError as error:
        # Of where it is wrong only our own names: the others are the agent's keys, and may be anything.
        places = {str(detail["loc"][0]) for detail in error.errors(include_input=False) if detail["loc"]}
    wrong = ", ".join(sorted(places & set(model.model_fields))) or "its fields"
    raise RecordRefusedError(field, f"does not fit {model.__name__}: look at {wrong}")
