"""Documents that people write: YAML in, a validated model out, and for every mistake the line it stands on.

Messages name the place and the rule, never the value: a file of routes may hold an address that is a secret.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from tachograph.schemas.errors import DocumentError

Model = TypeVar("Model", bound=BaseModel)
_LARGEST_BYTES: Final = 1024 * 1024
"""A file of ours is a page or two. Past this it is something else under the same name."""


def read_documents(path: Path, model: type[Model]) -> list[Model]:
    """Read every document of the file. Raises DocumentError with all mistakes, each with its line."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise DocumentError(f"{path}: more than {_LARGEST_BYTES} bytes; is this the file you mean?")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"{path}: cannot be read ({type(error).__name__})") from None
    return parse_documents(text, model, str(path))


def parse_documents(text: str, model: type[Model], source: str) -> list[Model]:
    """As :func:`read_documents`, for text that was read already; ``source`` names it in messages."""
    try:
        nodes = [node for node in yaml.compose_all(text, yaml.SafeLoader) if not _empty(node)]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source}:{mark.line + 1}" if mark else source
        raise DocumentError(f"{place}: not YAML: {getattr(error, 'problem', None) or 'unreadable'}") from None
    if not nodes:
        raise DocumentError(f"{source}: there is nothing in it")
    problems: list[str] = []
    found = [_validated(node, model, source, problems) for node in nodes]
    if problems:
        raise DocumentError("\n".join(problems))
    return [item for item in found if item is not None]


def _validated(node: yaml.Node, model: type[Model], source: str, problems: list[str]) -> Model | None:
    repeated = [f"{source}:{line}: {key} is set twice" for key, line in _repeated_keys(node)]
    if repeated:
        problems += repeated
        return None
    try:
        value = _Constructor().construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = (mark or node.start_mark).line + 1
        problems.append(f"{source}:{line}: {getattr(error, 'problem', None) or 'a value of no known type'}")
        return None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for item in error.errors(include_input=False, include_url=False):
            place = ".".join(str(part) for part in item["loc"]) or "document"
            sentence = item["msg"].removeprefix("Value error, ")
            problems.append(f"{source}:{_line_of(node, item['loc'])}: {place}: {sentence}")
        return None


class _Constructor(yaml.constructor.SafeConstructor):
    """The safe types and nothing else, from a tree that is already composed."""


def _empty(node: yaml.Node | None) -> bool:
    return node is None or (isinstance(node, yaml.ScalarNode) and not node.value)


def _repeated_keys(node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                yield name, key.start_mark.line + 1
            seen.add(name)
            yield from _repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated_keys(item)


def _line_of(node: yaml.Node, location: Sequence[int | str]) -> int:
    """Line of the deepest part of ``location`` that the document has; where a key is missing, of its parent."""
    line: int = node.start_mark.line + 1
    current: Any = node
    for part in location:
        if isinstance(current, yaml.MappingNode):
            pair = next(((key, value) for key, value in current.value if key.value == str(part)), None)
            if pair is None:
                continue  # the name of a union's branch, or a key that is missing
            line, current = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(current, yaml.SequenceNode) and isinstance(part, int) and part < len(current.value):
            current = current.value[part]
            line = current.start_mark.line + 1
    return line
