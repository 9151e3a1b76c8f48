"""The catalog in memory: documents by kind, name and version, each with its hash."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tachograph.processors.catalog.documents import KINDS, AnyDocument, DecisionSpec, KeySetDocument, PolicyBundle
from tachograph.schemas.canonical import sealed_bytes, sha256_hex
from tachograph.schemas.proofs.keys import KeySet

AnyKind = TypeVar("AnyKind", bound=AnyDocument)

_KIND: Final[dict[type[Any], str]] = {model: kind for kind, model in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Pinned:
    """A document and the hash of exactly what it says."""

    document: AnyDocument
    hash: str

    @property
    def reference(self) -> str:
        """Name and version."""
        return f"{self.document.name}@{self.document.version}"


class Catalog:
    """Documents that hold together. Build it with `load_catalog`."""

    def __init__(self, documents: Iterable[Pinned]) -> None:
        self.documents = tuple(sorted(documents, key=lambda pinned: (pinned.document.kind, pinned.reference)))
        self._found: dict[tuple[str, str], Pinned] = {
            (pinned.document.kind, pinned.reference): pinned for pinned in self.documents
        }

    def find(self, kind: type[AnyKind], reference: str) -> AnyKind | None:
        """A document by ``name@version``; None if the catalog has none."""
        pinned = self._found.get((_KIND[kind], reference))
        return pinned.document if pinned is not None and isinstance(pinned.document, kind) else None

    def hash_of(self, kind: str, reference: str) -> str | None:
        """Hash of a document by kind and ``name@version``; None if the catalog has none."""
        pinned = self._found.get((kind, reference))
        return None if pinned is None else pinned.hash

    def spec(self, key: str, version: str) -> DecisionSpec | None:
        """The spec that a proposal names."""
        return self.find(DecisionSpec, f"{key}@{version}")

    def bundles(self, name: str) -> list[PolicyBundle]:
        """Every version of a policy bundle."""
        return [
            pinned.document
            for pinned in self.documents
            if isinstance(pinned.document, PolicyBundle) and pinned.document.id == name
        ]

    def key_document(self, name: str) -> KeySetDocument | None:
        """The latest version of a key set, as a document."""
        found = [
            pinned.document
            for pinned in self.documents
            if isinstance(pinned.document, KeySetDocument) and pinned.document.id == name
        ]
        return max(found, key=lambda item: tuple(map(int, item.version.split("."))), default=None)

    def keys(self, name: str) -> KeySet | None:
        """The latest version of a key set."""
        latest = self.key_document(name)
        return None if latest is None else KeySet(latest.keys)

    def lock(self) -> str:
        """Kind, reference and hash of every document, a line each."""
        return "".join(f"{pinned.document.kind} {pinned.reference} {pinned.hash}\n" for pinned in self.documents)


def pin(value: object) -> str:
    """Hash of a document: SHA-256 over the canonical form of what its YAML says, comments and layout aside."""
    return "sha256:" + sha256_hex(sealed_bytes(value))
