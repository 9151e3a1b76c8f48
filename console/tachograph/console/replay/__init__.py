"""Replaying sealed records: the stored inputs through the same pure core, and what differs, typed."""

from tachograph.console.replay.judge import Replayed, replayed
from tachograph.console.replay.packet import Diff, Observed, Packet

__all__ = ["Diff", "Observed", "Packet", "Replayed", "replayed"]
