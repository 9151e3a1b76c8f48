"""Avro schemas of the models. The models are the one source; the ``.avsc`` files are made from them and compared.

How Python types map:

===========================  ==========================================================================
``str``, ids, enums          ``string``; an enum's values are listed in ``tachograph.symbols``
``int``                      ``long``
``float``                    ``double``
``bool``                     ``boolean``
``Decimal``                  ``string``: hashed numbers have one exact text
``datetime``                 ``long`` with ``timestamp-micros``
``X | None``                 union with null, default null
``tuple[X, ...]``            array
``dict[str, X]``             map; metadata maps hold a union of primitives
model                        record
free JSON                    ``string`` with ``tachograph.json``: canonical JSON text
lenient field                as it is, or null
===========================  ==========================================================================
"""

import types
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tachograph.schemas.models.base import AvroHint

NAMESPACE: Final = "tachograph"
AvroSchema = dict[str, Any]
AvroType = str | AvroSchema | list[Any]

TIMESTAMP: Final[AvroSchema] = {"type": "long", "logicalType": "timestamp-micros"}
_PRIMITIVES: Final[Mapping[type, AvroType]] = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    Decimal: "string",
    datetime: TIMESTAMP,
}


def record_schema(model: type[BaseModel]) -> AvroSchema:
    """Avro schema of a model. Deterministic: the same model gives the same bytes."""
    return _record(model, seen=set())


def _record(model: type[BaseModel], seen: set[str]) -> AvroSchema:
    seen.add(model.__name__)
    schema: AvroSchema = {
        "type": "record",
        "name": model.__name__,
        "namespace": NAMESPACE,
        "doc": _one_line(model.__doc__),
        "fields": [_field(name, info, seen) for name, info in model.model_fields.items()],
    }
    return schema


def _field(name: str, info: FieldInfo, seen: set[str]) -> AvroSchema:
    hints = {item.kind for item in info.metadata if isinstance(item, AvroHint)}
    avro_type = {"type": "string", "tachograph.json": True} if "json" in hints else _type(info.annotation, seen)
    if "lenient" in hints:
        avro_type = _nullable(avro_type)
    field: AvroSchema = {"name": info.serialization_alias or name, "type": avro_type}
    if info.description:
        field["doc"] = _one_line(info.description)
    if "lenient" in hints:
        field["default"] = None
    elif not info.is_required():
        default = info.default.value if isinstance(info.default, Enum) else _default(avro_type)
        if default is not _NO_DEFAULT:
            field["default"] = default
    return field


def _type(annotation: Any, seen: set[str]) -> AvroType:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        if any(isinstance(item, AvroHint) and item.kind == "json" for item in arguments[1:]):
            return {"type": "string", "tachograph.json": True}
        return _type(arguments[0], seen)
    if origin in (Union, types.UnionType):
        branches = [_type(item, seen) for item in arguments if item is not types.NoneType]
        one = branches[0] if len(branches) == 1 else branches
        return _nullable(one) if types.NoneType in arguments else one
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0], seen)}
    if origin is dict:
        return {"type": "map", "values": _type(arguments[1], seen)}
    return _class(annotation, seen)


def _class(annotation: Any, seen: set[str]) -> AvroType:
    if issubclass(annotation, Enum):
        return {"type": "string", "tachograph.symbols": [member.value for member in annotation]}
    if issubclass(annotation, BaseModel):
        # Avro names a record once; later uses are by name.
        name = annotation.__name__
        return f"{NAMESPACE}.{name}" if name in seen else _record(annotation, seen)
    return _PRIMITIVES[annotation]


def _nullable(avro_type: AvroType) -> list[Any]:
    branches = avro_type if isinstance(avro_type, list) else [avro_type]
    return ["null", *(branch for branch in branches if branch != "null")]


_NO_DEFAULT: Final = object()


def _default(avro_type: AvroType) -> Any:
    """Default a reader uses for a record written before the field existed."""
    if isinstance(avro_type, list):
        return None if avro_type[0] == "null" else _NO_DEFAULT
    if isinstance(avro_type, dict):
        if "tachograph.json" in avro_type:
            return "null"
        return {"array": [], "map": {}}.get(avro_type["type"], _default(avro_type["type"]))
    return {"string": "", "long": 0, "boolean": False, "double": 0.0}.get(avro_type, _NO_DEFAULT)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())
