"""A replay: the tracer's runs are served from a recording as long as it lasts, and nothing leaves the process."""

import secrets
import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from tachograph.producers.captures import CaptureKey
from tachograph.producers.model.provenance import provenance_body
from tachograph.producers.model.response import ModelResponse
from tachograph.producers.replay import network
from tachograph.producers.replay.capturing import Comparing
from tachograph.producers.replay.divergence import Divergence, DivergenceKind
from tachograph.producers.replay.errors import NotReplayableError, ReplayDivergedError, ReplayStop
from tachograph.producers.replay.serving import Revival, default_response, output_of, response_of, revived_error
from tachograph.producers.replay.tape import Tape
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.canonical import CanonicalError, prompt_bundle_hash
from tachograph.schemas.enums import CaptureMode, Provider
from tachograph.schemas.recording import (
    RecordedModelCall,
    RecordedRun,
    RecordedToolCall,
    Recording,
    bundle_hash,
    decision_hash,
)

if TYPE_CHECKING:
    from tachograph.producers.capture import CapturePolicy
    from tachograph.producers.tracer import Tracer


class Replay:
    """A context manager. Made by ``Tracer.replaying``.

    Leaving it raises ReplayDivergedError if the code and the recording disagreed and the agent's code kept that to
    itself. ``divergence`` is the first difference, ``publisher`` has the records that the code made this time.
    """

    def __init__(self, tracer: "Tracer", recording: Recording, revival: Revival | None = None) -> None:
        require_content(recording)
        self.recording = recording
        self.revival = revival or Revival()
        self.publisher = InMemoryPublisher()
        self.capture_key = CaptureKey(secrets.token_bytes(32))
        self.divergence: Divergence | None = None
        self.lock = threading.RLock()
        self._tracer = tracer
        self._left = list(recording.runs)
        self._open: list[RunReplay] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._tracer.begin_replay(self)
        self._stack.callback(self._tracer.end_replay)
        self._stack.enter_context(network.refused(self._attempted))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if error is not None:
            if self.divergence is not None and not isinstance(error, ReplayStop):
                raise ReplayDivergedError(self.divergence) from error  # what the agent's code made of it comes second
            return
        if self.divergence is None and self.recording.run in self._left:
            self.divergence = Divergence(
                kind=DivergenceKind.MISSING_CALL,
                run_id=self.recording.run_id,
                call="run",
                place=0,
                expected_call="run",
                expected=self.recording.run.request_hash,
            )
        for run in self._open:
            run.finish()
        if self.divergence is not None:
            raise ReplayDivergedError(self.divergence)

    def run(self, parent_run_id: str | None, request: str, policy: "CapturePolicy") -> "RunReplay":
        """The recorded run that a new one repeats: the run itself first, then its sub-agents' by their request."""
        comparing = Comparing(policy)
        with self.lock:
            wanted = [
                run for run in self._left if (run.parent_run_id if run != self.recording.run else None) == parent_run_id
            ]
            found = next((run for run in wanted if comparing.text(request, run.capture_mode) == run.request_hash), None)
            if found is None:
                kind = DivergenceKind.REQUEST_CHANGED if wanted else DivergenceKind.UNEXPECTED_RUN
                self.diverged(
                    Divergence(
                        kind=kind,
                        run_id=self.recording.run_id,
                        call="run",
                        place=len(self.recording.runs) - len(self._left),
                        expected_call="run" if wanted else None,
                        expected=wanted[0].request_hash if wanted else None,
                        got=comparing.text(request, wanted[0].capture_mode if wanted else CaptureMode.REDACTED),
                    )
                )
            self._left.remove(found)
            served = RunReplay(self, found, comparing)
            self._open.append(served)
            return served

    def _parent_of(self, run: RecordedRun) -> str | None:
        # The run that is replayed stands alone, whoever had started it.
        return None if run.run_id == self.recording.run_id else run.parent_run_id

    def diverged(self, divergence: Divergence) -> NoReturn:
        """Keep the first difference, and raise it."""
        with self.lock:
            if self.divergence is None:
                self.divergence = divergence
            raise ReplayDivergedError(self.divergence)

    def check(self) -> None:
        """Nothing is served after a difference: what follows it means nothing."""
        if self.divergence is not None:
            raise ReplayDivergedError(self.divergence)

    def _attempted(self) -> None:
        with self.lock:
            if self.divergence is None:
                place = sum(run.tape.served for run in self._open)
                self.divergence = Divergence(
                    kind=DivergenceKind.NETWORK, run_id=self.recording.run_id, call="network", place=place
                )


class ServedCall:
    """A completion found for a model call."""

    def __init__(self, call: RecordedModelCall, revival: Revival) -> None:
        self._call = call
        self._revival = revival
        self.response: ModelResponse = response_of(call)
        """As the boundary reads it."""

    def result(self, revive: Callable[[ModelResponse], Any] | None = None) -> Any:
        """As the agent's code got it. Raises what the call raised then."""
        if self._call.error_type is not None:
            raise revived_error(self._call.error_type, "", self._revival)
        if not self._call.is_whole:
            raise NotReplayableError(
                "a completion is not whole in the recording: it was cut, or its artifact was not found at export; "
                "record with an artifact store and export where the store can be read"
            )
        return (self._revival.response or revive or default_response)(self.response)


class RunReplay:
    """One run of a replay."""

    def __init__(self, replay: Replay, recorded: RecordedRun, comparing: Comparing) -> None:
        self._replay = replay
        self._comparing = comparing
        self.recorded = recorded
        self.tape = Tape(replay.recording, recorded.run_id)

    @property
    def policy(self) -> "CapturePolicy":
        """The run's capture, writing nothing."""
        return self._comparing.policy

    def model_call(self, model: str, bundle: dict[str, Any]) -> ServedCall:
        """The completion of a prompt. Raises ReplayDivergedError."""
        self._replay.check()
        try:
            sent: str | None = prompt_bundle_hash(bundle)
        except CanonicalError:
            sent = None

        def captured(mode: CaptureMode) -> str:
            policy = self.policy.with_mode(mode)
            body = provenance_body(bundle, policy, provider=Provider.OTHER, model=model, parameters={}, sent_hash=None)
            return bundle_hash(body["prompt_bundle"])

        with self._replay.lock:
            found = self.tape.model_call(model, sent, captured)
        if isinstance(found, Divergence):
            self._replay.diverged(found)
        return ServedCall(found, self._replay.revival)

    def tool_call(self, name: str, given: Any, *, skipped: bool) -> RecordedToolCall:
        """What became of a tool call. Raises ReplayDivergedError."""
        self._replay.check()
        with self._replay.lock:
            found = self.tape.tool_call(name, lambda mode: self._comparing.value(given, mode), skipped=skipped)
        if isinstance(found, Divergence):
            self._replay.diverged(found)
        return found

    def output(self, call: RecordedToolCall) -> Any:
        """What the tool returned. Raises what it raised."""
        return output_of(call, self._replay.revival)

    def decided(self, body: dict[str, Any]) -> None:
        """Compare a decision. Raises ReplayDivergedError."""
        self._replay.check()
        with self._replay.lock:
            found = self.tape.decision(decision_hash(body["decision_type"], body["selected"], body["reason_code"]))
        if found is not None:
            self._replay.diverged(found)

    def finish(self) -> None:
        """The run is over: what was not asked for is missing. Kept, not raised: an error of the agent's goes first."""
        with self._replay.lock:
            if self._replay.divergence is None:
                self._replay.divergence = self.tape.left()


def require_content(recording: Recording) -> None:
    """Refuse a recording that holds hashes in place of content."""
    modes = [call.capture_mode for call in recording.model_calls]
    modes += [call.capture_mode for call in recording.tool_calls]
    hashed = modes.count(CaptureMode.HASHED)
    if hashed:
        raise NotReplayableError(
            f"{hashed} of {len(modes)} calls of run {recording.run_id} were captured in mode hashed, so there is "
            "nothing to serve: record the run with capture mode redacted or full"
        )


__all__ = ["Replay", "ReplayStop", "RunReplay", "ServedCall", "require_content"]
