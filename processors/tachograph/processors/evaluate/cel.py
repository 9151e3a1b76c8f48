"""Expressions in CEL: compiled once, bounded in what they may cost, and silent about what they cannot decide.

Bounds: the text is at most 1,024 characters and nests at most 32 deep; ``map`` does not exist, so values cannot be
multiplied; at most two comprehensions, one if an expression is matched as well; 10,000 iterations (the library's own
limit); lists are cut to 64 entries and texts to 8 KB, and an event that had more gives ``unknown``.
"""

import re
from typing import Any, Final

from cel_expr_python import cel

from tachograph.processors.evaluate.registry import ArgumentError, CheckFunction
from tachograph.processors.evaluate.results import PASSED, Outcome, failed, unknown
from tachograph.processors.evaluate.subject import Subject

MOST_CHARACTERS: Final = 1024
MOST_ITEMS: Final = 64
MOST_TEXT: Final = 8 * 1024
_MOST_COMPREHENSIONS: Final = 2
_MOST_MATCHES: Final = 4

_ENVIRONMENT: Final = """
name: tachograph
stdlib:
  exclude_macros: [map]
variables:
- {name: action, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
- {name: output, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
- {name: files, type_name: list, params: [{type_name: string}]}
- {name: commands, type_name: list, params: [{type_name: string}]}
- {name: tools, type_name: list, params: [{type_name: string}]}
- {name: run, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
- {name: request, type_name: map, params: [{type_name: string}, {type_name: dyn}]}
"""
_ENV: Final = cel.NewEnv(config=cel.NewEnvConfigFromYaml(_ENVIRONMENT))
_LITERAL: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_COMPREHENSION: Final = re.compile(r"\.\s*(?:all|exists|exists_one|filter)\s*\(")
_MATCHES: Final = re.compile(r"\bmatches\s*\(")
_CONTENT: Final = re.compile(r"\boutput\b|\bcommands\b|\baction\s*(?:\.\s*summary|\[)")
_WRONG: Final = unknown("the expression could not be evaluated for this event")


def expression(text: str) -> CheckFunction:
    """A check that holds while the expression is true. Raises ArgumentError if it is none, or may cost too much."""
    text = text.strip()
    if not 0 < len(text) <= MOST_CHARACTERS:
        raise ArgumentError(f"a CEL expression has 1 to {MOST_CHARACTERS} characters")
    bare = _LITERAL.sub("''", text)
    comprehensions, matches = len(_COMPREHENSION.findall(bare)), len(_MATCHES.findall(bare))
    if comprehensions > _MOST_COMPREHENSIONS or matches > _MOST_MATCHES or (comprehensions > 1 and matches):
        raise ArgumentError(
            f"the CEL expression may cost too much: at most {_MOST_COMPREHENSIONS} comprehensions, "
            f"one if it uses matches, and {_MOST_MATCHES} uses of matches"
        )
    try:
        program = _ENV.compile(text)
    except RuntimeError as error:
        raise ArgumentError(f"not a CEL expression over {_names()}: {_where(str(error))}") from None
    if not any(program.return_type() == kind for kind in (cel.Type.BOOL, cel.Type.DYN)):  # the type has no hash
        raise ArgumentError("the CEL expression is not true or false")
    reads_content = _CONTENT.search(bare) is not None

    def check(subject: Subject) -> Outcome | None:
        variables, whole = _variables(subject)
        if reads_content and not _readable(subject):
            return unknown("the expression reads content that is not stored as text")
        if not whole:
            return unknown("the event is too large for an expression")
        try:
            value = program.eval(data=variables)
            answer = value.value() if value.type() == cel.Type.BOOL else None
        except RuntimeError:
            return _WRONG
        if answer is True:
            return PASSED
        return failed("the expression does not hold", "event as a whole") if answer is False else _WRONG

    return check


def _variables(subject: Subject) -> tuple[dict[str, Any], bool]:
    """What expressions see, and whether that is all there is."""
    event, facts = subject.event, subject.facts
    output = event["model_output"]
    usage = {} if output is None else output["usage"]
    text = subject.output or ""
    files = [path.text for path in subject.paths]
    commands = [command.text for command in subject.commands]
    context = subject.request["context"]
    summary = event["agent_action"]["action_summary"]
    whole = (
        max(len(files), len(commands), len(subject.tool_calls)) <= MOST_ITEMS
        and max(len(text), len(summary), sum(map(len, commands))) <= MOST_TEXT
    )
    if not whole:
        return {}, False
    return {
        "action": {"type": subject.action_type, "summary": summary},
        "output": {"text": text, "length": len(text), "tokens": usage.get("output_tokens") or 0},
        "files": files,
        "commands": commands,
        "tools": [call["name"] for call in subject.tool_calls],
        "run": {
            "environment": subject.environment,
            "files_changed": facts.files_changed,
            "lines_changed": facts.lines_changed,
            "tests_ran": facts.tests_ran,
            "tests_passed": facts.tests_passed is True,
            "edited_since_tests": facts.edited,
            "approvals": facts.approvals,
            "agent": event["agent_id"],
        },
        "request": {
            "channel": context["channel"],
            "repo": context["repo"] or "",
            "branch": context["branch"] or "",
            "ticket_id": context["ticket_id"] or "",
        },
    }, True


def _readable(subject: Subject) -> bool:
    return not (subject.hashed or subject.output_hidden or subject.commands_hidden)


def _names() -> str:
    return "action, output, files, commands, tools, run, request"


def _where(message: str) -> str:
    """The first line of the library's message, which names the place."""
    first = message.removeprefix("INVALID_ARGUMENT: ").split("\n", 1)[0]
    return first.removeprefix("ERROR: <input>:")[:200]
