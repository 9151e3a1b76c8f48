"""An agent's own code, run against a recording: no model, no tool, no network. See docs/replay.md."""

from tachograph.producers.replay.divergence import Divergence, DivergenceKind
from tachograph.producers.replay.errors import (
    NetworkRefusedError,
    NotReplayableError,
    ReplayDivergedError,
    ReplayedError,
    ReplayStop,
)
from tachograph.producers.replay.reading import recording_of
from tachograph.producers.replay.serving import Revival, ServedResponse
from tachograph.producers.replay.session import Replay
from tachograph.schemas.recording import Recording, RecordingError

__all__ = [
    "Divergence",
    "DivergenceKind",
    "NetworkRefusedError",
    "NotReplayableError",
    "Recording",
    "RecordingError",
    "Replay",
    "ReplayDivergedError",
    "ReplayStop",
    "ReplayedError",
    "Revival",
    "ServedResponse",
    "recording_of",
]
