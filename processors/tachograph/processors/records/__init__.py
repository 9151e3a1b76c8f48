"""Decision records: judged by eight rules, then sealed. Pure: no I/O, no clock but the broker's."""

from tachograph.processors.records.facts import EvidenceFact, RunFacts
from tachograph.processors.records.validate import Verdict, validate

__all__ = ["EvidenceFact", "RunFacts", "Verdict", "validate"]
