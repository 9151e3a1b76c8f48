"""Under which references a decision can point to what a run recorded.

===================================  ==================================================================
``tool:<tool>:<tool call id>``       a tool call that returned
``artifact:<id>``,                   an artifact of a decision event; the first also the stored output of a tool
``artifact:<type>:<id>``             call. Each also with ``#sha256:<hash>`` behind it
source reference, item id            an item that a context manifest says the model saw
===================================  ==================================================================

The agent's side and the sealer's use the same spelling, so what resolves for one resolves for the other.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tachograph.schemas.enums import ToolLeg


def tool_reference(tool_name: str, tool_use_id: str) -> str:
    """A tool call that returned."""
    return f"tool:{tool_name}:{tool_use_id}"


def artifact_references(artifact_id: str, content_hash: str | None) -> Iterator[str]:
    """An artifact, and exactly this content of it."""
    yield f"artifact:{artifact_id}"
    if content_hash:
        yield f"artifact:{artifact_id}#sha256:{content_hash.removeprefix('sha256:')}"


def references(name: str, record: Mapping[str, Any]) -> Iterator[str]:
    """What a record of that type makes known."""
    if name == "ToolCallRecord":
        if record["leg"] != ToolLeg.PRE and not record["skipped"] and record["error_type"] is None:
            yield tool_reference(record["tool_name"], record["tool_use_id"])
            if record["output_pointer"] is not None:
                pointer = record["output_pointer"]
                yield from artifact_references(pointer["artifact_id"], pointer["hash"])
    elif name == "ContextManifest":
        for item in record["included"]:
            yield item["source_ref"]
            yield item["item_id"]
    elif name == "DecisionEvent":
        for artifact in record["agent_action"]["artifacts"]:
            yield from artifact_references(artifact["id"], artifact["hash"])
            yield from artifact_references(f"{artifact['type']}:{artifact['id']}", artifact["hash"])
