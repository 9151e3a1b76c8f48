"""Named checks and their arguments. A family registers its checks by importing this and using ``named``."""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from tachograph.processors.evaluate.results import Outcome, Side
from tachograph.processors.evaluate.subject import Subject

CheckFunction = Callable[[Subject], Outcome | None]
"""Judges one event. None: it does not apply."""

Kind = Literal["count", "counts", "text", "texts", "flag", "schema"]

MOST_ITEMS: Final = 256
MOST_CHARACTERS: Final = 1024


class ArgumentError(ValueError):
    """An argument of a check is wrong. The message says what to write instead."""


class Parameter(NamedTuple):
    """One argument of a check."""

    name: str
    kind: Kind
    required: bool = True
    choices: tuple[str, ...] = ()


class CheckSpec(NamedTuple):
    """A check by its name."""

    name: str
    family: str
    side: Side
    severity: str
    """Of a rule that does not say its own."""
    parameters: tuple[Parameter, ...]
    make: Callable[..., CheckFunction]
    summary: str

    def build(self, arguments: dict[str, Any]) -> CheckFunction:
        """The check with its arguments. Raises ArgumentError."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in arguments:
            if name not in known:
                raise ArgumentError(f"{self.name} has no argument {name!r}; {self.usage()}")
        values = {}
        for name, parameter in known.items():
            if name in arguments:
                values[name] = _value(self, parameter, arguments[name])
            elif parameter.required:
                raise ArgumentError(f"{self.name} needs {name!r}; {self.usage()}")
        return self.make(**values)

    def usage(self) -> str:
        """How the check is written."""
        if not self.parameters:
            return "it takes no arguments"
        named_ = ", ".join(
            f"{parameter.name}: {parameter.kind}{'' if parameter.required else ' (optional)'}"
            for parameter in self.parameters
        )
        return f"it takes {named_}"


CHECKS: Final[dict[str, CheckSpec]] = {}


def named(
    name: str, side: Side, severity: str, *parameters: Parameter
) -> Callable[[Callable[..., CheckFunction]], Callable[..., CheckFunction]]:
    """Register a factory of checks under a name. Its docstring is what the documentation says of it."""

    def register(make: Callable[..., CheckFunction]) -> Callable[..., CheckFunction]:
        family = make.__module__.rsplit(".", 1)[-1]
        summary = (make.__doc__ or "").strip().splitlines()[0]
        CHECKS[name] = CheckSpec(name, family, side, severity, parameters, make, summary)
        return make

    return register


def _value(spec: CheckSpec, parameter: Parameter, value: Any) -> Any:
    """A value of the kind that the parameter takes. Constraints give text, packs give YAML values."""
    kind, name = parameter.kind, f"{spec.name}: {parameter.name}"
    if kind == "count":
        return _count(name, value)
    if kind == "flag":
        if value in (True, "true"):
            return True
        if value in (False, "false"):
            return False
        raise ArgumentError(f"{name} is true or false")
    if kind == "schema":
        if not isinstance(value, dict):
            raise ArgumentError(f"{name} is a JSON Schema, an object")
        return value
    return _items(name, parameter, value if isinstance(value, list) else [value])


def _items(name: str, parameter: Parameter, items: list[Any]) -> Any:
    if parameter.kind == "text" and len(items) != 1:
        raise ArgumentError(f"{name} is one text")
    if not items or len(items) > MOST_ITEMS:
        raise ArgumentError(f"{name} has 1 to {MOST_ITEMS} items")
    if parameter.kind == "counts":
        return tuple(_count(name, item) for item in items)
    for item in items:
        if not isinstance(item, str) or not item or len(item) > MOST_CHARACTERS:
            raise ArgumentError(f"{name} holds texts of 1 to {MOST_CHARACTERS} characters")
        if parameter.choices and item not in parameter.choices:
            raise ArgumentError(f"{name} is one of {', '.join(parameter.choices)}")
    return items[0] if parameter.kind == "text" else tuple(items)


def _count(name: str, value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:18])
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ArgumentError(f"{name} is a whole number from 0")
    return value
