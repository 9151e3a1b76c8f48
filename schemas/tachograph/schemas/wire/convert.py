"""Models to plain Avro records and back, by walking the model's schema once and keeping the walk.

Used where models are used: in the SDK and in the reading side. The worker and the sink never come here.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from tachograph.schemas.avro import record_schema
from tachograph.schemas.canonical import canonical_bytes
from tachograph.schemas.errors import MalformedError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
Convert = Callable[[Any], Any]
M = TypeVar("M", bound=BaseModel)


def micros(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(micros_since_epoch: int) -> datetime:
    """Aware datetime of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros_since_epoch)


def to_avro(model: BaseModel) -> dict[str, Any]:
    """Plain record of a model, ready for the codec."""
    record: dict[str, Any] = _writer(type(model))(model)
    return record


def from_avro(model: type[M], record: dict[str, Any]) -> M:
    """Model of a plain record. Raises MalformedError if a foreign producer wrote what the model does not allow."""
    try:
        return model.model_validate(_reader(model)(record))
    except (ValidationError, ValueError, OverflowError) as error:
        fields = _refused_fields(error)
        raise MalformedError(f"the record is not a valid {model.__name__}{fields}") from None


def _refused_fields(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f" ({type(error).__name__})"
    places = sorted({".".join(str(part) for part in item["loc"]) for item in error.errors(include_input=False)})
    return f": see {', '.join(places)}" if places else ""


@cache
def _writer(model: type[BaseModel]) -> Convert:
    return _record_writer(record_schema(model), _nested_models({}, model))


@cache
def _reader(model: type[BaseModel]) -> Convert:
    return _node_reader(record_schema(model), {})


def _nested_models(found: dict[str, type[BaseModel]], model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    found[model.__name__] = model
    for info in model.model_fields.values():
        for nested in _models_in(info.annotation):
            if nested.__name__ not in found:
                _nested_models(found, nested)
    return found


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for item in getattr(annotation, "__args__", ()) for model in _models_in(item)]


def _record_writer(schema: dict[str, Any], models: dict[str, type[BaseModel]]) -> Convert:
    infos = models[schema["name"]].model_fields
    attributes = {info.serialization_alias or name: name for name, info in infos.items()}
    fields = [
        (field["name"], attributes[field["name"]], _node_writer(field["type"], models)) for field in schema["fields"]
    ]

    def write(model: Any) -> dict[str, Any]:
        values = model.__dict__
        return {name: convert(values[attribute]) for name, attribute, convert in fields}

    return write


def _node_writer(node: Any, models: dict[str, type[BaseModel]]) -> Convert:  # noqa: PLR0911 - one return per kind of node
    if isinstance(node, list):
        return _union_writer(node, models)
    if isinstance(node, str):
        # Named reference to a record, or a primitive.
        return _writer(models[node.rpartition(".")[2]]) if node.startswith("tachograph.") else _plain
    if "tachograph.json" in node:
        return _json_text
    match node["type"]:
        case "record":
            return _record_writer(node, models)
        case "array":
            item = _node_writer(node["items"], models)
            return lambda values: [item(value) for value in values]
        case "map":
            entry = _node_writer(node["values"], models)
            return lambda values: {key: entry(value) for key, value in values.items()}
        case "long" if node.get("logicalType") == "timestamp-micros":
            return micros
        case _:
            return _plain


def _union_writer(node: list[Any], models: dict[str, type[BaseModel]]) -> Convert:
    branches = [branch for branch in node if branch != "null"]
    if len(branches) > 1:  # metadata: primitives only
        return _plain
    convert = _node_writer(branches[0], models)
    return lambda value: None if value is None else convert(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return format(value, "f")
    return value


def _json_text(value: Any) -> str:
    return canonical_bytes(value).decode()


def _node_reader(node: Any, named: dict[str, Convert]) -> Convert:  # noqa: PLR0911 - one return per kind of node
    if isinstance(node, list):
        branches = [branch for branch in node if branch != "null"]
        if len(branches) > 1:
            return _same
        convert = _node_reader(branches[0], named)
        return _same if convert is _same else lambda value: None if value is None else convert(value)
    if isinstance(node, str):
        return named.get(node, _same)
    if "tachograph.json" in node:
        return orjson.loads
    match node["type"]:
        case "record":
            return _record_reader(node, named)
        case "array":
            item = _node_reader(node["items"], named)
            return _same if item is _same else lambda values: [item(value) for value in values]
        case "long" if node.get("logicalType") == "timestamp-micros":
            return moment
        case _:
            return _same


def _record_reader(node: dict[str, Any], named: dict[str, Convert]) -> Convert:
    fields = [(field["name"], _node_reader(field["type"], named)) for field in node["fields"]]
    changed = [(name, convert) for name, convert in fields if convert is not _same]

    def read(record: dict[str, Any]) -> dict[str, Any]:
        return record | {name: convert(record[name]) for name, convert in changed}

    named[f"{node.get('namespace', '')}.{node['name']}"] = read
    return read


def _same(value: Any) -> Any:
    return value
