"""Why nothing was sealed.

::

    TachographError
    ├── KeyNotEffectiveError    stop: no key may sign at that moment (schemas.proofs.keys)
    └── SealError
        ├── UnsealableError     dead-letter: the proposal has no canonical form outside of its outputs
        ├── HeadError           stop: what the log holds does not verify; sealing on would fork it
        └── CustodyError        stop: the private key is missing, open to others, or not the key set's
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
