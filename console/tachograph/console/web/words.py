"""Which colour a word of the contract gets, and how it reads. Unknown words are shown as they are, in no colour."""

from typing import Any, Final

_TONES: Final = {
    "good": ("succeeded", "complete", "pass", "sealed", "allow", "DECIDED", "CLOSED", "verified", "resolved", "stored"),
    "calm": ("running", "open", "info", "IN_FLIGHT", "continue", "hashed", "redacted", "full"),
    "warn": (
        "warn",
        "incomplete",
        "aborted",
        "skipped",
        "skip",
        "DEFERRED",
        "ESCALATED",
        "require_approval",
        "escalate",
        "not sealed",
        "unknown",
    ),
    "bad": ("failed", "error", "critical", "SYSTEM_ERROR", "fail", "abort", "REJECTED", "deny", "firing", "broken"),
}
_TONE: Final = {word: tone for tone, listed in _TONES.items() for word in listed}

_DECISION_TYPES: Final = (
    "tool_selection",
    "retrieval_strategy",
    "response_mode",
    "retry_strategy",
    "orchestration_path",
)


def tone(word: Any) -> str:
    """Class of a badge: one of ours, whatever the word is."""
    return _TONE.get(str(word), "plain")


def decision_tone(decision_type: str) -> str:
    """Class of a decision type's badge: a colour for each of the seed's types, none that says good or bad."""
    return f"hue{_DECISION_TYPES.index(decision_type) + 1}" if decision_type in _DECISION_TYPES else "plain"


def said(word: Any) -> str:
    """A code as words."""
    return str(word).replace("_", " ").lower() if str(word).isascii() else str(word)
