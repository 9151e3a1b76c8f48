"""What a sealed log stands on: the hash chain, the Merkle tree of RFC 6962 and C2SP's signed notes. Pure, no clock."""

from tachograph.schemas.proofs.chain import GENESIS, body_hash, leaf_of, signed_message
from tachograph.schemas.proofs.checkpoint import TreeHead, open_checkpoint, sign_checkpoint
from tachograph.schemas.proofs.errors import NoteError, ProofError
from tachograph.schemas.proofs.heads import HeadOfLog, Heads, open_heads
from tachograph.schemas.proofs.note import NoteKey, open_note, sign_note
from tachograph.schemas.proofs.tree import CompactRange, Tree
from tachograph.schemas.proofs.verify import verify_consistency, verify_inclusion

__all__ = [
    "GENESIS",
    "CompactRange",
    "HeadOfLog",
    "Heads",
    "NoteError",
    "NoteKey",
    "ProofError",
    "Tree",
    "TreeHead",
    "body_hash",
    "leaf_of",
    "open_checkpoint",
    "open_heads",
    "open_note",
    "sign_checkpoint",
    "sign_note",
    "signed_message",
    "verify_consistency",
    "verify_inclusion",
]
