"""What is fixed when a run starts: its ids, its session, its request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tachograph.producers.recorder import Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """The frame of a run, in the form records carry."""

    run_id: str
    trace_id: str
    session_id: str
    parent_span_id: str | None
    """Span of somebody else's that the run is part of."""
    parent_run_id: str | None
    session_body: dict[str, Any]
    request_body: dict[str, Any]
    metadata: Mapping[str, Any] | None
    sdk: str
    at: int
    """When the run was made, microseconds since 1970."""

    def body(self, recorder: Recorder) -> dict[str, Any]:
        """RunStarted."""
        return {
            "session_id": self.session_id,
            "agent_version": self.session_body["agent_version"],
            "environment": self.session_body["environment"],
            "capture_mode": recorder.policy.mode.value,
            "request": self.request_body,
            "parent_run_id": self.parent_run_id,
            "sdk": self.sdk,
            "metadata": recorder.metadata(self.metadata) | self._parent_span(),
        }

    def _parent_span(self) -> dict[str, Any]:
        # So that a reader can tell a parent in somebody else's records from one that is missing.
        return {} if self.parent_span_id is None else {"parent_span_id": self.parent_span_id}
