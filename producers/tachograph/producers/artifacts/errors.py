"""What can go wrong with artifacts. Texts carry no content and no key.

::

    TachographError
    └── ArtifactError    stop or do without: the artifact cannot be stored, found or opened
        └── GitError         do without: git could not say what changed
"""

from tachograph.schemas.errors import TachographError

__all__ = ["ArtifactError", "GitError"]


class ArtifactError(TachographError):
    """An artifact could not be written, found, or opened with this key."""


class GitError(ArtifactError):
    """Git gave no usable answer. Make the artifact from the texts before and after instead."""
