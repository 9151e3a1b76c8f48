"""Metadata: what may be stored, what is refused by the model's layer, and what the SDK's layer leaves of it."""

import pickle
from collections.abc import Iterator, Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.schemas.privacy import (
    BLOCKED_METADATA_KEYS,
    METADATA_INTEGER_LIMIT,
    METADATA_STRING_LIMIT,
    PrivacyError,
    Refusal,
    RefusalKind,
    blocked_name,
    check_metadata,
    clean_metadata,
    fold_key,
)

BLANKS = [chr(point) for point in range(0x110000) if chr(point).isspace()]
ZERO_WIDTH = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"]
HOSTILE_TEXT = st.text(st.characters(exclude_categories=()), max_size=150)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Hostile:
    """Raises from every method that storing or printing a value might call."""

    def _refuse(self, *_: object) -> NoReturn:
        raise RuntimeError("touched")

    __str__ = __repr__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = _refuse
    __eq__ = __getitem__ = __format__ = __getattr__ = _refuse
    __hash__ = object.__hash__


class LiesAboutItsClass:
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("asked for its class")


class HostileText(str):
    """A string whose own methods raise."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise RuntimeError("touched")

    __str__ = __repr__ = __len__ = __iter__ = casefold = _refuse


class HostileDict(dict[Any, Any]):
    """A dict whose own methods raise."""

    def _refuse(self, *_: object) -> NoReturn:
        raise RuntimeError("touched")

    __len__ = __iter__ = items = keys = values = __getitem__ = _refuse


class BrokenMapping(Mapping[str, Any]):
    """A mapping that promises entries and raises when they are read."""

    def __getitem__(self, key: str) -> Any:
        raise OSError("gone")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


ALLOWED_KEYS = st.text(max_size=METADATA_STRING_LIMIT).filter(lambda key: blocked_name(key) is None)
PRIMITIVES = st.one_of(
    st.text(max_size=METADATA_STRING_LIMIT),
    st.integers(-METADATA_INTEGER_LIMIT, METADATA_INTEGER_LIMIT),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
CLEAN = st.dictionaries(ALLOWED_KEYS, PRIMITIVES)
KEYS = st.one_of(
    st.sampled_from(sorted(BLOCKED_METADATA_KEYS)),
    st.sampled_from(sorted(BLOCKED_METADATA_KEYS)).map(str.upper),
    HOSTILE_TEXT,
    HOSTILE_TEXT.map(HostileText),
    st.integers(),
    st.none(),
    st.builds(Hostile),
)
VALUES = st.one_of(
    PRIMITIVES,
    HOSTILE_TEXT,
    HOSTILE_TEXT.map(HostileText),
    st.integers(),
    st.floats(),
    st.none(),
    st.binary(),
    st.lists(st.text()),
    st.dictionaries(st.text(), st.text()),
    st.builds(Hostile),
    st.builds(LiesAboutItsClass),
)
ENTRIES = st.lists(st.tuples(KEYS, VALUES), max_size=12)
ANYTHING = st.one_of(
    ENTRIES.map(dict),
    ENTRIES.map(dict).map(HostileDict),
    ENTRIES.map(dict).map(MappingProxyType),
    VALUES,
    st.builds(BrokenMapping),
)


@st.composite
def disguised(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a blocked name, and the name with other capitals and with blanks strewn in."""
    name = draw(st.sampled_from(sorted(BLOCKED_METADATA_KEYS)))
    blanks = st.text(st.sampled_from(BLANKS + ZERO_WIDTH), max_size=2)
    letters = [draw(blanks) + (letter.upper() if draw(st.booleans()) else letter) for letter in name]
    return name, "".join(letters) + draw(blanks)


class TestBlockList:
    def test_it_holds_the_twelve_names(self) -> None:
        """The block list is the twelve names of the requirements, and no more."""
        assert sorted(BLOCKED_METADATA_KEYS) == [
            "chain_of_thought", "content", "explanation", "input", "message", "output",
            "prompt", "rationale", "reasoning", "response", "text", "thought",
        ]  # fmt: skip

    @given(disguised())
    def test_case_and_white_space_do_not_hide_a_blocked_key(self, pair: tuple[str, str]) -> None:
        """However a blocked name is capitalised or spaced, it is refused, and reported by its plain name."""
        name, key = pair
        with pytest.raises(PrivacyError) as refused:
            check_metadata({key: 1})
        assert refused.value.keys == (name,)
        assert clean_metadata({key: 1}) == ({}, [Refusal(RefusalKind.BLOCKED_KEY, 0, name)])

    @pytest.mark.parametrize("blank", [pytest.param(b, id=f"U+{ord(b):04X}") for b in BLANKS + ZERO_WIDTH])
    def test_every_blank_of_unicode_is_folded(self, blank: str) -> None:
        """All white space of Unicode and the zero-width characters vanish from a key, wherever they stand."""
        assert fold_key(f"{blank}Pro{blank}mpt{blank}") == "prompt"

    @pytest.mark.parametrize(
        ("key", "name"),
        [
            pytest.param("chain of thought", "chain_of_thought", id="blanks for underscores"),
            pytest.param("chainOfThought", "chain_of_thought", id="camel case"),
            pytest.param("prompt_tokens", None, id="a count about prompts"),
            pytest.param("context", None, id="a word that only begins alike"),
            pytest.param("texts", None, id="a plural"),
            pytest.param("", None, id="an empty key"),
        ],
    )
    def test_near_names(self, key: str, name: str | None) -> None:
        """Other spellings of a blocked name are blocked; names that merely contain one are not."""
        assert blocked_name(key) == name


class TestLayers:
    @pytest.mark.parametrize(
        ("metadata", "kept", "refusal"),
        [
            pytest.param({"prompt": "hi"}, {}, Refusal(RefusalKind.BLOCKED_KEY, 0, "prompt"), id="blocked key"),
            pytest.param({"a": 1, 7: 2}, {"a": 1}, Refusal(RefusalKind.KEY_TYPE, 1), id="key that is no string"),
            pytest.param({"k" * 101: 1}, {}, Refusal(RefusalKind.KEY_TOO_LONG, 0), id="key of 101 characters"),
            pytest.param({"c": {"k": "v"}}, {}, Refusal(RefusalKind.NOT_PRIMITIVE, 0), id="nested object"),
            pytest.param({"c": ["v"]}, {}, Refusal(RefusalKind.NOT_PRIMITIVE, 0), id="list"),
            pytest.param({"c": None}, {}, Refusal(RefusalKind.NOT_PRIMITIVE, 0), id="null"),
            pytest.param({"c": b"v"}, {}, Refusal(RefusalKind.NOT_PRIMITIVE, 0), id="bytes"),
            pytest.param({"s": "x" * 101}, {"s": "x" * 100}, Refusal(RefusalKind.TOO_LONG, 0), id="101 characters"),
            pytest.param({"s": "🚦" * 101}, {"s": "🚦" * 100}, Refusal(RefusalKind.TOO_LONG, 0), id="101 emoji"),
            pytest.param({"f": float("nan")}, {}, Refusal(RefusalKind.NOT_FINITE, 0), id="NaN"),
            pytest.param({"f": float("inf")}, {}, Refusal(RefusalKind.NOT_FINITE, 0), id="infinity"),
            pytest.param({"i": 2**63}, {}, Refusal(RefusalKind.INTEGER_RANGE, 0), id="integer beyond 64 bits"),
            pytest.param({"i": 10**5000}, {}, Refusal(RefusalKind.INTEGER_RANGE, 0), id="integer of 5000 digits"),
            pytest.param({"s": "\ud800"}, {}, Refusal(RefusalKind.NOT_UNICODE, 0), id="half a surrogate pair"),
            pytest.param({"\ud800": 1}, {}, Refusal(RefusalKind.NOT_UNICODE, 0), id="such a half in a key"),
            pytest.param([("a", 1)], {}, Refusal(RefusalKind.NOT_A_MAPPING, None), id="a list of pairs"),
            pytest.param(BrokenMapping(), {}, Refusal(RefusalKind.NOT_A_MAPPING, None), id="an unreadable mapping"),
        ],
    )
    def test_one_bad_entry(self, metadata: Any, kept: dict[str, Any], refusal: Refusal) -> None:
        """The SDK's layer drops or cuts the entry and lists it; the model's layer refuses for the same reason."""
        assert clean_metadata(metadata) == (kept, [refusal])
        with pytest.raises(PrivacyError) as refused:
            check_metadata(metadata)
        assert refused.value.refusals == (refusal,)

    @pytest.mark.parametrize(
        "metadata",
        [
            pytest.param({}, id="empty"),
            pytest.param({"cache_age_minutes": 12, "ratio": 0.5, "hit": True, "tool": "api"}, id="one of each type"),
            pytest.param({"s": "x" * 100}, id="string of 100 characters"),
            pytest.param({"k" * 100: 1}, id="key of 100 characters"),
            pytest.param({"i": -(2**63) + 1, "j": 2**63 - 1}, id="widest integers"),
        ],
    )
    def test_allowed(self, metadata: dict[str, Any]) -> None:
        """Primitives within the limits pass both layers unchanged."""
        check_metadata(metadata)
        assert clean_metadata(metadata) == (metadata, [])

    def test_kept_values_are_plain(self) -> None:
        """Enums and other subclasses are kept as the built-in they are made of."""
        kept, refusals = clean_metadata({Colour.RED: Colour.RED, "level": Level.HIGH, "text_id": HostileText("x")})
        assert (kept, refusals) == ({"red": "red", "level": 3, "text_id": "x"}, [])
        assert [type(value) for value in kept.values()] == [str, int, str]
        assert {type(key) for key in kept} == {str}

    def test_a_hundred_thousand_bad_entries(self) -> None:
        """Metadata of any size is cleaned, and the error about it stays short."""
        metadata: dict[str, Any] = {f"k{n}": None for n in range(100_000)}
        kept, refusals = clean_metadata(metadata)
        assert (kept, len(refusals)) == ({}, 100_000)
        assert len(str(PrivacyError(tuple(refusals)))) < 400


class TestLaws:
    @given(ANYTHING)
    def test_what_is_cleaned_passes_the_check(self, metadata: Any) -> None:
        """Cleaning raises for nothing, and its result satisfies the model's layer and cleans to itself."""
        kept, _ = clean_metadata(metadata)
        check_metadata(kept)
        assert clean_metadata(kept) == (kept, [])
        for key, value in kept.items():
            assert type(key) is str
            assert type(value) in {str, int, float, bool}
            f"{key}{value}".encode()  # raises if an encoder could not take it

    @given(ANYTHING)
    def test_the_check_refuses_exactly_what_cleaning_lists(self, metadata: Any) -> None:
        """The two layers agree: nothing listed means nothing refused, and the other way round."""
        _, refusals = clean_metadata(metadata)
        if refusals:
            with pytest.raises(PrivacyError) as refused:
                check_metadata(metadata)
            assert list(refused.value.refusals) == refusals
        else:
            check_metadata(metadata)

    @given(CLEAN)
    def test_clean_metadata_is_left_alone(self, metadata: dict[str, Any]) -> None:
        """Metadata within the rules comes back equal, key for key."""
        check_metadata(metadata)
        assert clean_metadata(metadata) == (metadata, [])

    @given(CLEAN, KEYS, VALUES)
    def test_a_bad_entry_costs_only_itself(self, metadata: dict[str, Any], key: Any, value: Any) -> None:
        """The entries around a refused one are kept."""
        kept, _ = clean_metadata({**metadata, key: value})
        metadata.pop(key, None)
        assert metadata.items() <= kept.items()


class TestErrors:
    def test_message_names_the_block_list_and_positions_only(self) -> None:
        """The error shows plain block-list names and positions, never a key or value of the agent."""
        secret = "sk-captured-0451"
        with pytest.raises(PrivacyError) as refused:
            check_metadata({" PROMPT ": secret, secret: [secret], "n": secret * 10})  # type: ignore[dict-item]
        assert str(refused.value) == "metadata refused: prompt (blocked_key), #1 (not_primitive), #2 (too_long)"
        assert refused.value.keys == ("prompt", "#1", "#2")
        assert secret not in repr(refused.value)

    def test_error_survives_pickling(self) -> None:
        """The error crosses process boundaries with its refusals."""
        error = PrivacyError((Refusal(RefusalKind.BLOCKED_KEY, 0, "text"), Refusal(RefusalKind.NOT_A_MAPPING, None)))
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
        assert (copy.refusals, copy.keys) == (error.refusals, ("text", "metadata"))
