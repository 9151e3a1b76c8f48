"""A rule pack: rules of an organisation, checked for every event, read from one YAML file."""

import re
from typing import Any, Final, NamedTuple

from tachograph.processors.evaluate import cel
from tachograph.processors.evaluate.checks import format_ as _families  # noqa: F401 - registers the built-in checks
from tachograph.processors.evaluate.registry import CHECKS, ArgumentError, CheckFunction
from tachograph.processors.evaluate.results import SEVERITIES, SIDES, Side
from tachograph.schemas.enums import ActionType, Environment
from tachograph.schemas.placed_yaml import Document, Problem, Value, read_text

_PACK_KEYS: Final = ("pack", "version", "description", "rules")
_RULE_KEYS: Final = ("id", "check", "cel", "with", "kind", "severity", "message", "when", "learned_from")
_WHEN: Final[dict[str, tuple[str, ...]]] = {
    "environments": tuple(Environment),
    "actions": tuple(ActionType),
    "agents": (),
}
_ID: Final = re.compile(r"[a-z][a-z0-9_.-]{0,99}\Z")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+\Z")


class Rule(NamedTuple):
    """A rule that can be run."""

    id: str
    kind: Side
    severity: str
    run: CheckFunction
    message: str = ""
    """What a finding says, if not the check's own words."""
    environments: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    agents: tuple[str, ...] = ()
    """Globs. Empty in all three: everywhere, always, everybody."""
    learned_from: tuple[str, ...] = ()
    """Decision records that taught it."""


class RulePack(NamedTuple):
    """The rules of one file."""

    name: str
    version: str
    rules: tuple[Rule, ...]


def read_pack(text: str, file: str) -> tuple[RulePack | None, list[Problem]]:
    """Read a pack. Every problem is reported, each with its line; the pack is None if there is one."""
    document, *others = read_text(text, file) or [Document(file)]
    if not document.problems:
        pack = _Reader(document).pack(document.root)
        document.problems += [
            other.problem((), "a file holds one rule pack: give this one its own") for other in others
        ]
        if not document.problems:
            return pack, []
    return None, document.problems


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document

    def pack(self, root: Value) -> RulePack | None:
        if not isinstance(root.data, dict):
            self._wrong(root, "a rule pack is a map with 'pack', 'version' and 'rules'")
            return None
        self._keys(root, _PACK_KEYS, "a rule pack")
        name = self._text(root, "pack", _ID, "small letters, digits, dots, dashes, such as 'coding-agent'")
        version = self._text(root, "version", _VERSION, "three numbers in quotes or not, such as 1.0.0")
        listed = root.data.get("rules")
        if listed is None or not isinstance(listed.data, list) or not listed.data:
            self._wrong(listed or root, "'rules' is missing or not a list; give at least one rule")
            return None
        rules: dict[str, Rule] = {}
        for value in listed.data:
            rule = self._rule(value)
            if rule is None:
                continue
            if rule.id in rules:
                self._wrong(value, f"the rule id {rule.id!r} is used twice; ids are unique")
            rules[rule.id] = rule
        return RulePack(name or "", version or "", tuple(rules[key] for key in sorted(rules)))

    def _rule(self, value: Value) -> Rule | None:
        if not isinstance(value.data, dict):
            self._wrong(value, "a rule is a map with 'id' and 'check' or 'cel'")
            return None
        self._keys(value, _RULE_KEYS, "a rule")
        members = value.data
        rule_id = self._text(value, "id", _ID, "small letters, digits, dots, dashes, underscores")
        found = self._function(value)
        when = self._when(members.get("when"))
        if found is None or rule_id is None:
            return None
        run, side, severity = found
        kind = self._choice(members.get("kind"), "kind", SIDES) or side
        return Rule(
            rule_id,
            kind,  # type: ignore[arg-type]  # one of SIDES, by the line above
            self._choice(members.get("severity"), "severity", SEVERITIES) or severity,
            run,
            self._message(members.get("message")),
            frozenset(when.get("environments", ())),
            frozenset(when.get("actions", ())),
            tuple(when.get("agents", ())),
            self._records(members.get("learned_from")),
        )

    def _function(self, value: Value) -> tuple[CheckFunction, Side, str] | None:
        members = value.data
        check, written = members.get("check"), members.get("cel")
        if (check is None) == (written is None):
            self._wrong(value, "a rule has either 'check' or 'cel'; give one of them")
            return None
        if written is not None:
            if "with" in members:
                self._wrong(members["with"], "'with' belongs to 'check'; put values into the expression")
            if not isinstance(written.data, str):
                self._wrong(written, "'cel' is a text; put the expression in quotes")
                return None
            return self._built(written, lambda: cel.expression(written.data), "policy", "error")
        spec = CHECKS.get(check.data) if isinstance(check.data, str) else None
        if spec is None:
            self._wrong(check, f"there is no such check; there are {', '.join(sorted(CHECKS))}")
            return None
        given = members.get("with")
        if given is not None and not isinstance(given.data, dict):
            self._wrong(given, f"'with' is a map of arguments; {spec.usage()}")
            return None
        arguments: dict[str, Any] = {} if given is None else given.plain()
        return self._built(given or check, lambda: spec.build(arguments), spec.side, spec.severity)

    def _built(self, value: Value, build: Any, side: Side, severity: str) -> tuple[CheckFunction, Side, str] | None:
        try:
            return build(), side, severity
        except ArgumentError as error:
            self._wrong(value, str(error))
            return None

    def _when(self, value: Value | None) -> dict[str, list[str]]:
        if value is None:
            return {}
        if not isinstance(value.data, dict):
            self._wrong(value, f"'when' is a map with {', '.join(_WHEN)}")
            return {}
        self._keys(value, tuple(_WHEN), "'when'")
        found = {}
        for name, choices in _WHEN.items():
            member = value.data.get(name)
            if member is None:
                continue
            items = member.data if isinstance(member.data, list) else [member]
            for item in items:
                if not isinstance(item.data, str) or not item.data:
                    self._wrong(item, f"'{name}' holds texts")
                elif choices and item.data not in choices:
                    self._wrong(item, f"'{name}' holds {', '.join(choices)}")
            found[name] = [item.data for item in items if isinstance(item.data, str)]
        return found

    def _records(self, value: Value | None) -> tuple[str, ...]:
        if value is None:
            return ()
        listed = value.data if isinstance(value.data, list) else []
        names = [item.data for item in listed if isinstance(item.data, str) and 0 < len(item.data) <= 256]  # noqa: PLR2004 - an id
        if not names or len(names) < len(listed) or len(set(names)) < len(names):
            self._wrong(value, "'learned_from' is a list of ids of decision records, each once")
            return ()
        return tuple(names)

    def _message(self, value: Value | None) -> str:
        if value is None:
            return ""
        if not isinstance(value.data, str) or not 0 < len(value.data) <= 500:  # noqa: PLR2004 - a sentence
            self._wrong(value, "'message' is a text of 1 to 500 characters")
            return ""
        return value.data

    def _text(self, owner: Value, name: str, form: re.Pattern[str], hint: str) -> str | None:
        value = owner.data.get(name)
        if value is None:
            self._wrong(owner, f"{name!r} is missing; it is {hint}")
            return None
        if not isinstance(value.data, str) or form.match(value.data) is None:
            self._wrong(value, f"{name!r} is {hint}")
            return None
        return value.data

    def _choice(self, value: Value | None, name: str, choices: tuple[str, ...]) -> str | None:
        if value is None:
            return None
        if value.data not in choices:
            self._wrong(value, f"{name!r} is one of {', '.join(choices)}")
            return None
        return str(value.data)

    def _keys(self, owner: Value, known: tuple[str, ...], what: str) -> None:
        for name, value in owner.data.items():
            if name not in known:
                self._wrong(value, f"{what} has no {name!r}; it has {', '.join(known)}")

    def _wrong(self, value: Value, message: str) -> None:
        """Note a problem."""
        self._document.problems.append(self._document.problem_at(value, message))
