"""Hypothesis strategies for every model and every Avro schema, read off the types themselves."""

import types
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin

import annotated_types
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tachograph.schemas import models
from tachograph.schemas.enums import CODE_ACTIONS, REASON_CODES, SIGNAL_CODES, RunStatus
from tachograph.schemas.models.base import AvroHint
from tachograph.schemas.models.decision_event import AgentAction, ArtifactMetadata
from tachograph.schemas.privacy import blocked_name

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
JSON_NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1)
METADATA = st.dictionaries(
    st.text("abcdefgh_", min_size=1, max_size=20).filter(lambda key: blocked_name(key) is None),
    TEXT | JSON_NUMBERS | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
    max_size=4,
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | JSON_NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcxyz", max_size=6), inner, max_size=3),
    max_leaves=6,
)
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive


def model_values(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Valid instances of a model."""
    fields = {name: _field(info, name) for name, info in model.model_fields.items()}
    # The alias of ToolSpec.schema_ is the only way in.
    aliased = {
        info.validation_alias if isinstance(info.validation_alias, str) else name: fields[name]
        for name, info in model.model_fields.items()
    }
    return st.fixed_dictionaries(aliased).map(lambda values: _coherent(model, values)).map(model.model_validate)


def _field(info: FieldInfo, name: str) -> st.SearchStrategy[Any]:
    if name == "metadata" and info.annotation is not ArtifactMetadata:
        return METADATA
    if name == "path" and not info.is_required():
        return st.none() | TEXT
    if name == "path":
        return st.just("artifacts/ab/cd.bin")
    return _typed(info.annotation, tuple(info.metadata))


def _typed(annotation: Any, constraints: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if any(isinstance(item, AvroHint) and item.kind == "json" for item in constraints):
        return st.dictionaries(st.text("abc", max_size=3), JSON_VALUES, max_size=3)
    if origin is Annotated:
        extra = [item for part in arguments[1:] for item in (part.metadata if isinstance(part, FieldInfo) else (part,))]
        return _typed(arguments[0], (*constraints, *extra))
    if origin in (Union, types.UnionType):
        return st.one_of([st.none() if item is types.NoneType else _typed(item, constraints) for item in arguments])
    if origin is tuple:
        least = max((item.min_length for item in constraints if isinstance(item, annotated_types.MinLen)), default=0)
        return st.lists(_typed(arguments[0]), min_size=least, max_size=2 + least).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text("abc", min_size=1, max_size=4), _typed(arguments[1]), max_size=3)
    return _plain(annotation, constraints)


def _plain(annotation: Any, constraints: tuple[Any, ...]) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one per type
    low: Any = max((_number(item.ge) for item in constraints if isinstance(item, annotated_types.Ge)), default=None)
    high: Any = min((_number(item.le) for item in constraints if isinstance(item, annotated_types.Le)), default=None)
    if issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    if issubclass(annotation, BaseModel):
        return model_values(annotation)
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(-(2**31) if low is None else low, 2**53 - 1 if high is None else high)
    if annotation is float:
        return st.floats(low, high, allow_nan=False, allow_infinity=False)
    if annotation is Decimal:
        return st.decimals(low or 0, high or 10**6, places=2)
    if annotation is datetime:
        return TIMES
    assert annotation is str, annotation
    pattern = next((getattr(item, "pattern", None) for item in constraints if hasattr(item, "pattern")), None)
    if pattern is not None:
        return st.from_regex(str(pattern), fullmatch=True).map(str.strip)
    least = max((item.min_length for item in constraints if isinstance(item, annotated_types.MinLen)), default=0)
    return st.text(st.characters(codec="utf-8"), min_size=least, max_size=40)


def _coherent(model: type[BaseModel], values: dict[str, Any]) -> dict[str, Any]:
    """Mend what the model's own cross-field rules ask for."""
    if model is models.AgentDecision:
        values["reason_code"] = min(REASON_CODES[values["decision_type"]])
    elif model is models.AgentQualitySignal:
        values["signal_code"] = min(SIGNAL_CODES[values["signal_type"]])
    elif model is models.RunEnded:
        values["emitted"] = values["seq"] + 1
        values["status"] = RunStatus.SUCCEEDED if values["status"] is RunStatus.RUNNING else values["status"]
    elif model is models.ContextManifest:
        values["selected_chunk_ids"] = values["candidate_chunk_ids"][:1]
    elif model is models.DecisionEvent:
        values["schema_version"] = "0.2"
        session = values["session"].model_copy(update={"run_id": values["run_id"], "agent_id": values["agent_id"]})
        values["session"] = session
        if values["prompt_provenance"] is None or values["model_output"] is None:
            values["prompt_provenance"] = values["model_output"] = None
        action: AgentAction = values["agent_action"]
        if action.action_type in CODE_ACTIONS and not action.artifacts:
            values["agent_action"] = action.model_copy(update={"action_type": "plan"})
    return values


def avro_values(schema: Any, named: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one per type
    """Plain records that fit an Avro schema, times as plain numbers."""
    named = {} if named is None else named
    if isinstance(schema, list):
        return st.one_of([avro_values(branch, named) for branch in schema])
    if isinstance(schema, str):
        if schema in named:
            return avro_values(named[schema], named)
        return {
            "null": st.none(),
            "string": TEXT,
            "long": st.integers(-(2**63), 2**63 - 1),
            "double": st.floats(allow_nan=False),
            "boolean": st.booleans(),
        }[schema]
    match schema["type"]:
        case "record":
            named[f"{schema.get('namespace', '')}.{schema['name']}"] = schema
            return st.fixed_dictionaries(
                {field["name"]: avro_values(field["type"], named) for field in schema["fields"]}
            )
        case "array":
            return st.lists(avro_values(schema["items"], named), max_size=3)
        case "map":
            return st.dictionaries(TEXT, avro_values(schema["values"], named), max_size=3)
        case other:
            return avro_values(other, named)


def _number(bound: Any) -> Any:
    """A bound of a constraint; the library types it by protocol only."""
    return bound
