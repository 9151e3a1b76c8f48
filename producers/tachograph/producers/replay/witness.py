"""The witness of a tool call that is served: finds it in the recording before anything could run."""

from contextvars import Token
from typing import TYPE_CHECKING, Any

from tachograph.producers.position import Position
from tachograph.producers.tools.conduct import Outcome, Telling
from tachograph.producers.tools.legs import CallLegs

if TYPE_CHECKING:
    from tachograph.producers.replay.session import RunReplay
    from tachograph.schemas.recording import RecordedToolCall


class ServingWitness:
    """Stands before the plain witness. ``serve`` is called where the tool would be."""

    def __init__(self, replay: "RunReplay", legs: CallLegs) -> None:
        self._replay = replay
        self._legs = legs
        self._call: RecordedToolCall | None = None
        self.steady_ns = legs.steady_ns

    def before(self, telling: Telling) -> None:
        """Find the call. Raises ReplayDivergedError."""
        name = self._legs.shown(telling.context.tool_name)
        skipped = telling.skipped
        self._call = self._replay.tool_call(name, telling.context.tool_input, skipped=skipped)
        self._legs.before(telling)

    def serve(self, _tool_input: Any) -> Any:
        """What the tool returned then. Raises what it raised."""
        assert self._call is not None
        return self._replay.output(self._call)

    def inside(self, telling: Telling) -> Token[Position | None]:
        """As the plain one."""
        return self._legs.inside(telling)

    def outside(self, token: Token[Position | None]) -> None:
        """As the plain one."""
        self._legs.outside(token)

    def after(self, telling: Telling) -> None:
        """As the plain one."""
        self._legs.after(telling)

    def handed_back(self, telling: Telling) -> None:
        """As the plain one."""
        self._legs.handed_back(telling)

    def hook_failed(self, outcome: Outcome) -> None:
        """As the plain one."""
        self._legs.hook_failed(outcome)

    def shown(self, name: str) -> str:
        """As the plain one."""
        return self._legs.shown(name)
