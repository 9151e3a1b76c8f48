"""Records survive the wire; anything else is refused with its own error."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tachograph.schemas import models
from tachograph.schemas.errors import (
    EmptyMessageError,
    EncodeError,
    MalformedError,
    TrailingBytesError,
    TruncatedError,
    UnknownFramingError,
    UnknownSchemaError,
    WireError,
    WrongTypeError,
)
from tachograph.schemas.publish import WIRE_MODELS
from tachograph.schemas.wire import Codec, Framing, from_avro, load_catalogue, split, to_avro
from tests.schemas import samples
from tests.schemas.strategies import avro_values, model_values

CODEC = Codec()
NAMES = load_catalogue().names
by_name = pytest.mark.parametrize("name", NAMES)
by_model = pytest.mark.parametrize("model", WIRE_MODELS, ids=lambda model: model.__name__)


@by_model
@settings(max_examples=25)
@given(data=st.data())
def test_a_model_survives_the_wire(model: type[BaseModel], data: st.DataObject) -> None:
    """Model to bytes to model is the identity, for every type that travels."""
    original = data.draw(model_values(model))
    value = CODEC.encode(model.__name__, to_avro(original))
    decoded = CODEC.decode(value)
    assert decoded.name == model.__name__
    assert from_avro(model, decoded.record) == original


@by_name
@settings(max_examples=25)
@given(data=st.data())
def test_a_plain_record_survives_the_wire(name: str, data: st.DataObject) -> None:
    """Encode then decode is the identity for every schema, rows of tables included."""
    record = data.draw(avro_values(load_catalogue().latest(name).schema))
    assert CODEC.decode(CODEC.encode(name, record)) == (name, record)


@pytest.mark.parametrize("sample", samples.RECORDS, ids=lambda sample: type(sample).__name__)
def test_a_believable_record_survives_the_wire(sample: models.Record) -> None:
    """The full example of every record type comes back whole."""
    name = type(sample).__name__
    assert from_avro(type(sample), CODEC.decode_as(name, CODEC.encode(name, to_avro(sample)))) == sample


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_our_errors(noise: bytes) -> None:
    """Whatever arrives, the decoder answers with a record or a WireError."""
    with contextlib.suppress(WireError):
        CODEC.decode(noise)


@by_name
@settings(max_examples=25)
@given(noise=st.binary(max_size=300))
def test_random_bytes_after_a_known_fingerprint_raise_only_our_errors(name: str, noise: bytes) -> None:
    """A sound framing around nonsense is refused like any other nonsense."""
    with contextlib.suppress(WireError):
        CODEC.decode(load_catalogue().latest(name).prefix + noise)


@given(data=st.data())
def test_every_cut_is_noticed(data: st.DataObject) -> None:
    """A record cut anywhere is refused, never read as a shorter one."""
    value = CODEC.encode("AgentDecision", to_avro(samples.AGENT_DECISION))
    cut = data.draw(st.integers(0, len(value) - 1))
    with pytest.raises(WireError):
        CODEC.decode(value[:cut])


SOUND = CODEC.encode("RunStarted", to_avro(samples.RUN_STARTED))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param(None, EmptyMessageError, id="no value"),
        pytest.param(b"", EmptyMessageError, id="empty value"),
        pytest.param(b"{}", UnknownFramingError, id="JSON instead of Avro"),
        pytest.param(b"\xc3\x01\x00", TruncatedError, id="cut within the fingerprint"),
        pytest.param(b"\x00\x00", TruncatedError, id="cut within the registry id"),
        pytest.param(b"\xc3\x01" + bytes(8), UnknownSchemaError, id="fingerprint nobody published"),
        pytest.param(b"\x00\x00\x00\x00\x07", UnknownSchemaError, id="registry id without a registry"),
        pytest.param(SOUND[:-3], TruncatedError, id="cut within the record"),
        pytest.param(SOUND + b"\x00", TrailingBytesError, id="bytes left over"),
        pytest.param(SOUND[:10] + b"\x02\xff" + SOUND[12:], MalformedError, id="text that is not UTF-8"),
    ],
)
def test_each_way_of_being_wrong_has_its_error(value: bytes | None, error: type[WireError]) -> None:
    """The dead letter says which of the ways it was."""
    with pytest.raises(error):
        CODEC.decode(value)


def test_a_record_of_another_type_is_refused() -> None:
    """A caller that needs one type is not handed another."""
    with pytest.raises(WrongTypeError, match="expected a RunEnded, found a RunStarted"):
        CODEC.decode_as("RunEnded", SOUND)


def test_an_encode_error_does_not_quote_the_value() -> None:
    """What did not fit is named by type only."""
    with pytest.raises(EncodeError) as caught:
        CODEC.encode("RunStarted", to_avro(samples.RUN_STARTED) | {"seq": "canary-5d1f"})
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_foreign_record_that_breaks_the_model_is_named_by_field() -> None:
    """The reading side says which field a foreign producer left out, without its neighbours' values."""
    record = to_avro(samples.DECISION_EVENT)
    record["evaluation"] = None
    decoded = CODEC.decode_as("DecisionEvent", CODEC.encode("DecisionEvent", record))
    assert decoded["evaluation"] is None
    with pytest.raises(MalformedError, match="not a valid DecisionEvent: see evaluation"):
        from_avro(models.DecisionEvent, decoded)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(("trace_id",), id="correlation: trace"),
        pytest.param(("run_id",), id="correlation: run"),
        pytest.param(("span_id",), id="correlation: span"),
        pytest.param(("evaluation",), id="evaluation"),
        pytest.param(("prompt_provenance", "capture_mode"), id="capture mode"),
        pytest.param(("prompt_provenance", "prompt_bundle"), id="prompt bundle"),
        pytest.param(("prompt_provenance", "prompt_bundle_hash"), id="bundle hash"),
    ],
)
def test_the_wire_lets_observability_failures_through(path: tuple[str, ...]) -> None:
    """What a foreign producer forgets must reach the worker to be caught there."""
    record = to_avro(samples.DECISION_EVENT)
    target = record
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = None
    assert CODEC.decode(CODEC.encode("DecisionEvent", record)).record == record


def test_framings_are_told_apart_by_their_first_bytes() -> None:
    """The sniffing needs no setting."""
    assert split(SOUND) == (Framing.SINGLE_OBJECT, SOUND[:10])
    assert split(b"\x00\x00\x00\x00\x07rest") == (Framing.CONFLUENT, b"\x00\x00\x00\x00\x07")
