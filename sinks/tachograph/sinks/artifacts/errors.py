"""What can go wrong with the artifact store. Texts carry no content and no key.

::

    TachographError
    └── ArtifactStoreError        stop: the message says what to do
        ├── NoKeyError                the key is not here: name the file that holds it
        ├── WrongKeyError             the key is not the one it was sealed with
        ├── ArtifactMissingError      nothing of that name was ever stored here
        ├── ArtifactGoneError         it was stored, and was removed on purpose
        │   ├── ArtifactExpiredError      by retention
        │   └── ArtifactErasedError       by an erasure: the key is destroyed, nobody can bring it back
        ├── ArtifactDamagedError      the stored bytes are not those that were written
        ├── UnsafePathError           the path leaves the store, or might
        └── StoreUnavailableError     retry: the folder or the object store does not answer
"""

from tachograph.schemas.errors import TachographError

__all__ = [
    "ArtifactDamagedError",
    "ArtifactErasedError",
    "ArtifactExpiredError",
    "ArtifactGoneError",
    "ArtifactMissingError",
    "ArtifactStoreError",
    "NoKeyError",
    "StoreUnavailableError",
    "UnsafePathError",
    "WrongKeyError",
]


class ArtifactStoreError(TachographError):
    """Root of all errors of the artifact store."""


class NoKeyError(ArtifactStoreError):
    """There is no key to open or seal with."""


class WrongKeyError(ArtifactStoreError):
    """The key that is here does not open this."""


class ArtifactMissingError(ArtifactStoreError):
    """Nothing of that name is stored."""


class ArtifactGoneError(ArtifactStoreError):
    """It was stored, and was removed on purpose."""


class ArtifactExpiredError(ArtifactGoneError):
    """Retention removed the bytes."""


class ArtifactErasedError(ArtifactGoneError):
    """An erasure destroyed the key and removed the bytes."""


class ArtifactDamagedError(ArtifactStoreError):
    """What is stored is not what was written."""


class UnsafePathError(ArtifactStoreError):
    """A path that is absolute, climbs up, or passes a symbolic link."""


class StoreUnavailableError(ArtifactStoreError):
    """The store does not answer now."""
