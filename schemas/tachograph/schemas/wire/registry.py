"""The Confluent schema registry, behind two questions: which id has this schema, and which schema has this id."""

import json
from typing import Protocol

from tachograph.schemas.avro import AvroSchema
from tachograph.schemas.errors import ConfigError, RegistryError, UnknownSchemaError

HTTP_NOT_FOUND = 404


class SchemaRegistry(Protocol):
    """What the codec needs of a registry. Both calls may block on the network; the codec asks once per schema."""

    def id_of(self, subject: str, schema: AvroSchema) -> int:
        """Id under which the schema is registered; registers it if it is not."""

    def schema_of(self, schema_id: int) -> AvroSchema:
        """Schema behind an id. Raises UnknownSchemaError if there is none."""


class ConfluentRegistry:
    """A registry reached over HTTP; ``mock://name`` is one inside this process."""

    def __init__(self, url: str) -> None:
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415 - an extra
        except ImportError:
            raise ConfigError(
                "schema_registry.url is set, but its client is not installed: pip install 'tachograph[pipeline]'"
            ) from None
        self._client = SchemaRegistryClient.new_client({"url": url})

    def id_of(self, subject: str, schema: AvroSchema) -> int:
        """Register, or find what is registered already."""
        from confluent_kafka.schema_registry import Schema  # noqa: PLC0415 - an extra

        try:
            schema_id: int = self._client.register_schema(subject, Schema(json.dumps(schema), "AVRO"))
        except Exception as error:
            raise RegistryError(f"the schema registry did not take {subject}: {type(error).__name__}") from error
        return schema_id

    def schema_of(self, schema_id: int) -> AvroSchema:
        """Ask for a schema by id."""
        try:
            found = self._client.get_schema(schema_id)
        except Exception as error:
            if getattr(error, "http_status_code", None) == HTTP_NOT_FOUND:
                raise UnknownSchemaError(f"the schema registry has no schema {schema_id}") from None
            raise RegistryError(f"the schema registry did not answer: {type(error).__name__}") from error
        loaded: AvroSchema = json.loads(found.schema_str or "null")
        return loaded
