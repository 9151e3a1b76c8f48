"""The public keys that records are checked with: a file beside the console, never something a record brings along."""

from pathlib import Path

import yaml
from pydantic import ValidationError

from tachograph.schemas.errors import TachographError
from tachograph.schemas.proofs.keys import KeyEntry, KeySet
from tachograph.schemas.settings import Settings


class NoKeySetError(TachographError):
    """There is no usable key set on this machine. Put it where the sentence says."""


def key_set(settings: Settings) -> KeySet:
    """The key set that the sealer of this machine uses, or the copy of one that was put there."""
    path: Path = settings.home / "keys" / "sealing.yaml"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        return KeySet([KeyEntry.model_validate(entry) for entry in document["keys"]])
    except (OSError, ValueError, TypeError, KeyError, ValidationError, yaml.YAMLError, TachographError):
        raise NoKeySetError(
            "There is no usable set of public keys on the console's machine. Put the sealer's key set at "
            "keys/sealing.yaml of its state folder, or check an evidence bundle with: tachograph verify"
        ) from None
