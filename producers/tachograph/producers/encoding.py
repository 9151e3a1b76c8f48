"""Records to bytes: the envelope by hand, the rest by a writer made of its schema.

Every record type begins with the same seven fields, and an Avro record is its fields' bytes one after the other. So
what follows the envelope (the tail) is encoded before the run's lock is taken, and under the lock only a sequence
number is put in front of it.
"""

from typing import Any

from tachograph.producers.avro_bytes import ENVELOPE
from tachograph.schemas.errors import EncodeError
from tachograph.schemas.wire.catalogue import Catalogue, load_catalogue
from tachograph.schemas.wire.framing import confluent_prefix
from tachograph.schemas.wire.registry import SchemaRegistry
from tachograph.schemas.wire.writers import Writer, compile_writer


class RecordEncoder:
    """Encodes tails with the newest schemas. One per tracer; safe to share between threads."""

    def __init__(self, *, catalogue: Catalogue | None = None, registry: SchemaRegistry | None = None) -> None:
        self._catalogue = catalogue or load_catalogue()
        self._registry = registry
        self._types: dict[str, tuple[bytes, bytes, Writer]] = {}

    def framing(self, name: str) -> tuple[bytes, bytes]:
        """What stands before a record of this type, and its CloudEvents type."""
        prefix, cloud_event, _ = self._types.get(name) or self._load(name)
        return prefix, cloud_event

    def tail(self, name: str, body: dict[str, Any]) -> bytes:
        """All fields after the envelope. Raises EncodeError, which never quotes the value."""
        write = (self._types.get(name) or self._load(name))[2]
        try:
            return write(body)
        except Exception as error:  # noqa: BLE001 - whatever it is, the value did not fit
            raise EncodeError(f"a {name} does not fit its schema ({type(error).__name__})") from None

    def _load(self, name: str) -> tuple[bytes, bytes, Writer]:
        latest = self._catalogue.latest(name)
        fields = latest.schema["fields"]
        if tuple(field["name"] for field in fields[: len(ENVELOPE)]) != ENVELOPE:
            raise EncodeError(f"a {name} does not start with the envelope")
        prefix = latest.prefix
        if self._registry is not None:
            prefix = confluent_prefix(self._registry.id_of(f"tachograph.{name}", latest.schema))
        loaded = (
            prefix,
            f"tachograph.{name}.v{latest.version}".encode(),
            compile_writer(latest.schema | {"fields": fields[len(ENVELOPE) :]}, b""),
        )
        self._types[name] = loaded
        return loaded
