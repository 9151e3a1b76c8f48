"""Bytes to records and back. No pydantic here: records are plain dicts, times are microseconds since 1970."""

from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

from fastavro import parse_schema, schemaless_reader

from tachograph.schemas.errors import (
    EncodeError,
    MalformedError,
    TrailingBytesError,
    TruncatedError,
    UnknownSchemaError,
    WrongTypeError,
)
from tachograph.schemas.wire.catalogue import Catalogue, load_catalogue, without_logical_types
from tachograph.schemas.wire.framing import Framing, confluent_id, confluent_prefix, split
from tachograph.schemas.wire.registry import SchemaRegistry
from tachograph.schemas.wire.writers import Writer, compile_writer


class Decoded(NamedTuple):
    """A record and the name of its type."""

    name: str
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Reader:
    name: str
    writer_schema: Any
    reader_schema: Any
    """None where the writer's version is the newest: no resolution needed."""


class Codec:
    """Encodes with the newest schemas, decodes every published version into the newest.

    Without a registry values are single-object encoded; with one they have Confluent framing. Both are always read,
    but a Confluent id can only be resolved with a registry.
    """

    def __init__(self, *, catalogue: Catalogue | None = None, registry: SchemaRegistry | None = None) -> None:
        self._catalogue = catalogue or load_catalogue()
        self._registry = registry
        self._readers: dict[bytes, _Reader] = {}
        self._writers: dict[str, Writer] = {}

    def encode(self, name: str, record: dict[str, Any]) -> bytes:
        """Bytes of a record of type ``name``. Raises EncodeError if a value does not fit."""
        write = self._writers.get(name) or self._new_writer(name)
        try:
            return write(record)
        except Exception as error:  # noqa: BLE001 - whatever it is, the value did not fit
            # Its message may quote the value; ours must not.
            raise EncodeError(f"a {name} does not fit its schema ({type(error).__name__})") from None

    def decode(self, value: bytes | None) -> Decoded:
        """The record in ``value``. Raises a WireError that says what is wrong with the bytes."""
        framing, prefix = split(value)
        assert value is not None
        reader = self._readers.get(prefix) or self._new_reader(framing, prefix)
        source = BytesIO(value)
        source.seek(framing.size)
        try:
            record: Any = schemaless_reader(source, reader.writer_schema, reader.reader_schema)
        except EOFError:
            raise TruncatedError(f"the message ends before its {reader.name} does") from None
        except Exception as error:  # noqa: BLE001 - see below
            # Random bytes make the library raise anything from IndexError to MemoryError.
            raise MalformedError(f"the message is not a sound {reader.name} ({type(error).__name__})") from None
        if source.tell() != len(value):
            raise TrailingBytesError(f"{len(value) - source.tell()} bytes are left over after the {reader.name}")
        return Decoded(reader.name, record)

    def decode_as(self, name: str, value: bytes | None) -> dict[str, Any]:
        """The record in ``value``, which must be of type ``name``."""
        decoded = self.decode(value)
        if decoded.name != name:
            raise WrongTypeError(f"expected a {name}, found a {decoded.name}")
        return decoded.record

    def schema_name(self, value: bytes | None) -> str:
        """Type of the record in ``value``, without reading it."""
        framing, prefix = split(value)
        return (self._readers.get(prefix) or self._new_reader(framing, prefix)).name

    def _new_writer(self, name: str) -> Writer:
        latest = self._catalogue.latest(name)
        prefix = latest.prefix
        if self._registry is not None:
            # Subject by record name: one topic carries many types.
            prefix = confluent_prefix(self._registry.id_of(f"tachograph.{name}", latest.schema))
        writer = self._writers[name] = compile_writer(latest.schema, prefix)
        return writer

    def _new_reader(self, framing: Framing, prefix: bytes) -> _Reader:
        if framing is Framing.SINGLE_OBJECT:
            written = self._catalogue.by_prefix(prefix)
            latest = self._catalogue.latest(written.name)
            reader = _Reader(written.name, written.plain, None if written is latest else latest.plain)
        else:
            reader = self._registry_reader(prefix)
        self._readers[prefix] = reader
        return reader

    def _registry_reader(self, prefix: bytes) -> _Reader:
        schema_id = confluent_id(prefix)
        if self._registry is None:
            raise UnknownSchemaError(
                f"the message names schema {schema_id} of a registry, but schema_registry.url is not set"
            )
        schema = self._registry.schema_of(schema_id)
        name = _name_of(schema)
        latest = self._catalogue.latest(name)
        written = parse_schema(without_logical_types(schema))
        return _Reader(name, written, latest.plain)


def _name_of(schema: Any) -> str:
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise UnknownSchemaError("the registry's schema is not a record of ours")
    full = f"{schema.get('namespace', '')}.{schema.get('name', '')}"
    return full.removeprefix("tachograph.")
