"""Documents that people write: YAML in, a validated model out, and for every mistake the place where it stands.

Messages name the place and the rule, never the value: a file of routes may hold an address that is a secret.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from tachograph.schemas.errors import DocumentError
from tachograph.schemas.placed_yaml import Document, read_file, read_text

Model = TypeVar("Model", bound=BaseModel)


def read_documents(path: Path, model: type[Model]) -> list[Model]:
    """Read every document of the file. Raises DocumentError with all mistakes, each with its line."""
    return _validated(read_file(path), model, str(path))


def parse_documents(text: str, model: type[Model], source: str) -> list[Model]:
    """As :func:`read_documents`, for text that was read already; ``source`` names it in messages."""
    return _validated(read_text(text, source), model, source)


def _validated(documents: Sequence[Document], model: type[Model], source: str) -> list[Model]:
    found = [_model(document, model) for document in documents if not document.problems]
    if problems := [problem for document in documents for problem in document.problems]:
        raise DocumentError("\n".join(map(str, problems)))
    if not documents:
        raise DocumentError(f"{source}: there is nothing in it")
    return [item for item in found if item is not None]


def _model(document: Document, model: type[Model]) -> Model | None:
    try:
        return model.model_validate(document.root.plain())
    except ValidationError as error:
        for item in error.errors(include_input=False, include_url=False):
            place = ".".join(str(part) for part in item["loc"]) or "document"
            sentence = item["msg"].removeprefix("Value error, ")
            document.problems.append(document.problem(item["loc"], f"{place}: {sentence}"))
        return None
