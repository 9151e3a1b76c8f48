"""Which schema wrote a row, and how a file of such rows begins. Asked once per schema, not once per row."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from tachograph.schemas.avro import AvroSchema
from tachograph.schemas.errors import UnknownSchemaError, WrongTypeError
from tachograph.schemas.tables import BY_NAME, SINK_COLUMNS
from tachograph.schemas.wire import Catalogue, Framing, load_catalogue, split
from tachograph.schemas.wire.framing import confluent_id
from tachograph.schemas.wire.registry import SchemaRegistry
from tachograph.sinks.clickhouse.varint import varint

_MAGIC: Final = b"Obj\x01"
_ROWS: Final = "tachograph.rows"


@dataclass(frozen=True, slots=True)
class RowSchema:
    """A writer's schema of a table's rows, ready to begin a file."""

    tag: str
    """Short name for insert tokens: the framing as hex."""
    framing_size: int
    """Bytes of a message before the row itself."""
    columns: tuple[str, ...]
    """Columns the file fills. An older schema fills fewer; ClickHouse puts defaults into the rest."""
    header: bytes
    """Start of an Avro object container file, up to the first block."""
    sync: bytes
    """Marker after each block; any 16 bytes will do, and these are the same every time."""


class RowSchemas:
    """The schemas met so far in one table's topics."""

    def __init__(
        self, table: str, *, catalogue: Catalogue | None = None, registry: SchemaRegistry | None = None
    ) -> None:
        self._table = table
        self._catalogue = catalogue or load_catalogue()
        self._registry = registry
        self._met: dict[bytes, RowSchema] = {}

    def of(self, value: bytes | None) -> RowSchema:
        """Schema of one message. Raises WireError if it is not a row of this table, RegistryError if nobody answers."""
        framing, prefix = split(value)
        found = self._met.get(prefix)
        if found is None:
            schema = self._written(framing, prefix)
            if f"{schema.get('namespace')}.{schema.get('name')}" != f"{_ROWS}.{self._table}":
                raise WrongTypeError(f"expected a row of {self._table}, found another type of record")
            found = self._met[prefix] = row_schema(self._table, schema, prefix)
        return found

    def _written(self, framing: Framing, prefix: bytes) -> AvroSchema:
        if framing is Framing.SINGLE_OBJECT:
            return self._catalogue.by_prefix(prefix).schema
        if self._registry is None:
            raise UnknownSchemaError(
                f"the row names schema {confluent_id(prefix)} of a registry, but schema_registry.url is not set"
            )
        schema: Any = self._registry.schema_of(confluent_id(prefix))
        if not isinstance(schema, dict):
            raise UnknownSchemaError("the registry's schema is not a record of ours")
        return schema


def row_schema(table: str, written: AvroSchema, prefix: bytes) -> RowSchema:
    """How to write rows of a schema as a file: the sink's own columns become the last fields."""
    extended = written | {
        "fields": [*written["fields"], *({"name": column.name, "type": column.kind.avro} for column in SINK_COLUMNS)]
    }
    text = json.dumps(extended, separators=(",", ":")).encode()
    sync = hashlib.sha256(text).digest()[:16]
    metadata = ((b"avro.codec", b"null"), (b"avro.schema", text))
    header = b"".join(
        (
            _MAGIC,
            varint(len(metadata)),
            *(varint(len(part)) + part for pair in metadata for part in pair),
            varint(0),
            sync,
        )
    )
    ours = {column.name for column in (*BY_NAME[table].columns, *SINK_COLUMNS)}
    columns = tuple(field["name"] for field in extended["fields"] if field["name"] in ours)
    return RowSchema(prefix.hex(), len(prefix), columns, header, sync)
