"""How much of what an agent said and saw is stored: all of it, a redacted form, or a keyed hash.

One policy stands between content and everything durable. It never raises for content, whatever that is: what cannot be
read or redacted in time is dropped and the drop is part of the result.
"""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import orjson

from tachograph.producers.redaction.redactor import Redactor
from tachograph.producers.redaction.results import DropReason, RuleCount, dropped
from tachograph.producers.redaction.safe import plain_text, safe_text
from tachograph.schemas.canonical import keyed_hash
from tachograph.schemas.enums import CaptureMode

if TYPE_CHECKING:  # the models bring pydantic; content can be captured without it
    from tachograph.schemas.models.base import ArtifactPointer

__all__ = [
    "HASH_PREFIX",
    "INLINE_LIMIT",
    "LABEL_LIMIT",
    "ArtifactWriter",
    "CapturePolicy",
    "Captured",
    "CapturedBundle",
    "capture_bundle",
]

INLINE_LIMIT: Final = 64 * 1024
"""Bytes of captured content that stay inside a record. The contract's MAX_CONTENT_BYTES, without its import."""

LABEL_LIMIT: Final = 256
"""Characters of a name: what the contract's Identifier holds."""

HASH_PREFIX: Final = "hmac:"
"""What captured content starts with in mode hashed; 64 hexadecimal digits follow."""

_log: Final = logging.getLogger(__name__)


class ArtifactWriter(Protocol):
    """Keeps content that is too large for a record.

    Called with content that already is in its capture mode, in the agent's own thread or, at level memory, by the one
    that sends. It must have encrypted the bytes before they leave the process, and may be called by several threads at
    once. It may raise: the policy then cuts the content off and says so.
    """

    def put(self, data: bytes, *, suffix: str = "") -> "ArtifactPointer":
        """Store the bytes and return where they are. The same bytes give the same pointer path."""
        ...


class Captured(NamedTuple):
    """Content in its capture mode, fit for a record."""

    text: str
    """What stands in the record: text, redacted text, ``hmac:…``, or a marker that says where the content is or why it
    is not. Never over INLINE_LIMIT bytes; always encodes as UTF-8."""
    mode: CaptureMode
    size_bytes: int
    """UTF-8 bytes of the original, before capture."""
    pointer: "ArtifactPointer | None" = None
    """Where the captured content is, if it was too large to be inline."""
    truncated_bytes: int = 0
    """Bytes of captured content that were cut off, because there was no artifact writer or it failed."""
    findings: tuple[RuleCount, ...] = ()
    """Redactions by rule id, never by value."""
    dropped_reason: DropReason | None = None
    """Why the content is not there, if it was dropped."""
    writer_failed: bool = False
    """An artifact writer was there and did not take the content."""

    def __repr__(self) -> str:
        # Never the text: it may be all there is, in mode full.
        return (
            f"Captured(mode={self.mode.value!r}, size_bytes={self.size_bytes}, dropped_reason={self.dropped_reason!r})"
        )

    @property
    def inline(self) -> str | None:
        """The text, or None where a pointer says it all: for fields that come in a pair of content and pointer."""
        return None if self.pointer is not None else self.text


@dataclass(frozen=True, slots=True)
class CapturedBundle:
    """A prompt bundle in its capture mode."""

    bundle: dict[str, Any] = field(repr=False)
    """The bundle in the shape of the contract's PromptBundle."""
    parts: tuple[Captured, ...] = ()
    """Every content of it: what was redacted, dropped, cut off or moved out."""


class CapturePolicy:
    """The capture mode with what it needs. Immutable, and safe to share between threads.

    ``hash_key`` is what makes hashes of short texts unguessable; give every process of a tenant the same one to compare
    hashes between them. Without it a key is made that dies with the process. It is never logged or shown.
    """

    __slots__ = ("_key", "_redactor", "_writer", "mode")

    def __init__(
        self,
        mode: CaptureMode = CaptureMode.REDACTED,
        redactor: Redactor | None = None,
        hash_key: bytes | None = None,
        *,
        writer: ArtifactWriter | None = None,
    ) -> None:
        self.mode: Final = CaptureMode(mode)
        self._redactor: Final = redactor if redactor is not None else Redactor()
        self._key: Final = hash_key if hash_key is not None else secrets.token_bytes(32)
        self._writer: Final = writer
        keyed_hash(self._key, b"")  # a key that is too short is refused here, not at the first content

    def __repr__(self) -> str:
        return f"CapturePolicy(mode={self.mode.value!r}, writer={self._writer is not None})"

    @property
    def redactor(self) -> Redactor:
        """What mode redacted redacts with, and what names pass in mode hashed."""
        return self._redactor

    def with_mode(self, mode: CaptureMode) -> "CapturePolicy":
        """Return the same policy in another mode: same rules, same key, same writer."""
        return CapturePolicy(mode, self._redactor, self._key, writer=self._writer)

    def text(self, content: str, *, path: str | None = None, suffix: str = ".txt") -> Captured:
        """Capture a text. ``path`` is the file it came from, if any: path rules may drop it whole."""
        try:
            return self._text(plain_text(content), path, suffix)
        except Exception as error:  # noqa: BLE001 - whatever the caller passed, recording goes on without it
            return self._failed(error)

    def value(self, obj: object, *, path: str | None = None) -> Captured:
        """Capture any Python value as JSON text. Objects that JSON does not know are named by their type."""
        try:
            return self._value(obj, path)
        except Exception as error:  # noqa: BLE001 - as above
            return self._failed(error)

    def label(self, text: str, limit: int = LABEL_LIMIT) -> str:
        """Return a name that is stored in every mode (tool, file, model): redacted unless the mode is full, cut to fit.

        Names are needed to read a record, so mode hashed keeps them; a secret in one is redacted all the same.
        """
        try:
            name = safe_text(plain_text(text))
            if self.mode is not CaptureMode.FULL:
                name = self._redactor.text(name).text
        except Exception as error:  # noqa: BLE001 - as above
            name = self._failed(error).text
        return name[:limit]

    def hash(self, content: str | bytes) -> str:
        """Return the keyed hash of content, 64 hexadecimal digits."""
        return keyed_hash(self._key, content)

    def json(self, obj: object, *, key_names: bool = True) -> Any:
        """Capture a value as JSON data instead of text: an object stays an object, ``{"hash": …}`` in mode hashed."""
        try:
            if self.mode is CaptureMode.REDACTED:
                return self._redactor.value(obj, key_names=key_names).value
            plain = self._redactor.plain(obj).value
            if self.mode is CaptureMode.FULL:
                return plain
            return {"hash": HASH_PREFIX + self.hash(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS))}
        except Exception as error:  # noqa: BLE001 - as above
            return {"dropped": self._failed(error).text}

    def bundle(self, bundle: Mapping[str, Any]) -> dict[str, Any]:
        """Capture a prompt bundle part by part; `capture_bundle` also tells what became of the parts.

        The `prompt_bundle_hash` of the record is not taken here: it is over the bundle as sent, whatever the mode.
        """
        return capture_bundle(self, bundle).bundle

    def _text(self, content: str, path: str | None, suffix: str) -> Captured:
        size = len(content) if content.isascii() else len(content.encode("utf-8", "surrogatepass"))
        if self.mode is CaptureMode.HASHED:
            return Captured(HASH_PREFIX + self.hash(content), self.mode, size)
        if self.mode is CaptureMode.FULL:
            return self._fit(safe_text(content), size, suffix)
        redacted = self._redactor.text(content, path=path)
        return self._fit(redacted.text, size, suffix, redacted.findings, redacted.dropped_reason)

    def _value(self, obj: object, path: str | None) -> Captured:
        if self.mode is CaptureMode.REDACTED:
            result = self._redactor.value(obj, path=path)
        else:
            result = self._redactor.plain(obj)
        data = orjson.dumps(result.value, option=orjson.OPT_SORT_KEYS)
        if self.mode is CaptureMode.HASHED and result.dropped_reason is None:
            return Captured(HASH_PREFIX + self.hash(data), self.mode, len(data))
        text = result.value if result.dropped_reason is not None and isinstance(result.value, str) else data.decode()
        return self._fit(text, len(data), ".json", result.findings, result.dropped_reason)

    def _fit(
        self,
        text: str,
        size: int,
        suffix: str,
        findings: tuple[RuleCount, ...] = (),
        reason: DropReason | None = None,
    ) -> Captured:
        """Move captured text out of the record if it is too large for it."""
        if len(text) * 4 <= INLINE_LIMIT or len(data := text.encode()) <= INLINE_LIMIT:
            return Captured(text, self.mode, size, findings=findings, dropped_reason=reason)
        failed = False
        if self._writer is not None:
            try:
                pointer = self._writer.put(data, suffix=suffix)
            except Exception as error:  # noqa: BLE001 - a full disk must not stop the agent
                failed = True
                _log.warning("artifact writer failed (%s); content is cut off", type(error).__name__)
            else:
                marker = f"[ARTIFACT:{pointer.artifact_id} {len(data)} bytes]"
                return Captured(marker, self.mode, size, pointer, 0, findings, reason)
        kept, cut = _truncated(data)
        return Captured(kept, self.mode, size, None, cut, findings, reason, failed)

    def _failed(self, error: Exception) -> Captured:
        # The error's own text may hold content: only its type is told.
        _log.warning("content dropped: capture failed (%s)", type(error).__name__)
        return Captured(dropped(DropReason.ERROR), self.mode, 0, dropped_reason=DropReason.ERROR)


def _truncated(data: bytes) -> tuple[str, int]:
    """Cut UTF-8 bytes to what fits with a marker behind it; a character is kept whole or not at all."""
    room = INLINE_LIMIT - len(f"[TRUNCATED: {len(data)} bytes]")
    head = data[:room].decode("utf-8", "ignore")
    cut = len(data) - len(head.encode())
    return f"{head}[TRUNCATED: {cut} bytes]", cut


def capture_bundle(policy: CapturePolicy, bundle: Mapping[str, Any]) -> CapturedBundle:
    """Capture messages, retrieval, tools and transformations of a bundle. A part that is not there stays empty.

    Message content may be text or the list of blocks that providers use; blocks become JSON text.
    """
    parts: list[Captured] = []

    def content(value: object) -> str:
        part = policy.text(value) if isinstance(value, str) else policy.value(value)
        parts.append(part)
        return part.text

    def optional(value: object) -> str | None:
        return None if value is None else content(value)

    def tool(spec: Mapping[str, Any]) -> dict[str, Any]:
        schema = spec.get("schema")
        return {
            "name": policy.label(spec["name"]),
            "description": optional(spec.get("description")),
            # In a JSON Schema a member called "password" describes a parameter, so key names say nothing there.
            "schema": None if schema is None else policy.json(schema, key_names=False),
        }

    retrieval = bundle.get("retrieval") or {}
    captured = {
        "messages": [
            {"role": policy.label(message["role"]), "content": content(message.get("content", ""))}
            for message in bundle.get("messages") or ()
        ],
        "retrieval": {
            "enabled": bool(retrieval.get("enabled", False)),
            "sources": [content(source) for source in retrieval.get("sources") or ()],
            "snippets": optional(retrieval.get("snippets")),
        },
        "tools": [tool(spec) for spec in bundle.get("tools") or ()],
        "transformations": [
            {"type": policy.label(step["type"]), "summary": content(step["summary"])}
            for step in bundle.get("transformations") or ()
        ],
    }
    return CapturedBundle(captured, tuple(parts))
