"""Artifacts that an agent's own process sealed into its workspace: read here, never written."""

from pathlib import Path
from typing import Final

from tachograph.sinks.artifacts.errors import ArtifactDamagedError, ArtifactMissingError, NoKeyError
from tachograph.sinks.artifacts.keys import KEY_BYTES
from tachograph.sinks.artifacts.paths import checked_in
from tachograph.sinks.artifacts.sealed import AGENT_VERSION, SealingKey

__all__ = ["open_agent_artifact"]

_FOLDER: Final = ".tachograph/artifacts"
_KEY_FILE: Final = "artifact.key"
_HEX: Final = frozenset("0123456789abcdef")


def open_agent_artifact(workspace: Path, artifact_id: str) -> bytes | None:
    """The content of an artifact in a workspace, with the key that lies beside it; None if there is none of that id."""
    if not artifact_id or not _HEX.issuperset(artifact_id):
        raise ArtifactMissingError("an artifact id is hexadecimal; `tachograph artifacts ls` lists them")
    shard = f"{_FOLDER}/{artifact_id[:2]}"
    names = [path.name for path in (workspace / shard).glob(f"{artifact_id}*.sealed")]
    if not names:
        return None
    path = workspace / checked_in(workspace, f"{shard}/{names[0]}")
    key_path = workspace / checked_in(workspace, f"{_FOLDER}/{_KEY_FILE}")
    try:
        key = key_path.read_bytes()
    except OSError as error:
        raise NoKeyError(f"the agent's artifact key is not at {key_path} ({type(error).__name__})") from None
    if len(key) != KEY_BYTES:
        raise NoKeyError(f"the agent's artifact key at {key_path} does not have {KEY_BYTES} bytes")
    try:
        return SealingKey(key, AGENT_VERSION).open(path.read_bytes(), artifact_id)
    except OSError as error:
        raise ArtifactDamagedError(f"the artifact's file cannot be read ({type(error).__name__})") from None
