"""What a replay raises.

::

    TachographError
    ├── RecorderStop
    │   └── ReplayStop               let it pass: the replay is over
    │       ├── ReplayDivergedError      the code does something else than the recording; `divergence` says what
    │       ├── NetworkRefusedError      the code reached for the network; serve it through the boundary instead
    │       └── NotReplayableError       the recording cannot serve this; the sentence says what to record
    └── ReplayedError                a tool or model failed then, with a class that is not known here: handle it as then
"""

from tachograph.producers.errors import RecorderStop
from tachograph.producers.replay.divergence import Divergence
from tachograph.schemas.errors import TachographError


class ReplayStop(RecorderStop):
    """The replay cannot go on."""


class ReplayDivergedError(ReplayStop):
    """The code and the recording disagree."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.sentence())
        self.divergence = divergence


class NetworkRefusedError(ReplayStop, ConnectionError):
    """There is no network while a recording is replayed."""


class NotReplayableError(ReplayStop):
    """The recording does not hold what the code needs."""


class ReplayedError(TachographError):
    """An error that happened when the run was recorded. Its class is named, its text is as captured."""

    def __init__(self, error_type: str, text: str = "") -> None:
        super().__init__(text or error_type)
        self.error_type = error_type
