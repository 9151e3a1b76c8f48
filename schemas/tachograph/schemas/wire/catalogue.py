"""The published schemas: every version of every record type and row, as ``.avsc`` files in the package.

``index.json`` beside them maps fingerprints to files, so that a process parses only the schemas it meets.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

import fastavro

from tachograph.schemas.avro import AvroSchema
from tachograph.schemas.errors import UnknownSchemaError
from tachograph.schemas.wire.framing import single_object_prefix

AVSC_PACKAGE: Final = "tachograph.schemas"
AVSC_FOLDER: Final = "avsc"
INDEX_FILE: Final = "index.json"


def fingerprint(schema: AvroSchema) -> str:
    """CRC-64-AVRO of the parsing canonical form as little-endian hex, the order in which it travels."""
    canonical = fastavro.schema.to_parsing_canonical_form(schema)
    return str(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))


def without_logical_types(schema: Any) -> Any:
    """The same schema for a reader that wants plain numbers: building datetimes would cost the worker a third more."""
    if isinstance(schema, dict):
        return {key: without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
    if isinstance(schema, list):
        return [without_logical_types(item) for item in schema]
    return schema


@dataclass(frozen=True)
class SchemaVersion:
    """One published version of one record type."""

    name: str
    """Record type, or ``rows.<table>``."""
    version: int
    fingerprint: str

    @property
    def file_name(self) -> str:
        """File in the avsc folder."""
        return f"{self.name}.v{self.version}.avsc"

    @cached_property
    def schema(self) -> AvroSchema:
        """The schema as published."""
        text = (files(AVSC_PACKAGE) / AVSC_FOLDER / self.file_name).read_text(encoding="utf-8")
        loaded: AvroSchema = json.loads(text)
        return loaded

    @cached_property
    def plain(self) -> Any:
        """Parsed for reading and writing records whose times are plain microseconds."""
        return fastavro.parse_schema(without_logical_types(self.schema))

    @cached_property
    def prefix(self) -> bytes:
        """Single-object framing of its records."""
        return single_object_prefix(self.fingerprint)


class Catalogue:
    """Every published schema version."""

    def __init__(self, versions: list[SchemaVersion]) -> None:
        self._by_prefix: Mapping[bytes, SchemaVersion] = {item.prefix: item for item in versions}
        self._by_name: dict[str, list[SchemaVersion]] = {}
        for item in sorted(versions, key=lambda item: item.version):
            self._by_name.setdefault(item.name, []).append(item)

    @property
    def names(self) -> tuple[str, ...]:
        """Every record type and row."""
        return tuple(self._by_name)

    def latest(self, name: str) -> SchemaVersion:
        """Newest version of a record type."""
        return self.versions(name)[-1]

    def versions(self, name: str) -> tuple[SchemaVersion, ...]:
        """All versions of a record type, oldest first."""
        try:
            return tuple(self._by_name[name])
        except KeyError:
            raise UnknownSchemaError(f"there is no schema named {name!r} in this version") from None

    def by_prefix(self, prefix: bytes) -> SchemaVersion:
        """The version that a single-object framing names."""
        try:
            return self._by_prefix[prefix]
        except KeyError:
            raise UnknownSchemaError(
                f"schema fingerprint {prefix[2:].hex()} is not known to this version; was the producer upgraded first?"
            ) from None


@cache
def load_catalogue() -> Catalogue:
    """The catalogue that ships with the package."""
    index = json.loads((files(AVSC_PACKAGE) / AVSC_FOLDER / INDEX_FILE).read_text(encoding="utf-8"))
    return Catalogue([SchemaVersion(**entry) for entry in index])
