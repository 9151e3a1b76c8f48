"""What an agent says about a run: decisions, signals, proposals, and what was in its context."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tachograph.producers.manifest import ContextBuilder
from tachograph.producers.observations import decision_body, signal_body
from tachograph.producers.proposals import proposal_body
from tachograph.producers.run.core import RunCore
from tachograph.producers.step import Step
from tachograph.schemas.enums import DecisionType, SignalType

if TYPE_CHECKING:
    from tachograph.producers.records import GovernedDecision


class ObservingRun(RunCore):
    """Methods that record and change nothing."""

    def record_decision(
        self,
        *,
        decision_type: DecisionType | str,
        selected: str,
        reason_code: str,
        candidates: Iterable[str] = (),
        confidence: float | None = None,
        step_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str | None:
        """The agent chose between options. The step is the current one unless given."""

        def body() -> dict[str, Any]:
            made = decision_body(
                self.recorder,
                decision_type=decision_type,
                selected=selected,
                reason_code=reason_code,
                candidates=candidates,
                confidence=confidence,
                step_id=self._step_id(step_id),
                metadata=metadata,
            )
            if self.replay is not None:
                self.replay.decided(made)
            return made

        return self.recorder.record("AgentDecision", body)

    def record_quality_signal(
        self,
        *,
        signal_type: SignalType | str,
        signal_code: str,
        value: bool,
        weight: float | None = None,
        step_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str | None:
        """A fact correlated with the quality of the outcome. The step is the current one unless given."""
        return self.recorder.record(
            "AgentQualitySignal",
            lambda: signal_body(
                self.recorder,
                signal_type=signal_type,
                signal_code=signal_code,
                value=value,
                weight=weight,
                step_id=self._step_id(step_id),
                metadata=metadata,
            ),
        )

    def propose_record(self, *, _before: Callable[[], None] | None = None, **fields: Any) -> str | None:
        """Propose a governed decision, to be checked and sealed. Returns the event id.

        Fields are those of RecordProposal, less the envelope; ``record_id`` is made if not given. ``replay`` binds the
        tool calls and prompts of the run so far unless given. `governed_decision` builds them piece by piece.
        """

        def body() -> dict[str, Any]:
            if _before is not None:
                _before()
            replay = None if fields.get("replay") is not None else self.transcript.packet()
            return proposal_body(self.recorder, fields if replay is None else {**fields, "replay": replay})

        return self.recorder.record("RecordProposal", body)

    def governed_decision(
        self, decision_key: str, decision_version: str, *, subjects: Iterable[str], **fields: Any
    ) -> "GovernedDecision":
        """Build the records of a governed decision piece by piece. See GovernedDecision."""
        from tachograph.producers.records import GovernedDecision  # noqa: PLC0415 - not at import: few agents need it

        return GovernedDecision(self._whole, decision_key, decision_version, subjects=subjects, **fields)

    def context(self, step: Step | str | None = None, **fields: Any) -> ContextBuilder:
        """Build the context manifest of a step (the current one unless given). See ContextBuilder."""
        given = step.step_id if isinstance(step, Step) else step
        return ContextBuilder(self._whole, self._step_id(given) or self.run_id, **fields)

    def record_manifest(
        self,
        step: Step | str | None = None,
        *,
        included: Iterable[Mapping[str, Any]] = (),
        excluded: Iterable[Mapping[str, Any]] = (),
        retrieval: Mapping[str, Any] | None = None,
        prefix: str | bytes = b"",
        **fields: Any,
    ) -> str | None:
        """Record a context manifest in one call; the arguments of ContextBuilder's methods as mappings."""
        builder = self.context(step, **fields)
        if retrieval is not None:
            builder.retrieved(**retrieval)
        for item in included:
            builder.include(**item)
        for item in excluded:
            builder.exclude(**item)
        return builder.prefix(prefix).record()

    def write_manifest(self, step_id: str, body: Callable[[str], dict[str, Any]]) -> str | None:
        """Record a manifest, or end the run as SYSTEM_ERROR."""
        self.check_going()
        manifest_id = self.recorder.ids.uuid()

        def made() -> dict[str, Any]:
            manifest = body(manifest_id)
            self.transcript.compiled(manifest_id, manifest["prefix_hash"])
            return manifest

        event_id = self.recorder.record("ContextManifest", made)
        if event_id is None and not self.recorder.channel.is_foreign:
            raise self._stopping("a context manifest could not be kept", f"manifest:{manifest_id}")
        if step_id in self._steps:
            self._steps[step_id].has_manifest = True
        return event_id
