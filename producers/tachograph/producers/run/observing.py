"""What an agent says about a run: decisions, signals, proposals, and what was in its context."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from tachograph.producers.deciding import Deciding, Proposing, Signalling, names
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.manifest import ContextBuilder
from tachograph.producers.observations import decision_body, signal_body
from tachograph.producers.proposals import proposal_body
from tachograph.producers.run.core import RunCore
from tachograph.producers.step import Step
from tachograph.schemas.enums import DecisionType, SignalType

if TYPE_CHECKING:
    from tachograph.producers.records import GovernedDecision, PlannedDecision
    from tachograph.schemas.models.terms import DecisionTerms


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
        """The agent chose between options. The step is the current one unless given.

        ::

            run.record_decision(
                decision_type="tool_selection",
                selected="cache",
                reason_code="cached_data_sufficient",
                candidates=["cache", "api"],
                confidence=0.95,
                metadata={"cache_age_minutes": 3},
            )
        """

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
        record_id: str | None = None,
    ) -> str | None:
        """A fact correlated with the quality of the outcome. The step is the current one unless given.

        ::

            run.record_quality_signal(signal_type="schema_valid", signal_code="full_match", value=True, weight=0.9)

        ``record_id`` names the decision record that the fact is about, also one of an earlier run.
        """
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
                record_id=record_id,
            ),
        )

    def feedback(
        self, record_id: str, code: str, *, weight: float | None = None, metadata: Mapping[str, Any] | None = None
    ) -> str | None:
        """What a person, or a system after us, said of a decision: accepted, corrected or rejected.

        ::

            run.feedback("dr_2026_05_09_a17", "rejected", metadata={"source": "chargeback"})
        """
        return self.record_quality_signal(
            signal_type=SignalType.USER_FEEDBACK,
            signal_code=code,
            value=code == "accepted",
            weight=weight,
            metadata=metadata,
            record_id=record_id,
        )

    def deciding(
        self,
        decision_type: DecisionType | str,
        *,
        candidates: Iterable[str] = (),
        step_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Deciding:
        """A decision around the code that makes it: a context manager or a decorator, plain or async.

        ::

            with run.deciding("tool_selection", candidates=["cache", "api"]) as decision:
                decision.choose("cache", "cached_data_sufficient", confidence=0.95)

            @run.deciding("retry_strategy", candidates=["retry", "give up"])
            def after_an_error(attempts):
                return ("retry", "transient_error") if attempts < 3 else ("give up", "max_retries_reached")
        """
        fields = {"candidates": names(candidates), "step_id": step_id, "metadata": metadata}
        return Deciding(self._whole, decision_type, fields)

    def signalling(
        self,
        signal_type: SignalType | str,
        signal_code: str,
        *,
        weight: float | None = None,
        step_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Signalling:
        """A signal around the code that it is about: true unless the code raises, or what the code says.

        ::

            with run.signalling("tool_success", "first_attempt"):
                search("weather")

            @run.signalling("schema_valid", "full_match", weight=0.9)
            def is_valid(answer):
                return "content" in answer
        """
        fields = {"weight": weight, "step_id": step_id, "metadata": metadata}
        return Signalling(self._whole, signal_type, signal_code, fields)

    def proposing(self, **fields: Any) -> Proposing:
        """A proposal around the code that decides: a context manager or a decorator, plain or async.

        ::

            with run.proposing(**proposal) as proposing:
                proposing.fields["outputs"] = {"refund_cents": 1200}

            @run.proposing(**proposal)
            def decide(invoice):
                return {"refund_cents": invoice["cents"]}
        """
        return Proposing(self._whole, fields)

    def propose_record(self, **fields: Any) -> str | None:
        """Propose a governed decision, to be checked and sealed. Returns the event id.

        ::

            run.propose_record(**proposal)

        Fields are those of RecordProposal, less the envelope; ``record_id`` is made if not given. Read-only decisions
        are proposed too where they affect a user, a later workflow or memory.
        ``replay`` binds the tool calls and prompts of the run so far unless given. `governed_decision` builds all of it
        piece by piece.
        """

        def body() -> dict[str, Any]:
            replay = None if fields.get("replay") is not None else self.transcript.packet()
            return proposal_body(self.recorder, fields if replay is None else {**fields, "replay": replay})

        return self.recorder.record("RecordProposal", body)

    @overload
    def governed_decision(
        self, decision: str, decision_version: str, *, subjects: Iterable[str], **fields: Any
    ) -> "GovernedDecision": ...

    @overload
    def governed_decision(
        self, decision: "DecisionTerms", *, subjects: Iterable[str], **fields: Any
    ) -> "PlannedDecision": ...

    def governed_decision(
        self, decision: "str | DecisionTerms", decision_version: str = "", *, subjects: Iterable[str], **fields: Any
    ) -> "GovernedDecision":
        """Build the records of a governed decision piece by piece. See GovernedDecision.

        ::

            terms = load_terms("refund.terms.json")
            with run.governed_decision(terms, subjects=["order:ord_881"], kg_snapshot="kg_1") as decision:
                decision.rejected({"outcome": "denied", "currency": "INR"})

        By its terms, tools that carry it out are checked before they are executed: see PlannedDecision.
        """
        from tachograph.producers.records import (  # noqa: PLC0415 - not at import: few agents need it
            GovernedDecision,
            PlannedDecision,
        )

        if isinstance(decision, str):
            return GovernedDecision(self._whole, decision, decision_version, subjects=subjects, **fields)
        return PlannedDecision(self._whole, decision, subjects=subjects, **fields)

    def context(self, step: Step | str | None = None, **fields: Any) -> ContextBuilder:
        """Build the context manifest of a step (the current one unless given). See ContextBuilder.

        ::

            with run.context(step, intent={"goal": "answer"}, token_limit=8000) as context:
                context.include("faq-1", "evidence", source_ref="kb:faq-1", reason="retrieval_trigger", tokens=310)
                context.exclude("faq-9", "evidence", reason="budget_limit", tokens=9000)

            @run.context(intent={"goal": "answer"})
            def compile_prompt(context, question):
                context.include("q", "user_input", source_ref="request", reason="plan_dependency", content=question)
                return question
        """
        given = step.step_id if isinstance(step, Step) else step
        builder = ContextBuilder(self._whole, self._step_id(given) or self.run_id, **fields)
        builder.again = lambda: self.context(step, **fields)
        return builder

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
        """Record a context manifest in one call; the arguments of ContextBuilder's methods as mappings.

        ::

            run.record_manifest(
                step,
                intent={"goal": "answer"},
                retrieval={"query": "double charge", "candidates": ["faq-1", "faq-9"], "selected": ["faq-1"]},
                included=[
                    {
                        "item_id": "faq-1",
                        "item_type": "evidence",
                        "source_ref": "kb:faq-1",
                        "reason": "retrieval_trigger",
                    }
                ],
                excluded=[{"item_id": "faq-9", "item_type": "evidence", "reason": "score_below_threshold"}],
                prefix="You are a friendly clerk.",
            )
        """
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
        why = ""

        def build() -> dict[str, Any]:
            nonlocal why
            try:
                manifest = body(manifest_id)
            except RecordRefusedError as error:
                why = f" ({error})"
                raise
            self.transcript.compiled(manifest_id, manifest["prefix_hash"])
            self.observed.recorded("ContextManifest", manifest, self.recorder.clock.now_micros())
            return manifest

        event_id = self.recorder.record("ContextManifest", build)
        if event_id is None and not self.recorder.channel.is_foreign:
            raise self._stopping(f"a context manifest could not be kept{why}", f"manifest:{manifest_id}")
        if step_id in self._steps:
            self._steps[step_id].has_manifest = True
        return event_id
