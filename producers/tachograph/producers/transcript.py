"""What a run did so far, as hashes: a proposal binds it, so that a replay can tell whether the stores still hold it."""

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tachograph.schemas.transcripts import Entry


class Transcript:
    """Tool calls that ended and contexts that models were given. Safe to use from many threads.

    Keeps the captured texts' hashes, not the texts. Runs whose calls are captured later (durability ``memory``) have
    no transcript, because what is hashed does not exist yet when the call returns.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Entry] = []
        self._contexts: list[Entry] = []
        self._is_whole = True

    def called(
        self,
        tool_use_id: str,
        tool_name: str,
        given: tuple[str | None, dict[str, Any] | None],
        output: tuple[str | None, dict[str, Any] | None],
        error_type: str | None,
        *,
        skipped: bool,
    ) -> None:
        """A tool call ended. Input and output are pairs of captured text and pointer."""
        from tachograph.schemas.transcripts import call_entry  # noqa: PLC0415 - importing the tracer must be cheap

        entry = call_entry(tool_use_id, tool_name, _named(given), _named(output), error_type, skipped=skipped)
        with self._lock:
            self._calls.append(entry)

    def prompted(self, span_id: str, bundle_hash: str | None) -> None:
        """A model was given a prompt."""
        from tachograph.schemas.transcripts import prompt_entry  # noqa: PLC0415 - as above

        with self._lock:
            self._contexts.append(prompt_entry(span_id, bundle_hash))

    def compiled(self, manifest_id: str, prefix_hash: str) -> None:
        """A context manifest was recorded."""
        from tachograph.schemas.transcripts import manifest_entry  # noqa: PLC0415 - as above

        with self._lock:
            self._contexts.append(manifest_entry(manifest_id, prefix_hash))

    def missed(self) -> None:
        """A call was recorded without its content being captured yet."""
        self._is_whole = False

    def packet(self) -> dict[str, str] | None:
        """The ``replay`` fields of a proposal; None if there is nothing to bind, or not all of it."""
        from tachograph.schemas.transcripts import CONTEXT, TRANSCRIPT, chain, packet_id  # noqa: PLC0415 - as above

        with self._lock:
            calls, contexts = list(self._calls), list(self._contexts)
        if not self._is_whole or not (calls or contexts):
            return None
        return {
            "replay_packet_id": packet_id(len(calls), len(contexts)),
            "compiled_context_hash": chain(CONTEXT, contexts),
            "tool_transcript_chain_hash": chain(TRANSCRIPT, calls),
        }


def _named(content: tuple[str | None, dict[str, Any] | None]) -> str | None:
    from tachograph.schemas.transcripts import content_name  # noqa: PLC0415 - as above

    text, pointer = content
    return content_name(text, None if pointer is None else pointer["artifact_id"])
