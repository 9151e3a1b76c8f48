"""Refusals of proofs and notes.

::

    TachographError
    ├── ProofError     the proof does not show what it claims; the sentence says which part fails
    └── NoteError      not a signed note, or signed by nobody who is trusted
"""

from tachograph.schemas.errors import TachographError


class ProofError(TachographError):
    """A proof that does not hold. Trust nothing that came with it."""


class NoteError(TachographError):
    """A note that is malformed, or that no trusted key has signed. Ignore its text."""
