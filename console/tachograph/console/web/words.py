"""How words of the contract read on a page, and the colour of each type of decision."""

from typing import Any, Final

_DECISION_TYPES: Final = (
    "tool_selection",
    "retrieval_strategy",
    "response_mode",
    "retry_strategy",
    "orchestration_path",
)


def decision_tone(decision_type: str) -> str:
    """Class of a decision type's badge: a colour for each of the seed's types, none that says good or bad."""
    return f"hue{_DECISION_TYPES.index(decision_type) + 1}" if decision_type in _DECISION_TYPES else "plain"


def said(word: Any) -> str:
    """A code as words."""
    return str(word).replace("_", " ").lower() if str(word).isascii() else str(word)
