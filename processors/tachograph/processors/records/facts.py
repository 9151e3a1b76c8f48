"""What the stream knows of a run when a record of it is proposed. The proposal's own word is not taken for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tachograph.schemas.enums import RecordStatus


@dataclass(frozen=True, slots=True)
class EvidenceFact:
    """Something a reference resolves to."""

    tenant_id: str
    observed_at: int
    """Microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The run as recorded so far."""

    tenant_id: str
    trace_id: str
    evidence: Mapping[str, EvidenceFact] = field(default_factory=lambda: MappingProxyType({}))
    """By reference. One that is not here cannot be resolved."""
    statuses: Mapping[str, RecordStatus] = field(default_factory=lambda: MappingProxyType({}))
    """Last sealed status by decision key."""
    terminal_primary: str | None = None
    """Record that ended the run's primary decision, if one has."""
    record_ids: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Decision key by record, of the run's records so far."""
    is_known: bool = True
    """Whether the run recorded anything before this proposal."""


UNKNOWN_RUN = RunFacts("", "", is_known=False)
"""A run that has recorded nothing: the trace rule says so."""
