"""Governed decisions: what a record stands on, built piece by piece, proposed when a status is reached."""

from tachograph.producers.records.decision import GovernedDecision
from tachograph.producers.records.planned import PlannedDecision
from tachograph.producers.records.references import artifact_ref, frozen_hash, tool_ref
from tachograph.schemas.terms_file import read_terms as load_terms

__all__ = ["GovernedDecision", "PlannedDecision", "artifact_ref", "frozen_hash", "load_terms", "tool_ref"]
