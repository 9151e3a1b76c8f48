"""What an anchor does."""

from dataclasses import dataclass
from typing import Protocol

from tachograph.schemas.proofs.heads import Heads


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an anchor gave for a note."""

    kind: str
    reference: str
    """Where it is to be found there."""
    token: bytes = b""
    """What proves it, if the anchor gives something of the kind."""


class Anchor(Protocol):
    """Takes signed heads to a place that who writes the logs cannot change.

    It may take its time, within ``anchors.timeout_s``: sealing does not wait for it. It raises `AnchorError` if it did
    not take the note; whoever called says so in a violation and goes on.
    """

    kind: str
    """Name in receipts, violations and metrics."""

    def anchor(self, heads: Heads, note: str) -> Receipt:
        """Take one note."""
