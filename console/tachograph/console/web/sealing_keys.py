"""The public keys that records are checked with: a file beside the console, never something a record brings along."""

from tachograph.processors.sealing.key_set import key_set_of, read_key_set
from tachograph.schemas.errors import TachographError
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.settings import Settings


class NoKeySetError(TachographError):
    """There is no usable key set on this machine. Put it where the sentence says."""


def key_set(settings: Settings) -> KeySet:
    """The key set that the sealer of this machine uses, or the copy of one that was put there."""
    try:
        return read_key_set(key_set_of(settings))
    except TachographError:
        raise NoKeySetError(
            "There is no usable set of public keys on the console's machine. Name the sealer's key set in "
            "TACHOGRAPH_SEALER__KEY_SET, or check an evidence bundle with: tachograph verify"
        ) from None
