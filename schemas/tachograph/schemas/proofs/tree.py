"""The Merkle tree of RFC 6962, grown a leaf at a time.

`CompactRange` keeps only what the next root needs (one hash per bit of the size); a sealer holds one per log. `Tree`
keeps every complete subtree, and so proves anything about any size it has had.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from tachograph.schemas.proofs.errors import ProofError

EMPTY_ROOT: Final = hashlib.sha256().digest()
"""Root of the tree without leaves."""

HASH_BYTES: Final = 32


def leaf_hash(data: bytes) -> bytes:
    """Hash of a leaf. The first byte keeps leaves and inner nodes apart, or a node could be passed off as a leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def grown(size: int, edge: tuple[bytes, ...], leaf: bytes) -> tuple[int, tuple[bytes, ...]]:
    """Size and right edge of a tree with one more leaf: each trailing one bit of the size is a subtree it completes."""
    completed = (~size & (size + 1)).bit_length() - 1
    for left in reversed(edge[len(edge) - completed :]):
        leaf = node_hash(left, leaf)
    return size + 1, (*edge[: len(edge) - completed], leaf)


class CompactRange:
    """The right edge of a tree: roots of the complete subtrees, largest first, that its size is the sum of."""

    __slots__ = ("_edge", "size")

    def __init__(self, size: int = 0, edge: Sequence[bytes] = ()) -> None:
        if size < 0 or len(edge) != size.bit_count() or any(len(part) != HASH_BYTES for part in edge):
            raise ProofError("the edge of a tree has one hash of 32 bytes for each bit set in its size")
        self.size = size
        self._edge = list(edge)

    @property
    def edge(self) -> tuple[bytes, ...]:
        """What to keep in order to go on later."""
        return tuple(self._edge)

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash. Each trailing one bit of the old size is a subtree that this leaf completes."""
        self.size, edge = grown(self.size, tuple(self._edge), leaf)
        self._edge = list(edge)

    def root(self) -> bytes:
        """Root over all leaves so far."""
        if not self._edge:
            return EMPTY_ROOT
        root = self._edge[-1]
        for left in reversed(self._edge[:-1]):
            root = node_hash(left, root)
        return root


class Tree:
    """All leaves and complete subtrees: 64 bytes a leaf, proofs in O(log² size)."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels: list[list[bytes]] = [[]]
        for leaf in leaves:
            self.append(leaf)

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return len(self._levels[0])

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash."""
        level, levels = 0, self._levels
        levels[0].append(leaf)
        while len(levels[level]) % 2 == 0:
            if level + 1 == len(levels):
                levels.append([])
            levels[level + 1].append(node_hash(levels[level][-2], levels[level][-1]))
            level += 1

    def root(self, size: int | None = None) -> bytes:
        """Root of the tree as it was at a size; of all leaves unless told."""
        size = self._known(self.size if size is None else size)
        return self._range(0, size) if size else EMPTY_ROOT

    def inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """Path that shows the leaf at ``index`` under the root of ``size``, nearest sibling first."""
        size = self._known(self.size if size is None else size)
        if not 0 <= index < size:
            raise ProofError(f"leaf {index} is not under a tree of {size} leaves")
        path: list[bytes] = []
        start, end = 0, size
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                path.append(self._range(middle, end))
                end = middle
            else:
                path.append(self._range(start, middle))
                start = middle
        return path[::-1]

    def consistency(self, old: int, new: int | None = None) -> list[bytes]:
        """Path that shows the tree of ``new`` leaves to begin with the tree of ``old`` leaves."""
        new = self._known(self.size if new is None else new)
        if not 0 <= old <= new:
            raise ProofError(f"a tree of {old} leaves is not the beginning of one of {new}")
        if old in (0, new):
            return []
        path: list[bytes] = []
        start, end, whole = 0, new, True
        while old != end:
            middle = start + _split(end - start)
            if old <= middle:
                path.append(self._range(middle, end))
                end = middle
            else:
                path.append(self._range(start, middle))
                start, whole = middle, False
        if not whole:
            path.append(self._range(start, end))
        return path[::-1]

    def _known(self, size: int) -> int:
        if not 0 <= size <= self.size:
            raise ProofError(f"this tree has {self.size} leaves, not {size}")
        return size

    def _range(self, start: int, end: int) -> bytes:
        count = end - start
        if count & (count - 1) == 0:
            return self._levels[count.bit_length() - 1][start // count]
        middle = start + _split(count)
        return node_hash(self._range(start, middle), self._range(middle, end))


def _split(count: int) -> int:
    """The largest power of two below a count: where RFC 6962 divides a tree."""
    return 1 << (count - 1).bit_length() - 1
