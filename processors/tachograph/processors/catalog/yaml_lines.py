"""YAML as plain values that remember their lines.

Only what JSON has too: no dates, no anchors that share a value, no key twice. A value that two readers could take for
two things would have two hashes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from tachograph.processors.catalog.errors import Problem

Path = tuple[str | int, ...]

_TAG: Final = "tag:yaml.org,2002:"
_SCALARS: Final = {f"{_TAG}{name}" for name in ("str", "int", "bool", "null", "float", "timestamp")}


@dataclass(slots=True)
class Document:
    """One YAML document: its value, and where each part of it stands."""

    file: str
    value: Any = None
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, path: Path, message: str) -> Problem:
        """A problem at a part of the document, or at the nearest part around it that is there."""
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        return Problem(self.file, line, column, message)


def read_documents(text: str, file: str) -> Iterator[Document]:
    """Every document of a YAML text. What cannot be read is a problem of the document it stands in."""
    try:
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            document = Document(file)
            document.value = _value(document, node, ())
            yield document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        yield Document(file, problems=[Problem(file, line, column, f"not YAML: {error.problem}")])
    except yaml.YAMLError:
        yield Document(
            file, problems=[Problem(file, 1, 1, "not YAML text: it holds characters that YAML does not have")]
        )


def _value(document: Document, node: yaml.Node | None, path: Path) -> Any:
    if node is None:
        return None
    document.places[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
        return _mapping(document, node, path)
    if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
        return [_value(document, item, (*path, place)) for place, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
        return _scalar(document, node, path)
    document.problems.append(document.problem(path, "only texts, integers, true, false, null, lists and maps"))
    return None


def _mapping(document: Document, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key_node, value_node in node.value:
        place = Problem(document.file, key_node.start_mark.line + 1, key_node.start_mark.column + 1, "")
        if key_node.tag != f"{_TAG}str":
            document.problems.append(Problem(place.file, place.line, place.column, "a key must be text: quote it"))
            continue
        if key_node.value in members:
            document.problems.append(
                Problem(place.file, place.line, place.column, f"'{key_node.value}' is given twice")
            )
            continue
        members[key_node.value] = _value(document, value_node, (*path, key_node.value))
    return members


def _scalar(document: Document, node: yaml.ScalarNode, path: Path) -> Any:
    if node.tag == f"{_TAG}float":
        document.problems.append(document.problem(path, "a number with a point has no exact form: write it as text"))
        return None
    if node.tag in (f"{_TAG}str", f"{_TAG}timestamp"):
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (ValueError, yaml.YAMLError):
        document.problems.append(document.problem(path, "this cannot be read: quote it if it is text"))
        return None
