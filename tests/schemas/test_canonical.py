"""Canonical JSON: our bytes are those of RFC 8785, refusals are typed, and no error repeats what it was given."""

import json
import pickle
import random
import sys
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum, StrEnum
from importlib.resources import files
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from tachograph.schemas.canonical import (
    MAX_DEPTH,
    MAX_SAFE_INTEGER,
    CanonicalError,
    CanonicalReason,
    canonical_bytes,
    keyed_hash,
    prompt_bundle_hash,
    sealed_bytes,
    sha256_hex,
    strict_loads,
)

SAFE_INTEGERS = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
TEXTS = st.text()
LEAVES = st.none() | st.booleans() | SAFE_INTEGERS | TEXTS
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def nested(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5), max_leaves=25
    )


JSON_VALUES = nested(LEAVES | FLOATS, TEXTS)
SEALABLE = nested(LEAVES, st.text(st.characters(max_codepoint=127)))
JUNK = st.one_of(
    st.binary(),
    st.complex_numbers(),
    st.dates(),
    st.uuids(),
    st.decimals(),
    st.sets(st.integers()),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
    st.builds(object),
)
ANYTHING = st.recursive(
    LEAVES | JUNK,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.one_of(st.text(st.characters(exclude_categories=())), SAFE_INTEGERS, st.none()), inner)
    ),
    max_leaves=15,
)


def vectors(file: str, part: str) -> list[Any]:
    document = json.loads(files("tachograph.schemas").joinpath("vectors", file).read_text("utf-8"))
    return [pytest.param(row, id=row["name"]) for row in document[part]]


def ecmascript_loads(data: bytes) -> Any:
    """Read as JavaScript does: every number a double, so that integers beyond 2^53 come back as they were written."""
    return json.loads(data, parse_int=float)


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        members = [(key, shuffled(member, order)) for key, member in value.items()]
        order.shuffle(members)
        return dict(members)
    if isinstance(value, list):
        return [shuffled(element, order) for element in value]
    return value


def nested_arrays(count: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(count - 1):
        value = [value]
    return value


class TestVectors:
    @pytest.mark.parametrize("row", vectors("canonical.json", "accepted"))
    def test_accepted_input_has_the_published_bytes_and_hash(self, row: dict[str, str]) -> None:
        """The published canonical text, its hexadecimal form and its hash are what we compute from the input."""
        data = canonical_bytes(strict_loads(row["input"]))
        assert (data.decode(), data.hex(), sha256_hex(data)) == (row["canonical"], row["canonical_hex"], row["sha256"])

    @pytest.mark.parametrize("row", vectors("canonical.json", "accepted"))
    def test_accepted_input_has_the_bytes_of_the_reference(self, row: dict[str, str]) -> None:
        """The reference implementation agrees with the published bytes."""
        assert rfc8785.dumps(json.loads(row["input"])).hex() == row["canonical_hex"]

    @pytest.mark.parametrize("row", vectors("canonical.json", "accepted"))
    def test_sealed_profile_accepts_or_refuses_as_published(self, row: dict[str, str | None]) -> None:
        """A sealable vector has the same bytes in the sealed profile; another is refused for its published reason."""
        value = strict_loads(str(row["input"]))
        if row["sealed_refusal"] is None:
            assert sealed_bytes(value).hex() == row["canonical_hex"]
        else:
            with pytest.raises(CanonicalError) as refused:
                sealed_bytes(value)
            assert refused.value.reason == row["sealed_refusal"]

    @pytest.mark.parametrize("row", vectors("canonical.json", "refused"))
    def test_refused_input_is_refused_for_the_published_reason(self, row: dict[str, str]) -> None:
        """Text without a canonical form is refused with the published code, as text and as bytes."""
        for data in (row["input"], row["input"].encode()):
            with pytest.raises(CanonicalError) as refused:
                strict_loads(data)
            assert refused.value.reason == row["reason"]

    @pytest.mark.parametrize("row", vectors("prompt_bundle_hash.json", "accepted"))
    def test_prompt_bundle_has_the_published_hash(self, row: dict[str, str]) -> None:
        """A bundle's hash is SHA-256 over its canonical bytes, by our code and by the reference."""
        bundle = strict_loads(row["input"])
        assert isinstance(bundle, dict)
        assert prompt_bundle_hash(bundle) == row["prompt_bundle_hash"]
        assert canonical_bytes(bundle).decode() == row["canonical"]
        assert canonical_bytes(bundle).hex() == row["canonical_hex"]
        assert sha256_hex(rfc8785.dumps(bundle)) == row["prompt_bundle_hash"]

    @pytest.mark.parametrize("row", vectors("prompt_bundle_hash.json", "refused"))
    def test_prompt_bundle_without_canonical_form_has_no_hash(self, row: dict[str, str]) -> None:
        """A bundle that cannot be canonicalised is refused with the published code instead of hashed somehow."""
        with pytest.raises(CanonicalError) as refused:
            prompt_bundle_hash(strict_loads(row["input"]))  # type: ignore[arg-type]
        assert refused.value.reason == row["reason"]


class TestLaws:
    @given(JSON_VALUES)
    @example({"\ufb33": 1, "\U0001f680": 2, "": [1e21, 1e-7, -0.0, 5e-324]})
    def test_bytes_equal_the_reference(self, value: Any) -> None:
        """Every value that RFC 8785 covers has the reference's bytes."""
        assert canonical_bytes(value) == rfc8785.dumps(value)

    @given(FLOATS)
    def test_numbers_equal_the_reference(self, number: float) -> None:
        """Every double is printed as the reference prints it, and reads back as itself."""
        data = canonical_bytes(number)
        assert data == rfc8785.dumps(number)
        assert float(data) == number

    @given(JSON_VALUES)
    def test_canonical_bytes_are_a_fixed_point(self, value: Any) -> None:
        """Canonicalising what was parsed from canonical bytes gives those bytes again."""
        data = canonical_bytes(value)
        assert canonical_bytes(ecmascript_loads(data)) == data

    @given(SEALABLE)
    def test_sealed_bytes_read_back_as_the_same_value(self, value: Any) -> None:
        """Sealed bytes parse strictly to the value they were made of, and seal to the same bytes."""
        data = sealed_bytes(value)
        assert data == canonical_bytes(value)
        assert strict_loads(data) == value
        assert sealed_bytes(strict_loads(data)) == data

    @given(JSON_VALUES, st.randoms())
    def test_key_order_never_matters(self, value: Any, order: random.Random) -> None:
        """The order in which an object was built leaves no mark on its bytes."""
        assert canonical_bytes(shuffled(value, order)) == canonical_bytes(value)

    @given(ANYTHING)
    def test_any_value_is_canonicalised_or_refused_with_our_error(self, value: Any) -> None:
        """No input brings out another error than ours, and what is accepted is canonical JSON."""
        for encode in (canonical_bytes, sealed_bytes):
            try:
                data = encode(value)
            except CanonicalError:
                continue
            assert canonical_bytes(ecmascript_loads(data)) == data

    @given(st.binary() | st.text(st.characters(exclude_categories=())) | JSON_VALUES.map(json.dumps))
    def test_any_text_is_parsed_or_refused_with_our_error(self, data: bytes | str) -> None:
        """Strict parsing raises only our error, and what it returns always has a canonical form."""
        try:
            value: Any = strict_loads(data)
        except CanonicalError:
            return
        assert canonical_bytes(value) == rfc8785.dumps(value)

    @given(SEALABLE, FLOATS)
    def test_a_float_anywhere_is_refused_by_the_sealed_profile(self, value: Any, number: float) -> None:
        """One float inside a sealable value makes it unsealable."""
        with pytest.raises(CanonicalError) as refused:
            sealed_bytes([value, {"deep": [number]}])
        assert refused.value.reason is CanonicalReason.FLOAT


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Tagged(str):
    """A string that is equal only to itself."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class Liar:
    """Raises when asked for its class, as `isinstance` does."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("asked for its class")


class TestValues:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            pytest.param((1, (2,)), b"[1,[2]]", id="tuples are arrays"),
            pytest.param(OrderedDict(b=1, a=2), b'{"a":2,"b":1}', id="a subclass of dict is an object"),
            pytest.param({"c": Colour.RED}, b'{"c":"red"}', id="an enum of strings is its value"),
            pytest.param([Level.HIGH], b"[3]", id="an enum of integers is its value"),
            pytest.param({Colour.RED: 1}, b'{"red":1}', id="an enum can be a key"),
            pytest.param(True, b"true", id="a boolean is no integer"),
            pytest.param(nested_arrays(MAX_DEPTH), b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, id="as deep as allowed"),
        ],
    )
    def test_accepted(self, value: object, expected: bytes) -> None:
        """Python's relatives of the JSON types are written as what they stand for."""
        assert canonical_bytes(value) == expected
        assert sealed_bytes(value) == expected

    @pytest.mark.parametrize(
        ("value", "reason", "depth"),
        [
            pytest.param([float("nan")], "not_finite", 1, id="NaN"),
            pytest.param({"a": [float("-inf")]}, "not_finite", 2, id="minus infinity"),
            pytest.param(2**53, "integer_range", 0, id="first unsafe integer"),
            pytest.param([-(2**53)], "integer_range", 1, id="first unsafe negative integer"),
            pytest.param([10**5000], "integer_range", 1, id="an integer too long to print"),
            pytest.param("\ud83d", "surrogate", 0, id="half a surrogate pair"),
            pytest.param({"\udc00": 1}, "surrogate", 0, id="half a surrogate pair in a key"),
            pytest.param({1: 2}, "key_type", 0, id="a number as key"),
            pytest.param([{None: 2, "a": 1}], "key_type", 1, id="null as key"),
            pytest.param([b"bytes"], "type", 1, id="bytes"),
            pytest.param({"a": {1, 2}}, "type", 1, id="a set"),
            pytest.param(UUID(int=0), "type", 0, id="a UUID, which orjson would take"),
            pytest.param([object()], "type", 1, id="an object"),
            pytest.param([Liar()], "type", 1, id="an object that lies about its class"),
            pytest.param({Tagged("a"): 1, Tagged("a"): 2}, "duplicate_key", 0, id="two keys with one text"),
            pytest.param(nested_arrays(MAX_DEPTH + 1), "depth", MAX_DEPTH, id="one container too deep"),
        ],
    )
    def test_refused(self, value: object, reason: str, depth: int) -> None:
        """What JSON cannot say is refused with its code and the depth at which it sat."""
        for encode in (canonical_bytes, sealed_bytes):
            if reason == "not_finite" and encode is sealed_bytes:
                continue  # every float is refused there, as a float
            if reason == "surrogate" and isinstance(value, dict) and encode is sealed_bytes:
                continue  # refused earlier, as a key outside ASCII
            with pytest.raises(CanonicalError) as refused:
                encode(value)
            assert (refused.value.reason, refused.value.depth) == (reason, depth)

    def test_a_container_inside_itself_is_refused(self) -> None:
        """A cycle ends with an error after one way down, even where it branches."""
        cycle: list[Any] = []
        cycle += [cycle, cycle, {"again": cycle}]
        with pytest.raises(CanonicalError) as refused:
            canonical_bytes({"top": cycle})
        assert refused.value.reason is CanonicalReason.DEPTH

    def test_a_nearly_full_stack_gives_our_error(self) -> None:
        """A caller near the recursion limit gets our error, not Python's."""

        def at_depth(frames: int) -> bytes:
            return at_depth(frames - 1) if frames else canonical_bytes(nested_arrays(MAX_DEPTH))

        used = 0
        frame = sys._getframe()
        while frame.f_back is not None:
            used, frame = used + 1, frame.f_back
        with pytest.raises(CanonicalError) as refused:
            at_depth(sys.getrecursionlimit() - used - MAX_DEPTH // 2)
        assert refused.value.reason is CanonicalReason.DEPTH

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            pytest.param(b'"\xff"', "encoding", id="not UTF-8"),
            pytest.param(b'"\xed\xa0\x80"', "encoding", id="a surrogate as UTF-8 bytes"),
            pytest.param("[" * 100_000, "depth", id="a tower of brackets"),
            pytest.param(b'{"a":1}\x00', "syntax", id="a zero byte behind the value"),
        ],
    )
    def test_text_is_refused(self, data: bytes | str, reason: str) -> None:
        """Text that strict readers would read differently, or not at all, is refused with its code."""
        with pytest.raises(CanonicalError) as refused:
            strict_loads(data)
        assert refused.value.reason == reason


SECRET = "sk-captured-0451"


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda: strict_loads(f'{{"{SECRET}":1,"{SECRET}":2}}'), id="a key given twice"),
        pytest.param(lambda: strict_loads(f'["{SECRET}" {SECRET}]'), id="text that is not JSON"),
        pytest.param(lambda: strict_loads(f'"{SECRET}'.encode() + b"\xff"), id="bytes that are not UTF-8"),
        pytest.param(lambda: strict_loads(f'"{SECRET}\\ud800"'), id="half a surrogate pair"),
        pytest.param(lambda: canonical_bytes({SECRET: object()}), id="a value of another type"),
        pytest.param(lambda: canonical_bytes({SECRET + "\ud800": 1}), id="half a surrogate pair in a key"),
        pytest.param(lambda: sealed_bytes({SECRET + "é": 1}), id="a key outside ASCII"),
        pytest.param(lambda: sealed_bytes({SECRET: 0.5}), id="a float"),
    ],
)
def test_errors_carry_nothing_captured(act: Callable[[], object]) -> None:
    """Neither the error nor any error behind it repeats a key or a value."""
    with pytest.raises(CanonicalError) as refused:
        act()
    error: BaseException | None = refused.value
    while error is not None:
        assert SECRET not in f"{error!s} {error!r} {vars(error)}"
        error = error.__context__ or error.__cause__


def test_error_survives_pickling() -> None:
    """The error crosses process boundaries with its code and depth."""
    copy = pickle.loads(pickle.dumps(CanonicalError(CanonicalReason.FLOAT, 2)))  # noqa: S301  # our own bytes
    assert (str(copy), copy.reason, copy.depth) == ("no canonical JSON: float at depth 2", "float", 2)


def test_prompt_bundle_hash_accepts_a_read_only_mapping() -> None:
    """A frozen view of a bundle hashes as the bundle."""
    bundle: dict[str, object] = {"messages": [], "tools": []}
    assert prompt_bundle_hash(MappingProxyType(bundle)) == prompt_bundle_hash(bundle)


class TestKeyedHash:
    def test_known_answer(self) -> None:
        """The digest is HMAC-SHA-256, as the first test case of RFC 4231 has it."""
        expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        assert keyed_hash(b"\x0b" * 20, "Hi There") == expected
        assert keyed_hash(b"\x0b" * 20, b"Hi There") == expected

    @given(st.binary(min_size=16), st.binary(min_size=16), st.text(st.characters(exclude_categories=())))
    def test_any_text_has_a_hash_that_depends_on_the_key(self, key: bytes, other: bytes, text: str) -> None:
        """Every text can be hashed, lone surrogates included, and another key gives another hash."""
        digest = keyed_hash(key, text)
        assert len(bytes.fromhex(digest)) == 32
        # HMAC pads a key with zero bytes: keys that differ only in those are one key.
        assert (keyed_hash(other, text) == digest) == (key.ljust(64, b"\0") == other.ljust(64, b"\0"))

    def test_a_short_key_is_refused(self) -> None:
        """A key that could be guessed is no key; the error does not repeat it."""
        with pytest.raises(ValueError, match="at least 16 bytes") as refused:
            keyed_hash(b"guessme", "text")
        assert "guessme" not in str(refused.value)
