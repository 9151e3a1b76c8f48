"""YAML that people write: plain values, each with its place, and a sentence for everything else."""

from pathlib import Path

import pytest

from tachograph.schemas.placed_yaml import MOST_BYTES, MOST_LEVELS, MOST_VALUES, Problem, read_file, read_text

LISTS_OF_LISTS = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}]\n" for old, new in zip("abc", "bcd", strict=True)
)


def test_values_and_places() -> None:
    """A member stands where its value begins, or at its key if the value is a block of its own."""
    (document,) = read_text("a: 1\nb:\n  - true\n  - c: null\n    d: text\n", "f")
    assert document.problems == []
    assert document.root.plain() == {"a": 1, "b": [True, {"c": None, "d": "text"}]}
    places = {path: document.root.at(path)[:2] for path in [(), ("a",), ("b",), ("b", 0), ("b", 1, "d")]}
    assert places == {(): (1, 1), ("a",): (1, 4), ("b",): (2, 1), ("b", 0): (3, 5), ("b", 1, "d"): (5, 8)}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param(("b", 7), (2, 1), id="an item that is missing"),
        pytest.param(("b", "union branch", 0, "c", "deeper"), (3, 8), id="steps that no part has"),
        pytest.param(("nothing",), (1, 1), id="a key that is missing"),
    ],
)
def test_a_part_that_is_not_there_stands_at_the_nearest_around_it(path: tuple[str | int, ...], place: object) -> None:
    """What is missing has no place of its own."""
    (document,) = read_text("a: 1\nb:\n  - c: null\n", "f")
    assert document.root.at(path)[:2] == place
    assert document.problem(path, "mend it") == Problem("f", *document.root.at(path)[:2], "mend it")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: [1\nb: 2\n", "f:2:2: not YAML", id="syntax"),
        pytest.param("a: \x07\n", "f:1:1: not YAML: it holds characters", id="a character that YAML lacks"),
        pytest.param("a: 1\na: 2\n", "f:2:1: 'a' stands here twice", id="a key twice"),
        pytest.param("? [1]\n: 2\n", "f:1:3: a key must be text", id="a list as key"),
        pytest.param("1: 2\n", "f:1:1: a key must be text", id="a number as key"),
        pytest.param("<<: {a: 1}\n", "f:1:1: a key must be text", id="a merge"),
        pytest.param("a: &x [1]\nb: *x\n", "f:2:1: anchors", id="an alias"),
        pytest.param("a: &x\n  b: *x\n", "anchors", id="an alias of itself"),
        pytest.param(LISTS_OF_LISTS, "anchors", id="lists of lists of lists"),
        pytest.param("a: !!python/name:os.system x\n", "f:1:4: only texts", id="a Python object"),
        pytest.param("a: !!set {b}\n", "f:1:4: only texts", id="a set"),
        pytest.param("a: 2026-99-99\n", "f:1:4: this cannot be read: quote it", id="a date that is none"),
        pytest.param("[" * (MOST_LEVELS + 2) + "]" * (MOST_LEVELS + 2), "nested too deep", id="too deep"),
        pytest.param("- 1\n" * (MOST_VALUES + 1), "too many values", id="too many"),
        pytest.param("#" * (MOST_BYTES + 1), "f:1:1: more than", id="too long"),
    ],
)
def test_what_is_not_taken(text: str, expected: str) -> None:
    """Each has a sentence and a place, and takes no time or memory to find."""
    problems = [str(problem) for document in read_text(text, "f") for problem in document.problems]
    assert any(expected in problem for problem in problems), problems


def test_documents_are_read_one_by_one() -> None:
    """A mistake in one leaves the others as they are; empty ones are left out."""
    first, second, third = read_text("a: 1\n---\na: 1\na: 2\n---\n---\nb: 2\n", "f")
    assert (first.root.plain(), third.root.plain()) == ({"a": 1}, {"b": 2})
    assert [problem.line for problem in second.problems] == [4]


def test_what_has_a_hash_is_exact() -> None:
    """A number with a point and a date have more than one spelling."""
    (document,) = read_text("a: 2026-01-02\nb: 1.50\n", "f", exact=True)
    assert document.root.at(["a"]).data == "2026-01-02"
    assert [str(problem) for problem in document.problems] == [
        "f:2:4: a number with a point has no exact form: write it as text"
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(None, "no such file", id="missing"),
        pytest.param(b"a: \xff", "not UTF-8", id="not text"),
        pytest.param(b"#" * (MOST_BYTES + 1), "more than", id="too large"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None, expected: str) -> None:
    """A problem like any other."""
    path = tmp_path / "a.yaml"
    if content is not None:
        path.write_bytes(content)
    (document,) = read_file(path, "a.yaml")
    assert [expected in str(problem) for problem in document.problems] == [True]
