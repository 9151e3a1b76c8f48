"""Why nothing was sealed.

::

    TachographError
    ├── KeyNotEffectiveError    stop: no key may sign at that moment (schemas.proofs.keys)
    └── SealError
        ├── UnsealableError     dead-letter: the proposal has no canonical form outside of its outputs
        ├── HeadError           stop: what the log holds does not verify; sealing on would fork it
        ├── CustodyError        stop: the private key is missing, open to others, or not the key set's
        ├── RotationError       nothing was changed: choose another moment or key
        └── AnchorError         go on: a head was not anchored; it is a violation and a count
"""

from tachograph.schemas.errors import TachographError


class SealError(TachographError):
    """Nothing was sealed, and nothing unsigned went out."""


class UnsealableError(SealError):
    """The proposal cannot be hashed. Dead-letter it: trying again gives the same answer."""


class HeadError(SealError):
    """The log does not verify up to its head. Stop, and find out who wrote to it."""


class CustodyError(SealError):
    """The private key cannot be used. Stop and tell the operator."""


class RotationError(SealError):
    """The keys cannot be changed in that way. Nothing was written."""


class AnchorError(SealError):
    """An anchor did not take a head. Sealing goes on; the head has one witness less."""
