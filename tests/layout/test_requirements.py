"""docs/requirements.md stays true: ids are unique, components exist, and every test it names is there."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "requirements.md"
PREFIXES = {"PR", "DE", "HK", "DQ", "CX", "DR"}
COMPONENTS = {
    "schemas", "producers", "processors", "sinks", "console", "deploy", "tests", "benchmarks", "docs", "examples",
}  # fmt: skip
HEADER = ["id", "requirement", "component", "shown by"]
NODE = re.compile(r"`(?P<file>tests/[\w/]+\.py)(?P<names>(?:::\w+)+)`")


@dataclass(frozen=True)
class Row:
    id: str
    requirement: str
    components: list[str]
    shown_by: str


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(text: str) -> Iterator[Row | str]:
    """Yield each table row, or a sentence about a line that looks like one and is not."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            continue
        found = cells(line)
        if found == HEADER or set("".join(found)) <= {"-"}:
            continue
        if len(found) != len(HEADER) or not all(found):
            yield f"line {number}: not a row of four filled cells"
            continue
        yield Row(found[0], found[1], found[2].split(", "), found[3])


def defined_tests(tree: ast.Module) -> set[str]:
    """Name the tests of a file as pytest does, by reading it: importing it could need a running stack."""
    names: set[str] = set()

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                visit(node.body, f"{prefix}::{node.name}")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                names.add(f"{prefix}::{node.name}")

    visit(tree.body, "")
    return names


def missing_tests(shown_by: str, root: Path) -> Iterator[str]:
    if shown_by == "not yet":
        return
    for reference in shown_by.split(", "):
        node = NODE.fullmatch(reference)
        if node is None:
            yield f"names no test: {reference}"
            continue
        file = root / node["file"]
        if not file.is_file():
            yield f"no such file: {node['file']}"
        elif node["names"] not in defined_tests(ast.parse(file.read_text("utf-8"))):
            yield f"no such test: {node['file']}{node['names']}"


def problems(text: str, root: Path) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for row in rows(text):
        if isinstance(row, str):
            found.append(row)
            continue
        if not re.fullmatch(rf"(?:{'|'.join(sorted(PREFIXES))})-\d+", row.id):
            found.append(f"{row.id}: not an id")
        if row.id in seen:
            found.append(f"{row.id}: used twice")
        seen.add(row.id)
        found += [f"{row.id}: unknown component {name}" for name in row.components if name not in COMPONENTS]
        found += [f"{row.id}: {sentence}" for sentence in missing_tests(row.shown_by, root)]
    return found


def test_the_document_has_no_problems() -> None:
    """Every row has a unique id, known components, and existing tests or the words "not yet"."""
    assert problems(DOCUMENT.read_text("utf-8"), ROOT) == []


def test_every_source_has_its_rows_in_order() -> None:
    """Each of the six tables is there, and its ids ascend."""
    numbers: dict[str, list[int]] = {}
    for row in rows(DOCUMENT.read_text("utf-8")):
        assert isinstance(row, Row)
        prefix, number = row.id.split("-")
        numbers.setdefault(prefix, []).append(int(number))
    assert set(numbers) == PREFIXES
    assert numbers["PR"] == [1, 2, 3, 4, 5, 6, 7]
    assert all(first < second for ids in numbers.values() for first, second in pairwise(ids))


def test_every_source_root_is_a_component() -> None:
    """A row may name any source root that the build knows."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    assert set(build["dev-mode-dirs"]) <= COMPONENTS


SAMPLE = """
class TestThing:
    def test_it(self): ...
    class TestInner:
        async def test_deep(self): ...
    def helper_test(self): ...
def test_alone(): ...
class Other:
    def test_hidden(self): ...
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("| DE-01 | a | schemas | not yet |", [], id="not yet"),
        pytest.param("| DE-01 | a | schemas, sinks | `tests/s.py::TestThing::test_it` |", [], id="method"),
        pytest.param("| DE-01 | a | docs | `tests/s.py::test_alone` |", [], id="function"),
        pytest.param(
            "| DE-01 | a | docs | `tests/s.py::test_alone`, `tests/s.py::TestThing::TestInner::test_deep` |",
            [],
            id="two tests, one of them async in an inner class",
        ),
        pytest.param(
            "| DE-01 | a | docs | `tests/s.py::test_gone` |",
            ["DE-01: no such test: tests/s.py::test_gone"],
            id="a test that is gone",
        ),
        pytest.param(
            "| DE-01 | a | docs | `tests/s.py::Other::test_hidden` |",
            ["DE-01: no such test: tests/s.py::Other::test_hidden"],
            id="a method that pytest does not collect",
        ),
        pytest.param(
            "| DE-01 | a | docs | `tests/t.py::test_alone` |",
            ["DE-01: no such file: tests/t.py"],
            id="a file that is gone",
        ),
        pytest.param("| DE-01 | a | docs | soon |", ["DE-01: names no test: soon"], id="words for a test"),
        pytest.param("| DE-01 | a | docs |  |", ["line 1: not a row of four filled cells"], id="no tests at all"),
        pytest.param("| DE-01 | a | docs |", ["line 1: not a row of four filled cells"], id="a cell too few"),
        pytest.param("| DE-01 | a | web | not yet |", ["DE-01: unknown component web"], id="unknown component"),
        pytest.param("| XX-01 | a | docs | not yet |", ["XX-01: not an id"], id="unknown prefix"),
        pytest.param(
            "| DE-01 | a | docs | not yet |\n| DE-01 | b | docs | not yet |", ["DE-01: used twice"], id="an id twice"
        ),
    ],
)
def test_the_check_can_fail(tmp_path: Path, line: str, expected: list[str]) -> None:
    """Each kind of wrong row is found, and right ones are not."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "s.py").write_text(SAMPLE, "utf-8")
    assert problems(line, tmp_path) == expected
