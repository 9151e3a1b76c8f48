"""What a run has recorded that evidence can refer to, and when. So the recorder knows what the sealer will find."""

from collections.abc import Mapping
from typing import Any

from tachograph.schemas.evidence import artifact_references, references, tool_reference


class Observed:
    """References of one run. Single assignments only, so it is safe to use from many threads."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[str, int]] = {}
        """Tool and moment of every call that returned, by its id. Spelt out when asked for: calls are many."""
        self._times: dict[str, int] = {}

    def recorded(self, name: str, body: Mapping[str, Any], now: int) -> None:
        """A record was made."""
        for reference in references(name, body):
            self._times[reference] = now

    def stored(self, pointer: Mapping[str, Any], now: int) -> None:
        """A tool's output went to the artifact store."""
        for reference in artifact_references(pointer["artifact_id"], pointer["hash"]):
            self._times[reference] = now

    def times(self) -> dict[str, int]:
        """Microseconds since 1970 by reference."""
        calls = {tool_reference(name, call_id): at for call_id, (name, at) in list(self.calls.items())}
        return calls | dict(self._times)
