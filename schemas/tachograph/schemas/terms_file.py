"""Terms of a decision as a file, with the hash that they had when they were written."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tachograph.schemas.canonical import CanonicalError, strict_loads
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.models.terms import DecisionTerms

MAX_BYTES = 1 << 20


def write_terms(terms: DecisionTerms) -> str:
    """The file's text: a JSON object of the terms and their hash."""
    import json  # noqa: PLC0415 - an agent only reads

    return json.dumps({"hash": terms.hash, "terms": terms.model_dump(mode="json")}, indent=2) + "\n"


def read_terms(path: Path | str) -> DecisionTerms:
    """The terms of a file; `ConfigError` if it holds none, or if they are not those that were written."""
    again = "write it again with `tachograph catalog terms`"
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"the terms cannot be read ({error.strerror}): {path}") from None
    held: Any = None
    try:
        held = strict_loads(data) if len(data) <= MAX_BYTES else None
        terms = DecisionTerms.model_validate(held["terms"]) if isinstance(held, dict) else None
    except (CanonicalError, ValidationError, KeyError):
        terms = None
    if terms is None:
        raise ConfigError(f"this file holds no terms of a decision: {again} ({path})")
    if held["hash"] != terms.hash:
        raise ConfigError(f"these terms were changed after they were written: {again} ({path})")
    return terms
