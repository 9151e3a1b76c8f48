"""Governed decisions: what a record stands on, built piece by piece, proposed when a status is reached."""

from tachograph.producers.records.decision import GovernedDecision
from tachograph.producers.records.references import artifact_ref, frozen_hash, tool_ref

__all__ = ["GovernedDecision", "artifact_ref", "frozen_hash", "tool_ref"]
