"""What the records of a partition say about runs, kept as long as a proposal may need it.

Pure, and a function of the records in their order: whoever reads the same partition remembers the same. Evidence is
what a run of the same trace recorded before the proposal, under the references of `tachograph.schemas.evidence`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tachograph.processors.records.facts import UNKNOWN_RUN, EvidenceFact, RunFacts
from tachograph.schemas.enums import RecordStatus
from tachograph.schemas.evidence import references
from tachograph.schemas.record_lifecycle import TERMINAL

OBSERVED: Final = frozenset(
    {"RunStarted", "RunEnded", "ToolCallRecord", "ContextManifest", "DecisionEvent", "RecordProposal"}
)
"""Record types that must be decoded; the others say nothing that a record stands on."""

MOST_REFERENCES: Final = 20_000
"""References kept of one trace. The oldest go first, and then no longer resolve."""


@dataclass(slots=True)
class RunMemory:
    """One run of one tenant."""

    tenant_id: str
    trace_id: str
    statuses: dict[str, RecordStatus] = field(default_factory=dict)
    terminal_primary: str | None = None
    record_ids: dict[str, str] = field(default_factory=dict)
    proposals: dict[str, bytes] = field(default_factory=dict)
    """Digest of each proposal by event id: a spool may send one twice."""
    recorded: bool = False
    """Whether it recorded anything but proposals."""


@dataclass(slots=True)
class TraceMemory:
    """The runs of one trace, and what they saw."""

    first_offset: int
    last_time: int = 0
    evidence: dict[str, dict[str, EvidenceFact]] = field(default_factory=dict)
    """By reference, then by tenant: a tenant cannot take another's place by naming its trace."""
    runs: dict[str, dict[str, RunMemory]] = field(default_factory=dict)
    """By run id, then by tenant."""
    open: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class SealedFact:
    """What sealing a record changes for the next one of its run."""

    tenant_id: str
    run_id: str
    trace_id: str
    record_id: str
    decision_key: str
    status: str
    primary: bool


class Memory:
    """Runs of one partition."""

    def __init__(self, silence_us: int) -> None:
        self._silence_us = silence_us
        self._traces: dict[str, TraceMemory] = {}

    def __len__(self) -> int:
        return len(self._traces)

    def low_offset(self, after: int) -> int:
        """Where reading must begin to remember all this again; ``after`` if nothing is remembered."""
        return min((trace.first_offset for trace in self._traces.values()), default=after)

    def observe(self, name: str, record: Mapping[str, Any], offset: int, now: int) -> None:
        """Take in a record that is no proposal."""
        trace = self._trace(record, offset, now)
        if name == "RunEnded":
            trace.open.discard((record["tenant_id"], record["run_id"] or ""))
            if not trace.open:
                self._traces.pop(record["trace_id"] or "", None)
            return
        self._run(trace, record).recorded = True
        for reference in references(name, record):
            seen = trace.evidence.setdefault(reference, {})
            seen[record["tenant_id"]] = EvidenceFact(record["tenant_id"], now)
        while len(trace.evidence) > MOST_REFERENCES:
            trace.evidence.pop(next(iter(trace.evidence)))

    def facts(self, proposal: Mapping[str, Any], now: int) -> RunFacts:
        """What is known of a proposal's run, and of the references it makes."""
        trace = self._known(proposal["trace_id"] or "", now)
        tenants = {} if trace is None else trace.runs.get(proposal["run_id"] or "", {})
        run = tenants.get(proposal["tenant_id"]) or next(iter(tenants.values()), None)
        if trace is None or run is None:
            return UNKNOWN_RUN
        # A run that only proposes is judged by its own earlier records, but has no trace to match.
        seen = {ref: trace.evidence[ref] for ref in proposal["evidence_refs"] if ref in trace.evidence}
        return RunFacts(
            run.tenant_id,
            run.trace_id,
            {ref: by.get(proposal["tenant_id"]) or next(iter(by.values())) for ref, by in seen.items()},
            run.statuses,
            run.terminal_primary,
            run.record_ids,
            run.recorded,
        )

    def repeats(self, proposal: Mapping[str, Any], digest: bytes, offset: int, now: int) -> bool:
        """Whether exactly this proposal came before. If not, it is remembered."""
        run = self._run(self._trace(proposal, offset, now), proposal)
        if run.proposals.get(proposal["event_id"]) == digest:
            return True
        run.proposals[proposal["event_id"]] = digest
        return False

    def sealed(self, fact: SealedFact) -> None:
        """A record was sealed: the next of its run is judged by it."""
        trace = self._traces.get(fact.trace_id)
        run = None if trace is None else trace.runs.get(fact.run_id, {}).get(fact.tenant_id)
        if run is None:
            return
        status = RecordStatus(fact.status)
        run.statuses[fact.decision_key] = status
        run.record_ids[fact.record_id] = fact.decision_key
        if fact.primary and status in TERMINAL:
            run.terminal_primary = fact.record_id

    def forget_silent(self, now: int) -> None:
        """Let go of traces whose time is over. What they would answer is the same before and after."""
        silent = [name for name, trace in self._traces.items() if now - trace.last_time > self._silence_us]
        for name in silent:
            del self._traces[name]

    def _known(self, trace_id: str, now: int) -> TraceMemory | None:
        trace = self._traces.get(trace_id)
        return None if trace is None or now - trace.last_time > self._silence_us else trace

    def _trace(self, record: Mapping[str, Any], offset: int, now: int) -> TraceMemory:
        trace_id = record["trace_id"] or ""
        trace = self._known(trace_id, now)
        if trace is None:
            trace = self._traces[trace_id] = TraceMemory(offset)
        trace.last_time = max(trace.last_time, now)
        return trace

    @staticmethod
    def _run(trace: TraceMemory, record: Mapping[str, Any]) -> RunMemory:
        run_id, tenant_id = record["run_id"] or "", record["tenant_id"]
        tenants = trace.runs.setdefault(run_id, {})
        if tenant_id not in tenants:
            tenants[tenant_id] = RunMemory(tenant_id, record["trace_id"] or "")
            trace.open.add((tenant_id, run_id))
        return tenants[tenant_id]
