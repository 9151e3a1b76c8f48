"""What every model shares: frozen, closed, and with a few field types that the Avro mapping knows."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, PlainSerializer

from tachograph.schemas.privacy import check_metadata

MAX_CONTENT_BYTES: Final = 64 * 1024
"""Single content that may be stored inline. Anything larger goes to the artifact store and leaves a pointer."""


class AvroHint:
    """Marks a field whose Avro type differs from what its Python type suggests."""

    def __init__(self, kind: Literal["json", "lenient"]) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"AvroHint({self.kind!r})"


JSON: Final = AvroHint("json")
"""Free JSON: canonical JSON text on the wire, because Avro has no "anything" type."""

LENIENT: Final = AvroHint("lenient")
"""Required of our SDK, nullable on the wire: a foreign producer that forgets it must be caught, not dropped."""


def _utc_micros(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs a time zone")
    return value.astimezone(UTC)


def _inline_size(value: str) -> str:
    # A character is at most 4 bytes, so short texts need no encoding to be judged.
    if len(value) * 4 > MAX_CONTENT_BYTES and len(value.encode(errors="surrogatepass")) > MAX_CONTENT_BYTES:
        raise ValueError(f"content over {MAX_CONTENT_BYTES} bytes must be stored as an artifact and left as a pointer")
    return value


def _checked_metadata(value: dict[str, Any]) -> dict[str, Any]:
    check_metadata(value)
    return value


def _workspace_relative(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or str(path) != value or "\\" in value:
        raise ValueError("an artifact path is relative to the workspace, without '..', in normal form")
    return value


def _decimal(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, float) else value


Timestamp = Annotated[datetime, AfterValidator(_utc_micros)]
"""A moment, UTC, microseconds."""

Identifier = Annotated[str, Field(min_length=1, max_length=256)]
"""A name given by a producer or by us."""

UuidText = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
"""A UUID in its usual form, lower-case."""

Content = Annotated[str, AfterValidator(_inline_size)]
"""Text an agent said, saw or did, in its capture mode. Never longer than MAX_CONTENT_BYTES."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 digest, lower-case hex."""

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
"""A share or weight."""

Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A count that every JSON reader can hold."""

JsonObject = Annotated[dict[str, JsonValue], JSON]
"""Free JSON object."""

JsonAny = Annotated[JsonValue, JSON]
"""Free JSON value."""

Metadata = Annotated[dict[str, str | int | float | bool], AfterValidator(_checked_metadata)]
"""Primitive annotations under the privacy rules."""

ExactDecimal = Annotated[
    Decimal,
    BeforeValidator(_decimal),
    Field(allow_inf_nan=False, max_digits=20),
    PlainSerializer(lambda value: format(value, "f"), return_type=str),
]
"""A decimal number that is hashed: text in JSON and on the wire, because floats have no exact canonical form."""


class Frozen(BaseModel):
    """A value: immutable, no unknown fields, described by its attribute docstrings."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,  # error texts must not carry captured content
        ser_json_inf_nan="null",
    )


class Record(Frozen):
    """What every record of an agent carries."""

    tenant_id: Identifier
    """Whose data this is."""
    agent_id: Identifier
    """Which agent emitted it. In every record, so that a row never waits for the run's start to be known."""
    event_id: Identifier
    """Globally unique; UUIDv7 from our SDK."""
    trace_id: Annotated[Identifier, LENIENT]
    """Constant for the whole run; the Kafka key."""
    run_id: Annotated[Identifier, LENIENT]
    """The run it belongs to."""
    seq: Count
    """Place in the run: contiguous from 0."""
    occurred_at: Timestamp
    """When it happened, by the producer's clock."""


class ArtifactPointer(Frozen):
    """Where raw bytes are kept, and how to know them."""

    artifact_id: Identifier
    path: Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_workspace_relative)]
    """Workspace-relative, normal form."""
    hash: Sha256
    size_bytes: Count
    created_at: Timestamp
