"""YAML whose values remember where they stand, because a mistake in a file must be told with its place.

Taken is what JSON has too: texts, numbers, true, false, null, lists and maps. No key twice, no anchors and no aliases:
what two readers could take for two things has no single meaning, and an alias of an alias fills the memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

MOST_BYTES: Final = 1024 * 1024
"""A file of ours is a page or two. Past this it is something else under the same name."""
MOST_VALUES: Final = 50_000
MOST_LEVELS: Final = 40
"""Deeper than any schema that people write."""

Step = str | int
"""A key of a map or a place in a list."""

_TAG: Final = "tag:yaml.org,2002:"
_SCALARS: Final = {f"{_TAG}{name}" for name in ("str", "int", "bool", "null", "float", "timestamp")}


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to mend. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class Value(NamedTuple):
    """A value and its place. Members and items are values themselves."""

    line: int
    column: int
    data: Any
    """A scalar, a ``list[Value]`` or a ``dict[str, Value]``."""

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.data, dict):
            return {name: value.plain() for name, value in self.data.items()}
        if isinstance(self.data, list):
            return [value.plain() for value in self.data]
        return self.data

    def at(self, path: Iterable[Step]) -> "Value":
        """The deepest part on the path that is there. Steps that no part has are passed over."""
        part = self
        for step in path:
            if isinstance(part.data, dict):
                part = part.data.get(str(step), part)
            elif isinstance(part.data, list) and isinstance(step, int) and 0 <= step < len(part.data):
                part = part.data[step]
        return part


_NOTHING: Final = Value(1, 1, None)


@dataclass(slots=True)
class Document:
    """One YAML document, and what is wrong with it. A document with problems is not to be used."""

    file: str
    root: Value = _NOTHING
    problems: list[Problem] = field(default_factory=list)

    def problem(self, path: Iterable[Step], message: str) -> Problem:
        """A problem at a part of the document, or at the nearest part around it that is there."""
        return self.problem_at(self.root.at(path), message)

    def problem_at(self, value: Value, message: str) -> Problem:
        """A problem of a value."""
        return Problem(self.file, value.line, value.column, message)


def read_file(path: Path, file: str | None = None, *, exact: bool = False) -> list[Document]:
    """The documents of a file, named ``file`` in problems. One that cannot be read is a document with a problem."""
    name = str(path) if file is None else file
    try:
        if path.stat().st_size > MOST_BYTES:
            return [_broken(name, f"more than {MOST_BYTES} bytes: split it, or is this not the file you mean?")]
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return [_broken(name, "cannot be read: there is no such file; check the path")]
    except UnicodeDecodeError:
        return [_broken(name, "cannot be read: not UTF-8 text")]
    except OSError as error:
        return [_broken(name, f"cannot be read ({type(error).__name__})")]
    return read_text(text, name, exact=exact)


def read_text(text: str, file: str, *, exact: bool = False) -> list[Document]:
    """The documents of a text, without the empty ones.

    ``exact`` refuses numbers with a point and takes dates as text: for what has a hash.
    """
    if len(text) > MOST_BYTES:
        return [_broken(file, f"more than {MOST_BYTES} characters: split it")]
    documents: list[Document] = []
    try:
        nodes = (node for node in yaml.compose_all(text, Loader=yaml.SafeLoader) if not _is_empty(node))
        documents.extend(_Reader(file, exact=exact).document(node) for node in nodes)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        what = getattr(error, "problem", None) or "it holds characters that YAML does not have"
        documents.append(Document(file, problems=[Problem(file, line, column, f"not YAML: {what}")]))
    return documents


def _broken(file: str, message: str) -> Document:
    return Document(file, problems=[Problem(file, 1, 1, message)])


def _is_empty(node: yaml.Node | None) -> bool:
    return node is None or (isinstance(node, yaml.ScalarNode) and not node.value)


class _TooMuchError(Exception):
    """Reading on would take memory and time without an end."""


class _Reader:
    def __init__(self, file: str, *, exact: bool) -> None:
        self._document = Document(file)
        self._exact = exact
        self._seen: set[int] = set()

    def document(self, node: yaml.Node) -> Document:
        try:
            self._document.root = self._value(node, _place(node), 0)
        except _TooMuchError:
            self._wrong(_place(node), "too many values, or nested too deep: split the file")
        return self._document

    def _value(self, node: yaml.Node, place: tuple[int, int], depth: int) -> Value:
        if id(node) in self._seen:
            return self._wrong(place, "anchors and aliases are not taken: write the value again")
        self._seen.add(id(node))
        if len(self._seen) > MOST_VALUES or depth > MOST_LEVELS:
            raise _TooMuchError
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return Value(*place, dict(self._members(node, depth)))
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return Value(*place, [self._value(item, _place(item), depth + 1) for item in node.value])
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            return self._scalar(node, place)
        return self._wrong(place, "only texts, numbers, true, false, null, lists and maps are taken")

    def _members(self, node: yaml.MappingNode, depth: int) -> Iterator[tuple[str, Value]]:
        names: set[str] = set()
        for key, value in node.value:
            if key.tag != f"{_TAG}str":
                self._wrong(_place(key), "a key must be text: quote it")
            elif key.value in names:
                self._wrong(_place(key), f"{key.value!r} stands here twice: remove one")
            else:
                names.add(key.value)
                # A block begins on a line of its own; who looks for it looks for its key.
                owner = value if value.start_mark.line == key.start_mark.line else key
                yield key.value, self._value(value, _place(owner), depth + 1)

    def _scalar(self, node: yaml.ScalarNode, place: tuple[int, int]) -> Value:
        if node.tag == f"{_TAG}str":
            return Value(*place, node.value)
        if self._exact and node.tag == f"{_TAG}timestamp":
            return Value(*place, node.value)
        if self._exact and node.tag == f"{_TAG}float":
            return self._wrong(place, "a number with a point has no exact form: write it as text")
        try:
            return Value(*place, yaml.SafeLoader("").construct_object(node))
        except (ValueError, yaml.YAMLError):
            return self._wrong(place, "this cannot be read: quote it if it is text")

    def _wrong(self, place: tuple[int, int], message: str) -> Value:
        self._document.problems.append(Problem(self._document.file, *place, message))
        return Value(*place, None)


def _place(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
