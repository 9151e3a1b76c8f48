"""Form of what the model said: JSON, JSON Schema, emojis, length, languages of code fences."""

import re
from typing import Any, Final

import jsonschema_rs
import orjson

from tachograph.processors.evaluate.registry import ArgumentError, CheckFunction, Parameter, named
from tachograph.processors.evaluate.results import PASSED, Outcome, failed, unknown
from tachograph.processors.evaluate.subject import Subject

_HIDDEN: Final = unknown("the output is not stored as text; capture it in full or redacted mode to judge its form")
_RAW: Final = "model_output.output_raw"
_EMOJI: Final = re.compile(
    "[\u203c\u2049\u231a\u231b\u23e9-\u23fa\u25fb-\u25fe\u2600-\u26ff\u2705\u270a-\u270d\u2728\u274c\u274e"
    "\u2753-\u2757\u2764\u2795-\u2797\u27b0\u2b50\u2b55\U0001f000-\U0001faff\ufe0f\u20e3]"
)
_FENCE: Final = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)", re.MULTILINE)


@named("valid_json", "alignment", "error")
def valid_json() -> CheckFunction:
    """The output is one JSON document."""

    def check(subject: Subject) -> Outcome | None:
        if subject.output_hidden:
            return _HIDDEN
        if subject.output is None:
            return None
        try:
            orjson.loads(subject.output)
        except orjson.JSONDecodeError as error:
            return failed("the output is not valid JSON; ask the model for JSON only", f"{_RAW}[{error.pos}]")
        return PASSED

    return check


@named("json_schema", "alignment", "error", Parameter("schema", "schema"))
def json_schema(schema: dict[str, Any]) -> CheckFunction:
    """The output is JSON that matches a JSON Schema."""
    try:
        # Expressions run on the linear engine, and references to other documents are not followed.
        validator = jsonschema_rs.validator_for(
            schema, retriever=_no_retrieval, pattern_options=jsonschema_rs.RegexOptions()
        )
    except ValueError:
        # The library's message repeats the schema.
        raise ArgumentError("the JSON Schema is not valid, or refers to another document") from None

    def check(subject: Subject) -> Outcome | None:
        output = subject.event["model_output"]
        structured = None if output is None else output["output_structured"]
        if structured and not subject.hashed:
            where, text = "model_output.output_structured", structured
        elif subject.output_hidden or (structured and subject.hashed):
            return _HIDDEN
        elif subject.output is None:
            return None
        else:
            where, text = _RAW, subject.output
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            return failed("the output is not valid JSON, so it matches no schema", f"{where}[{error.pos}]")
        if validator.is_valid(value):
            return PASSED
        return failed("the output does not match the JSON Schema", f"{where} as a whole")

    return check


@named("no_emojis", "alignment", "warn")
def no_emojis() -> CheckFunction:
    """The output has no emojis."""

    def check(subject: Subject) -> Outcome | None:
        text = subject.output
        if text is not None and not text.isascii():
            found = _EMOJI.search(text)
            if found is not None:
                return failed("the output has an emoji", f"{_RAW}[{found.start()}]: U+{ord(found[0]):04X}")
        if subject.output_hidden:
            return _HIDDEN
        return None if text is None else PASSED

    return check


@named("max_length", "alignment", "warn", Parameter("characters", "count"))
def max_length(characters: int) -> CheckFunction:
    """The output has at most this many characters."""

    def check(subject: Subject) -> Outcome | None:
        text = subject.output
        if text is not None and len(text) > characters:
            return failed(f"the output has {len(text)} characters, more than {characters}", _RAW)
        if subject.output_hidden:
            return _HIDDEN
        return None if text is None else PASSED

    return check


@named("code_fences", "alignment", "warn", Parameter("languages", "texts"))
def code_fences(languages: tuple[str, ...]) -> CheckFunction:
    """Every code fence of the output names one of these languages."""
    allowed = frozenset(language.lower() for language in languages)

    def check(subject: Subject) -> Outcome | None:
        text = subject.output
        if text is not None and ("```" in text or "~~~" in text):
            fence = ""
            for found in _FENCE.finditer(text):
                if fence:
                    # A fence closes with the character that opened it, at least as long, and nothing behind it.
                    if found[1].startswith(fence) and not found[2]:
                        fence = ""
                    continue
                fence = found[1]
                if found[2].lower() not in allowed:
                    return failed("a code fence names another language, or none", f"{_RAW}[{found.start()}]")
        if subject.output_hidden:
            return _HIDDEN
        return None if text is None else PASSED

    return check


def _no_retrieval(_uri: str) -> Any:
    raise ValueError("schemas of rules stand alone")
