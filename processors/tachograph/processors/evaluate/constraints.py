"""From the text of a rule to a check: ``no_emojis``, ``paths_within(src/**)``, ``cel: …``. Anything else is a sentence.

What cannot be compiled gives ``unknown`` for every event, with the reason: never ``pass``.
"""

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from tachograph.processors.evaluate import cel
from tachograph.processors.evaluate.checks import format_ as _families  # noqa: F401 - registers the built-in checks
from tachograph.processors.evaluate.registry import CHECKS, ArgumentError, CheckFunction, CheckSpec
from tachograph.processors.evaluate.results import Outcome, unknown
from tachograph.processors.evaluate.subject import Subject

MOST_COMPILED: Final = 4096
"""Rules whose compiled form is kept. A run's constraints are the same in each of its events."""

_CALL: Final = re.compile(r"\s*([a-z][a-z0-9_]*)\s*(?:\((.*)\))?\s*\Z", re.DOTALL)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}

SEVERITY_OF: Final = {"style": "warn", "format": "error", "scope": "error", "safety": "critical", "other": "error"}
"""How bad a broken constraint is, by its type."""


class Compiled(NamedTuple):
    """A rule that can be run."""

    name: str
    """Name of the check; ``cel`` or ``sentence`` where it has none."""
    run: CheckFunction


@lru_cache(maxsize=MOST_COMPILED)
def compile_rule(text: str) -> Compiled:
    """The check that a rule means."""
    if text.lstrip().startswith("cel:"):
        try:
            return Compiled("cel", cel.expression(text.lstrip()[4:]))
        except ArgumentError as error:
            return Compiled("cel", _always_unknown(str(error)))
    call = _CALL.match(text)
    if call is None:
        return Compiled("sentence", _always_unknown("no check maps this rule: it is a sentence"))
    spec = CHECKS.get(call[1])
    if spec is None:
        return Compiled("sentence", _always_unknown("no check has the name of this rule"))
    try:
        return Compiled(spec.name, spec.build(_arguments(spec, call[2] or "")))
    except ArgumentError as error:
        return Compiled(spec.name, _always_unknown(str(error)))


def _always_unknown(reason: str) -> CheckFunction:
    outcome = unknown(reason)

    def check(_subject: Subject) -> Outcome:
        return outcome

    return check


def _arguments(spec: CheckSpec, text: str) -> dict[str, Any]:
    """Arguments as written: positional ones fill the parameters, the last list takes the rest."""
    arguments: dict[str, Any] = {}
    places = list(spec.parameters)
    for part in _split(text):
        name, found, value = part.partition("=")
        if found and name.strip().isidentifier() and any(p.name == name.strip() for p in spec.parameters):
            target, given = name.strip(), _unquoted(value.strip())
        else:
            if not places:
                raise ArgumentError(f"{spec.name} has too many arguments; {spec.usage()}")
            target, given = places[0].name, _unquoted(part)
        kind = next(p.kind for p in spec.parameters if p.name == target)
        if kind == "schema":
            arguments[target] = _json(given)
        elif kind in ("texts", "counts"):
            listed = _json(given) if given.startswith("[") else None
            arguments.setdefault(target, []).extend(listed if isinstance(listed, list) else [given])
        else:
            arguments[target] = given
            if places and places[0].name == target:
                del places[0]
    return arguments


def _split(text: str) -> list[str]:
    """Split at commas outside quotes and brackets."""
    parts: list[str] = []
    start, quote, escaped = 0, "", False
    depth: list[str] = []
    for place, character in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\"
            if character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in _CLOSING:
            depth.append(_CLOSING[character])
        elif depth and character == depth[-1]:
            depth.pop()
        elif character == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    if quote or depth:
        raise ArgumentError("a quote or bracket in the rule is not closed")
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    return text


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ArgumentError("an argument that should be JSON is not") from None
