"""Content that is captured when somebody first needs its captured form, and then no more than once."""

from typing import TYPE_CHECKING, Any

from tachograph.producers.late_record import MOST_LATE_BYTES
from tachograph.producers.snapshots import snapshot

if TYPE_CHECKING:
    from tachograph.producers.capture import Captured, CapturePolicy


class LateCapture:
    """A value on its way to its captured form. Safe to ask from any thread."""

    __slots__ = ("_captured", "_policy", "_value", "size")

    def __init__(self, policy: "CapturePolicy", value: Any, size: int) -> None:
        self._policy = policy
        self._value = value
        self._captured: Captured | None = None
        self.size = size

    @classmethod
    def of(cls, policy: "CapturePolicy", value: Any) -> "LateCapture | None":
        """None if the value cannot be put by and is to be captured at once."""
        copy = snapshot(value, MOST_LATE_BYTES)
        return None if copy is None else cls(policy, copy[0], copy[1])

    def get(self) -> "Captured":
        """The captured form. Two threads that ask at the same time may both make it; they make the same."""
        value = self._value  # before the result is looked at: it is forgotten only after there is one
        captured = self._captured
        if captured is None:
            captured = self._captured = self._policy.value(value)
            self._value = None
        return captured
