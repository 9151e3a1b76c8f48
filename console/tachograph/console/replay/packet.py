"""Everything a record is replayed from, as plain data. Who has a packet needs no server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tachograph.processors.catalog import Catalog
from tachograph.schemas.enums import ReplayStatus
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord
from tachograph.schemas.transcripts import Entry

Row = Mapping[str, Any]
"""A stored row: plain values, times in microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A record of the run's trace that came before the proposal: what evidence is resolved by."""

    name: str
    """Record type."""
    record: Mapping[str, Any]
    at: int
    """Broker's append time."""


@dataclass(frozen=True, slots=True)
class Diff:
    """One difference: its type, where it is, and both sides as hashes or codes. Never content."""

    type: ReplayStatus
    place: str
    """Which input: ``record``, ``proposal.<column>``, ``pin <kind> <reference>``, ``rule <rule>``, ``transcript`` …"""
    expected: str | None = None
    """What was sealed."""
    got: str | None = None
    """What the replay found."""

    def as_json(self) -> dict[str, str | None]:
        """For a pipe, and for the table of results."""
        return {"type": self.type.value, "place": self.place, "expected": self.expected, "got": self.got}


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """The inputs of one record."""

    record: SealedRecord
    stored: Row
    """Its row of ``decision_records``."""
    previous: SealedRecord | None
    """The record before it in its log; None for the first."""
    proposal: Row | None
    """Its row of ``record_proposals``; None if it is no longer kept."""
    has_run_context: bool
    """The run's start, with its request, is stored."""
    observed: Sequence[Observed]
    """In the order of their time."""
    earlier: Sequence[Mapping[str, Any]]
    """Contents of the records of the run that were sealed before."""
    calls: Sequence[Entry]
    """Tool transcripts of the run up to the proposal."""
    contexts: Sequence[Entry]
    """Prompts and manifests of the run up to the proposal."""
    catalog: Catalog
    """Packs, policies, specs, model profiles and evaluator suites as they are now."""
    keys: KeySet
    silence_us: int
    """How long evidence of a silent run counts."""
