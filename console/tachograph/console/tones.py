"""How good a word of the contract is, for its colour. Unknown words are shown as they are, in none."""

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
        "fault",
    ),
    "bad": ("failed", "error", "critical", "SYSTEM_ERROR", "fail", "abort", "REJECTED", "deny", "firing", "broken"),
}
_TONE: Final = {word: tone for tone, listed in _TONES.items() for word in listed}


def tone(word: Any) -> str:
    """Class of a badge: one of ours, whatever the word is."""
    return _TONE.get(str(word), "plain")
