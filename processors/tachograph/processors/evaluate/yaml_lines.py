"""YAML with the line of every value, because an error in a rule pack must say where it is."""

from typing import Any, Final, NamedTuple

import yaml

MOST_BYTES: Final = 1024 * 1024
MOST_VALUES: Final = 20_000


class Problem(NamedTuple):
    """What is wrong in a file, where, and what to do."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class Value(NamedTuple):
    """A YAML value. Members and items are values themselves."""

    line: int
    data: Any
    """A scalar, a ``list[Value]`` or a ``dict[str, Value]``."""

    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.data, dict):
            return {name: value.plain() for name, value in self.data.items()}
        if isinstance(self.data, list):
            return [value.plain() for value in self.data]
        return self.data


class UnreadableError(ValueError):
    """The text is not YAML that can be a rule pack."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_yaml(text: str) -> Value:
    """Parse. Raises UnreadableError for bad syntax, anchors, repeated keys and files that are too large."""
    if len(text) > MOST_BYTES:
        raise UnreadableError(1, f"the file is larger than {MOST_BYTES} bytes; split it into packs")
    loader = yaml.SafeLoader(text)
    try:
        try:
            node = loader.get_single_node()
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            raise UnreadableError(
                1 if mark is None else mark.line + 1,
                f"not valid YAML: {getattr(error, 'problem', None) or 'the characters cannot be read'}",
            ) from None
        if node is None:
            raise UnreadableError(1, "the file is empty; it needs 'pack', 'version' and 'rules'")
        return _Converter(loader).value(node, 0)
    finally:
        loader.dispose()


class _Converter:
    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, depth: int) -> Value:
        line = node.start_mark.line + 1
        if id(node) in self._seen:
            raise UnreadableError(line, "anchors and aliases are not taken; write the value again")
        self._seen.add(id(node))
        if len(self._seen) > MOST_VALUES or depth > 40:  # noqa: PLR2004 - deeper than any schema people write
            raise UnreadableError(line, "too many values, or nested too deep; split the file")
        if isinstance(node, yaml.MappingNode):
            members: dict[str, Value] = {}
            for key_node, value_node in node.value:
                key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
                if key is None:
                    raise UnreadableError(key_node.start_mark.line + 1, "a key must be a text")
                if key in members:
                    raise UnreadableError(key_node.start_mark.line + 1, f"{key!r} stands here twice; remove one")
                members[key] = self.value(value_node, depth + 1)
            return Value(line, members)
        if isinstance(node, yaml.SequenceNode):
            return Value(line, [self.value(item, depth + 1) for item in node.value])
        try:
            return Value(line, self._loader.construct_object(node))
        except (yaml.YAMLError, ValueError):
            raise UnreadableError(
                line, "a value of this kind is not taken; use text, numbers, lists and maps"
            ) from None
