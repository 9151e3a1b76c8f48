"""Values: any Python object becomes JSON data without secrets, and runs no code of its own unguarded."""

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel

from tachograph.producers.redaction import Budget, DropReason, Redactor, RuleCount
from tachograph.producers.redaction.samples import expand

TOKEN = expand("ghp_{{W:36}}")
REDACTOR = Redactor()


class Loud:
    def __repr__(self) -> NoReturn:
        raise RuntimeError(TOKEN)

    __str__ = __hash__ = __eq__ = __iter__ = __getattribute__ = __repr__  # type: ignore[assignment,misc]


class LoudDict(dict[str, Any]):
    def items(self) -> NoReturn:
        raise RuntimeError(TOKEN)

    __iter__ = keys = __getitem__ = items  # type: ignore[assignment]


class LoudStr(str):
    __slots__ = ()

    def __str__(self) -> NoReturn:
        raise RuntimeError(TOKEN)

    encode = lower = __len__ = __str__  # type: ignore[assignment]


class Endless(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            yield f"k{number}"
            number += 1

    def __len__(self) -> int:
        return 1


class Colour(Enum):
    RED = TOKEN


class Model(BaseModel):
    api_key: str
    note: str


@dataclasses.dataclass
class Data:
    note: str
    password: str = "x"


def cyclic() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"Password": "x", "n": 1}, {"Password": "[REDACTED:key-name]", "n": 1}, id="name"),
        pytest.param({"X-Api-Key": ["a", {"b": 1}]}, {"X-Api-Key": "[REDACTED:key-name]"}, id="name over a list"),
        pytest.param({"token": None, "max_tokens": 5}, {"token": None, "max_tokens": 5}, id="nothing to hide"),
        pytest.param({TOKEN: 1}, {"[REDACTED:github-token]": 1}, id="secret as a key"),
        pytest.param(
            {TOKEN: 1, f"{TOKEN} ": 2}, {"[REDACTED:github-token]": 1, "[REDACTED:github-token] ": 2}, id="keys"
        ),
        pytest.param(
            {f"a {TOKEN}": 1, f"a {TOKEN[:-1]}Q": 2},
            {"a [REDACTED:github-token]": 1, "a [REDACTED:github-token]#2": 2},
            id="keys that fall together",
        ),
        pytest.param([TOKEN.encode(), b"\xff\xfe"], ["[REDACTED:github-token]", "[BYTES: 2]"], id="bytes"),
        pytest.param([float("nan"), float("-inf"), 1.5], ["nan", "-inf", 1.5], id="numbers that JSON lacks"),
        pytest.param([2**60, 10**5000], [str(2**60), "[INTEGER: 16610 bits]"], id="large integers"),
        pytest.param(
            [4111111111111111, 4111111111111112], ["[REDACTED:card]", 4111111111111112], id="card as a number"
        ),
        pytest.param("a\ud800", "a\ufffd", id="half a surrogate pair"),
        pytest.param(cyclic(), [1, "[CYCLE]"], id="cycle"),
        pytest.param([Loud()], ["[OBJECT:Loud]"], id="object that raises at everything"),
        pytest.param(LoudDict(a=TOKEN), {"a": "[REDACTED:github-token]"}, id="dict that raises"),
        pytest.param([LoudStr(TOKEN)], ["[REDACTED:github-token]"], id="str that raises"),
        pytest.param(Colour.RED, {"enum": "Colour", "value": "[REDACTED:github-token]"}, id="enum"),
        pytest.param(
            Model(api_key="x", note=TOKEN),
            {"api_key": "[REDACTED:key-name]", "note": "[REDACTED:github-token]"},
            id="pydantic",
        ),
        pytest.param(
            Data(TOKEN), {"note": "[REDACTED:github-token]", "password": "[REDACTED:key-name]"}, id="dataclass"
        ),
        pytest.param(ValueError(TOKEN), {"type": "ValueError", "args": ["[REDACTED:github-token]"]}, id="exception"),
        pytest.param((PurePosixPath("a/b"), {3}), ["a/b", [3]], id="path, tuple and set"),
        pytest.param(
            {"file_path": "a/.env", "content": "X=y", "n": 1, "ok": True},
            {"file_path": "a/.env", "content": "[DROPPED:path]", "n": "[DROPPED:path]", "ok": True},
            id="object about a secret file",
        ),
        pytest.param({1: 2, None: 3, b"k": 4}, {"1": 2, "None": 3, "k": 4}, id="keys that are no strings"),
    ],
)
def test_what_becomes_of_a_value(value: Any, expected: Any) -> None:
    """Built-ins stay, foreign things are named by their type, secrets go."""
    result = REDACTOR.value(value)
    assert result.value == expected
    json.dumps(result.value, allow_nan=False)
    assert TOKEN not in repr(result)


def test_depth_is_bounded() -> None:
    """A value deeper than a record may be is cut, and one deeper than the stack is no danger."""
    deep: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    assert "[DEPTH]" in json.dumps(REDACTOR.value(deep).value)


def test_a_mapping_without_end_is_cut() -> None:
    """It comes back."""
    assert len(REDACTOR.value(Endless()).value) == 10_000


def test_names_say_nothing_in_a_schema() -> None:
    """With `key_names=False` only content counts."""
    schema = {"properties": {"password": {"type": "string", "default": TOKEN}}}
    expected = {"properties": {"password": {"type": "string", "default": "[REDACTED:github-token]"}}}
    assert REDACTOR.value(schema, key_names=False).value == expected


def test_findings_of_a_value() -> None:
    """By rule, over all texts; a dropped member is told."""
    result = REDACTOR.value({"a": [TOKEN, TOKEN], "b": f"{TOKEN}!", "pwd": 1})
    assert result.findings == (RuleCount("github-token", 2), RuleCount("key-name", 1))
    about = REDACTOR.value({"path": ".env", "content": "x"})
    assert (about.findings, about.dropped_reason) == ((RuleCount("path", 1),), DropReason.PATH)


def test_the_budget_is_for_the_whole_value() -> None:
    """Many small texts are as much as a large one; so is a list without text."""
    small = Redactor(budget=Budget(max_bytes=1000))
    assert small.value(["x" * 30] * 40).dropped_reason is DropReason.BUDGET
    assert small.value([0] * 200).dropped_reason is DropReason.BUDGET
    assert small.value("x" * 100).dropped_reason is None
    hurried = Redactor(budget=Budget(max_seconds=1e-9))
    assert hurried.value([0] * 2000).dropped_reason is DropReason.TIMEOUT


def test_plain_removes_nothing() -> None:
    """The same walk for capture mode full."""
    assert REDACTOR.plain({"password": TOKEN, "x": {1}}).value == {"password": TOKEN, "x": [1]}
