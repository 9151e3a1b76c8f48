"""Compiled writers write what the Avro library writes, byte for byte, and refuse what does not fit."""

from io import BytesIO
from typing import Any, NamedTuple

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.schemas.wire import load_catalogue
from tachograph.schemas.wire.writers import compile_writer
from tests.schemas.strategies import avro_values

CATALOGUE = load_catalogue()
WRITERS = {name: compile_writer(CATALOGUE.latest(name).schema, b"prefix") for name in CATALOGUE.names}

CHECKED = {
    "type": "record",
    "name": "Checked",
    "namespace": "tachograph",
    "fields": [
        {
            "name": "checks",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Check",
                    "fields": [{"name": "id", "type": "string"}, {"name": "score", "type": ["null", "double"]}],
                },
            },
        },
        {"name": "count", "type": "long", "default": 7},
        {"name": "ok", "type": "boolean", "default": False},
        {"name": "extra", "type": {"type": "map", "values": ["string", "long", "double", "boolean"]}, "default": {}},
    ],
}
WRITE = compile_writer(CHECKED, b"")


class Check(NamedTuple):
    id: str
    score: float | None


class Stranger(NamedTuple):
    score: float | None
    id: str


def by_the_library(schema: Any, record: dict[str, Any]) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return out.getvalue()


@pytest.mark.parametrize("name", CATALOGUE.names)
@settings(max_examples=25)
@given(data=st.data())
def test_the_bytes_are_those_of_the_library(name: str, data: st.DataObject) -> None:
    """For every published schema and any record of it."""
    record = data.draw(avro_values(CATALOGUE.latest(name).schema))
    assert WRITERS[name](record) == b"prefix" + by_the_library(CATALOGUE.latest(name).plain, record)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_of_any_size(number: int) -> None:
    """Up to 64 bits, negative ones too."""
    record = {"checks": [], "count": number}
    assert WRITE(record) == by_the_library(CHECKED, record)


@given(st.dictionaries(st.text(), st.text() | st.booleans() | st.floats() | st.integers(-(2**63), 2**63 - 1)))
def test_a_value_of_a_union_is_written_as_what_it_is(extra: dict[str, Any]) -> None:
    """True is not 1, and 1 is not 1.0."""
    record = {"checks": [], "extra": extra}
    assert WRITE(record) == by_the_library(CHECKED, record)


@given(st.lists(st.tuples(st.text(max_size=3), st.none() | st.floats(allow_nan=False))))
def test_a_named_tuple_is_a_record(checks: list[tuple[str, float | None]]) -> None:
    """In a list of records, and remembered or not."""
    tuples = [Check(*check) for check in checks]
    for _ in range(2):
        assert WRITE({"checks": tuples}) == by_the_library(CHECKED, {"checks": [each._asdict() for each in tuples]})


def test_a_record_may_lack_what_has_a_default_and_have_more_than_the_schema() -> None:
    """As with the library."""
    assert WRITE({"checks": [], "more": object()}) == by_the_library(CHECKED, {"checks": []})


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({}, id="a field without default is missing"),
        pytest.param({"checks": None}, id="None where a list belongs"),
        pytest.param({"checks": [{"id": None, "score": None}]}, id="None where a text belongs"),
        pytest.param({"checks": [{"id": b"x", "score": None}]}, id="bytes where a text belongs"),
        pytest.param({"checks": [{"id": "\ud800", "score": None}]}, id="a text that is not Unicode"),
        pytest.param({"checks": [{"id": "x", "score": "1.0"}]}, id="text where a number belongs"),
        pytest.param({"checks": [Stranger(1.0, "x")]}, id="a tuple with other fields"),
        pytest.param({"checks": [("x", 1.0)]}, id="a tuple without names"),
        pytest.param({"checks": [], "count": 2**63}, id="more than 64 bits"),
        pytest.param({"checks": [], "count": -(2**63) - 1}, id="less than 64 bits"),
        pytest.param({"checks": [], "count": 1.0}, id="a fraction where a whole number belongs"),
        pytest.param({"checks": [], "count": "1"}, id="text where a whole number belongs"),
        pytest.param({"checks": [], "ok": None}, id="None where yes or no belongs"),
        pytest.param({"checks": [], "extra": {"x": None}}, id="None where the union has none"),
        pytest.param({"checks": [], "extra": {"x": [1]}}, id="a list where the union has none"),
    ],
)
def test_what_does_not_fit_is_refused(record: dict[str, Any]) -> None:
    """Whatever it raises; the codec says EncodeError."""
    with pytest.raises(Exception):  # noqa: B017, PT011 - any
        WRITE(record)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param({"type": "fixed", "name": "Id", "size": 4}, id="fixed"),
        pytest.param("bytes", id="bytes"),
        pytest.param(["null", "string", {"type": "array", "items": "string"}], id="union with a list"),
    ],
)
def test_a_type_that_no_schema_uses_is_refused_when_it_is_compiled(kind: Any) -> None:
    """Rather than written wrongly."""
    with pytest.raises(NotImplementedError, match=r"type|union"):
        compile_writer({"type": "record", "name": "Odd", "fields": [{"name": "odd", "type": kind}]}, b"")
