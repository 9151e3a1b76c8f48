"""What a proposal binds of its run: the tool calls that ended before it, and the context that models were given.

A packet names how many of each there were, so that a replay knows when one is missing. The hash is a chain over the
entries in the order of their ids: concurrent calls end in any order, and hash the same.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from tachograph.schemas.canonical import sealed_bytes

TRANSCRIPT: Final = b"tachograph.transcript.v1\x00"
CONTEXT: Final = b"tachograph.context.v1\x00"

_PACKET: Final = re.compile(r"tachograph\.packet/1:(\d{1,12}):(\d{1,12})")

Entry = Mapping[str, str | bool | None]


def packet_id(calls: int, contexts: int) -> str:
    """Name of a packet whose hashes are those of this module."""
    return f"tachograph.packet/1:{calls}:{contexts}"


def packet_sizes(name: str | None) -> tuple[int, int] | None:
    """Numbers of tool calls and contexts in a packet; None if somebody else made it."""
    found = None if name is None else _PACKET.fullmatch(name)
    return None if found is None else (int(found[1]), int(found[2]))


def call_entry(
    tool_use_id: str,
    tool_name: str,
    given: str | None,
    output: str | None,
    error_type: str | None,
    *,
    skipped: bool,
) -> Entry:
    """A tool call: what it was given and what came of it, each as captured and hashed, or as an artifact's id."""
    return {
        "id": tool_use_id,
        "tool": tool_name,
        "input": given,
        "output": output,
        "error_type": error_type,
        "skipped": skipped,
    }


def prompt_entry(span_id: str, bundle_hash: str | None) -> Entry:
    """A prompt as sent."""
    return {"id": f"prompt:{span_id}", "hash": bundle_hash or ""}


def manifest_entry(manifest_id: str, prefix_hash: str) -> Entry:
    """A context manifest, by the prefix it compiled."""
    return {"id": f"manifest:{manifest_id}", "hash": prefix_hash}


def content_name(text: str | None, artifact_id: str | None) -> str | None:
    """Content as an entry names it."""
    if artifact_id is not None:
        return f"artifact:{artifact_id}"
    return None if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chain(purpose: bytes, entries: Iterable[Entry]) -> str:
    """Hash over entries."""
    head = hashlib.sha256(purpose).digest()
    for entry in sorted(entries, key=lambda item: str(item["id"])):
        head = hashlib.sha256(head + hashlib.sha256(sealed_bytes(dict(entry))).digest()).digest()
    return f"sha256:{head.hex()}"
