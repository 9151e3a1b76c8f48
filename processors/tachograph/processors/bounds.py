"""How long a text may be that is remembered of a run.

A state is one message of the changelog, and a message that the broker does not take would stop the worker on the same
record again and again. A producer may write anything, so nothing enters a state without a bound.
"""

from typing import Any, Final

import orjson

from tachograph.processors.errors import IdTooLongError

MOST_ID: Final = 512
"""Characters of an id. Longer ones are no ids: their record becomes a dead letter."""

_MOST_FACT: Final = 512
"""Characters of any other fact of a run's start. The row of the start has the whole text."""

_IDS: Final = ("tenant_id", "agent_id", "event_id", "run_id", "trace_id")


def state_bytes(value: Any) -> int:
    """Bytes that a value takes in a state. Measured, not guessed: a character may take six of them."""
    return len(orjson.dumps(value))


def packed(value: Any) -> bytes:
    """A value as it stands in a state, to be kept. A copy: what the library returns holds on to its whole buffer."""
    return bytes(memoryview(orjson.dumps(value)))


def require_short_ids(record: dict[str, Any]) -> None:
    """Raise IdTooLongError if an id that names the run or the record is longer than an id can be."""
    for name in _IDS:
        value = record[name]
        if value and len(value) > MOST_ID:
            raise IdTooLongError(f"the {name} has {len(value)} characters; an id has at most {MOST_ID}")


def short(text: str) -> str:
    """The text, cut to what is remembered."""
    return text[:_MOST_FACT]


def short_or_none(text: str | None) -> str | None:
    """As :func:`short`, for what may be absent."""
    return None if text is None else text[:_MOST_FACT]
