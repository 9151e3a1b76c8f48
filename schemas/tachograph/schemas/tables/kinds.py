"""What a table is made of: columns with an Avro type and the ClickHouse type it lands in."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel

from tachograph.schemas.avro import NAMESPACE, TIMESTAMP, AvroSchema, AvroType, record_schema


@dataclass(frozen=True, slots=True)
class Kind:
    """A column type on both sides."""

    avro: AvroType
    clickhouse: str


TEXT: Final = Kind("string", "String")
WORD: Final = Kind("string", "LowCardinality(String)")
MAYBE_TEXT: Final = Kind(["null", "string"], "Nullable(String)")
TEXTS: Final = Kind({"type": "array", "items": "string"}, "Array(String)")
NUMBER: Final = Kind("long", "Int64")
MAYBE_NUMBER: Final = Kind(["null", "long"], "Nullable(Int64)")
MAYBE_FLOAT: Final = Kind(["null", "double"], "Nullable(Float64)")
FLAG: Final = Kind("boolean", "Bool")
TIME: Final = Kind(TIMESTAMP, "DateTime64(6, 'UTC')")
MAYBE_TIME: Final = Kind(["null", TIMESTAMP], "Nullable(DateTime64(6, 'UTC'))")
METADATA: Final = Kind({"type": "map", "values": "string"}, "Map(LowCardinality(String), String)")
NUMBERS_BY_WORD: Final = Kind({"type": "map", "values": "long"}, "Map(LowCardinality(String), Int64)")


@dataclass(frozen=True, slots=True)
class Column:
    """One column, and what it means."""

    name: str
    kind: Kind
    comment: str
    default: Any = None
    """For a column that came later: what a row written before it is read with, where that is not null."""


def rows_of(record_name: str, *columns: Column) -> Kind:
    """A column that holds a list of small records."""
    avro = {"type": "array", "items": {"type": "record", "name": record_name, "fields": _fields(columns)}}
    inner = ", ".join(f"{column.name} {column.kind.clickhouse}" for column in columns)
    return Kind(avro, f"Array(Tuple({inner}))")


def _fields(columns: Iterable[Column]) -> list[dict[str, Any]]:
    fields = []
    for column in columns:
        field: dict[str, Any] = {"name": column.name, "type": column.kind.avro, "doc": column.comment}
        if isinstance(column.kind.avro, list) or column.default is not None:
            field["default"] = column.default
        fields.append(field)
    return fields


@dataclass(frozen=True)
class Table:
    """A table, and the Avro record whose fields are its columns."""

    name: str
    comment: str
    columns: tuple[Column, ...]

    @property
    def record_name(self) -> str:
        """Avro name of a row."""
        return f"{NAMESPACE}.rows.{self.name}"

    @cached_property
    def schema(self) -> AvroSchema:
        """Avro schema of a row as the worker writes it."""
        return {
            "type": "record",
            "name": self.name,
            "namespace": f"{NAMESPACE}.rows",
            "doc": self.comment,
            "fields": _fields(self.columns),
        }


PARTITION_COLUMN: Final = Column("_partition", NUMBER, "Partition of the row's topic.")
OFFSET_COLUMN: Final = Column("_offset", NUMBER, "Offset of the row in its partition.")
SINK_COLUMNS: Final = (PARTITION_COLUMN, OFFSET_COLUMN)
"""What the sink appends to every row: the last fields of the schema that ClickHouse reads."""


def columns_of(model: type[BaseModel], *, words: frozenset[str] = frozenset()) -> tuple[Column, ...]:
    """Columns of a flat model, one per field. ``words`` are texts with few values, besides the enums."""
    return tuple(_column(field, words) for field in record_schema(model)["fields"])


def _column(field: dict[str, Any], words: frozenset[str]) -> Column:
    avro = field["type"]
    if isinstance(avro, dict) and "tachograph.symbols" in avro:
        kind = WORD
    elif avro == "string":
        kind = WORD if field["name"] in words else TEXT
    else:
        kind = next(kind for kind in _MODEL_KINDS if kind.avro == avro)
    return Column(field["name"], kind, field["doc"])


_MODEL_KINDS: Final = (MAYBE_TEXT, TEXTS, NUMBER, MAYBE_NUMBER, MAYBE_FLOAT, FLAG, TIME, MAYBE_TIME)
