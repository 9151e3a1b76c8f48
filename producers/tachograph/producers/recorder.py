"""What every part of a run records through: the channel, the capture policy, and the rules for what users give."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tachograph.producers import checks
from tachograph.producers.audit import AuditTrail
from tachograph.producers.capture import CapturePolicy
from tachograph.producers.channel import RunChannel
from tachograph.producers.clock import Clock
from tachograph.producers.guard import Guard
from tachograph.producers.ids import Ids
from tachograph.producers.labels import Labels
from tachograph.schemas.enums import CaptureMode, SignalType
from tachograph.schemas.privacy import PrivacyError, Refusal, RefusalKind, clean_metadata

_SIGNAL_OF: Final = {
    RefusalKind.BLOCKED_KEY: "blocked_key",
    RefusalKind.TOO_LONG: "too_long",
    RefusalKind.KEY_TOO_LONG: "too_long",
}
"""Signal code of a refusal; all others are values or keys of a wrong type."""


_TOLD: Final = (
    "step_id",
    "step_type",
    "name",
    "status",
    "duration_ms",
    "decision_type",
    "selected",
    "reason_code",
    "confidence",
    "signal_type",
    "signal_code",
    "value",
    "error_type",
    "trigger",
    "tool_use_id",
    "manifest_id",
    "record_id",
    "overrides_event_id",
)
"""Fields of a record that its line in the audit trail repeats: names, codes and numbers."""


class Recorder:
    """One run's means of recording. Its methods raise nothing of their own unless the guard is loud."""

    def __init__(
        self,
        *,
        channel: RunChannel,
        policy: CapturePolicy,
        labels: Labels,
        guard: Guard,
        clock: Clock,
        ids: Ids,
        full_allowed: bool = True,
    ) -> None:
        self.channel = channel
        self.policy = policy
        self.label = labels
        self.guard = guard
        self.clock = clock
        self.ids = ids
        self._full_allowed = full_allowed
        self.audit: AuditTrail | None = None
        """The session's trail, if there is one."""

    def policy_for(self, mode: CaptureMode | str | None) -> CapturePolicy:
        """The run's policy, or the same in another mode. Where ``full`` is not allowed, the run's policy stays."""
        if mode is None or mode == self.policy.mode:
            return self.policy
        wanted = checks.member("capture_mode", mode, CaptureMode)
        if wanted is CaptureMode.FULL and not self._full_allowed:
            self.guard.note("capture_mode", "full capture in an environment that is not controlled")
            return self.policy
        return self.policy.with_mode(wanted)

    def record(
        self,
        name: str,
        build: Callable[[], dict[str, Any]],
        *,
        span_id: str | None = None,
        event_id: str | None = None,
        at: int | None = None,
    ) -> str | None:
        """Build and emit one record. Returns its event id; None if it was refused or not kept, which is accounted."""
        try:
            body = build()
        except PrivacyError as error:
            # Raised by `metadata` in strict mode only: a choice of the user, whatever the guard would do.
            self.channel.lose(name)
            self.guard.note(name, type(error).__name__)
            raise
        except Exception as error:  # noqa: BLE001 - the guard decides
            self.channel.lose(name)
            self.guard.swallow(name, error)
            return None
        kept = self.channel.emit_body(name, body, span_id=span_id, event_id=event_id, at=at)
        if self.audit is not None:
            self.audit.log_event(name, self._told(body), at=at)
        return kept

    def _told(self, body: dict[str, Any]) -> dict[str, Any]:
        """What the audit trail repeats of a record."""
        told = {key: body[key] for key in _TOLD if body.get(key) is not None}
        action = body.get("agent_action")
        if action is not None:
            told |= {"action_type": action["action_type"], "run_id": body["session"]["run_id"]}
        return told

    def metadata(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Metadata as it may be stored. What was refused is told by a signal that names the block list's key only."""
        if not given:
            return {}
        kept, refusals = clean_metadata(given)
        label = self.label
        if refusals:
            self._refused(refusals)
            entries = list(given.items())
            for refusal in refusals:
                if refusal.kind is RefusalKind.TOO_LONG and refusal.position is not None:
                    # Redacted before it is cut: no rule knows half a secret.
                    key, value = entries[refusal.position]
                    kept[str(key)] = label(str(value), 100)
        return {label(key, 100): label(value, 100) if isinstance(value, str) else value for key, value in kept.items()}

    def _refused(self, refusals: list[Refusal]) -> None:
        if self.guard.strict:
            raise PrivacyError(tuple(refusals))
        by_code: dict[str, list[str]] = {}
        for refusal in refusals:
            by_code.setdefault(_SIGNAL_OF.get(refusal.kind, "not_primitive"), []).append(refusal.label)
        for code, labels in by_code.items():
            self.guard.note("metadata", code)
            self.channel.emit_body(
                "AgentQualitySignal",
                {
                    "signal_id": self.ids.uuid(),
                    "step_id": None,
                    "signal_type": SignalType.PRIVACY_REJECTED.value,
                    "signal_code": code,
                    "value": True,
                    "weight": None,
                    "metadata": {"key": labels[0], "count": len(labels)},
                    "record_id": None,
                },
            )


def error_name(error: BaseException) -> str:
    """Class of an error, as records name it."""
    return type(error).__name__ or "Exception"
