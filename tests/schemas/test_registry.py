"""With a registry, values have Confluent framing; both framings are always read."""

import io
import json

import fastavro
import pytest

from tachograph.schemas import models
from tachograph.schemas.errors import RegistryError, UnknownSchemaError
from tachograph.schemas.wire import Codec, Framing, load_catalogue, split, to_avro
from tachograph.schemas.wire.framing import confluent_prefix
from tachograph.schemas.wire.registry import ConfluentRegistry
from tests.schemas import samples


@pytest.fixture
def registry() -> ConfluentRegistry:
    return ConfluentRegistry("mock://contract")


@pytest.mark.parametrize("sample", samples.RECORDS, ids=lambda sample: type(sample).__name__)
def test_records_survive_confluent_framing(registry: ConfluentRegistry, sample: models.Record) -> None:
    """A codec with the same registry reads what another wrote."""
    name, record = type(sample).__name__, to_avro(sample)
    value = Codec(registry=registry).encode(name, record)
    assert split(value)[0] is Framing.CONFLUENT
    assert Codec(registry=registry).decode(value) == (name, record)


def test_a_codec_with_a_registry_reads_single_object_encoding(registry: ConfluentRegistry) -> None:
    """Turning the registry on does not orphan what is in the topic already."""
    record = to_avro(samples.RUN_STARTED)
    assert Codec(registry=registry).decode(Codec().encode("RunStarted", record)).record == record


def test_an_unknown_id_is_an_unknown_schema(registry: ConfluentRegistry) -> None:
    """An id that the registry does not have is a dead letter, not a retry."""
    with pytest.raises(UnknownSchemaError, match="no schema 4711"):
        Codec(registry=registry).decode(confluent_prefix(4711) + b"x")


def test_a_foreign_schema_is_refused(registry: ConfluentRegistry) -> None:
    """A sound schema that is none of ours is not guessed at."""
    schema_id = registry.id_of("other", {"type": "record", "name": "Order", "namespace": "shop", "fields": []})
    with pytest.raises(UnknownSchemaError):
        Codec(registry=registry).decode(confluent_prefix(schema_id))


def test_an_older_writer_is_read_into_the_newest_schema(registry: ConfluentRegistry) -> None:
    """A producer that has not heard of a field yet gets its default."""
    schema = json.loads(json.dumps(load_catalogue().latest("AgentDecision").schema))
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "candidates"]
    record = to_avro(samples.AGENT_DECISION)
    value = confluent_prefix(registry.id_of("older", schema)) + _body(schema, record)
    assert Codec(registry=registry).decode(value).record == record | {"candidates": []}


def test_an_unreachable_registry_is_a_retry() -> None:
    """A registry that does not answer must not turn records into dead letters."""
    codec = Codec(registry=ConfluentRegistry("http://127.0.0.1:9"))
    with pytest.raises(RegistryError, match="did not answer"):
        codec.decode(confluent_prefix(1) + b"x")


def _body(schema: dict[str, object], record: dict[str, object]) -> bytes:
    out = io.BytesIO()
    plain = json.loads(json.dumps(schema).replace('"logicalType": "timestamp-micros"', '"x": 1'))
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain), record)
    return out.getvalue()
