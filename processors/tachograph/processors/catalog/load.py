"""From a folder of YAML files to a catalog, or to every problem in it at once, each with its line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tachograph.processors.catalog.catalog import Catalog, Pinned, pin
from tachograph.processors.catalog.documents import KINDS
from tachograph.processors.catalog.errors import CatalogError
from tachograph.processors.catalog.references import broken_references
from tachograph.schemas.canonical import CanonicalError
from tachograph.schemas.placed_yaml import Document, Problem
from tachograph.schemas.placed_yaml import read_file as read_placed

LOCK_FILE: Final = "catalog.lock"
"""Hashes of published versions, beside the documents."""


def load_catalog(folder: Path) -> Catalog:
    """The catalog of a folder; `CatalogError` with every problem if it has any."""
    catalog, problems = check_catalog(folder)
    if problems:
        raise CatalogError(problems)
    return catalog


def check_catalog(folder: Path) -> tuple[Catalog, list[Problem]]:
    """What could be read, and every problem, in the order of files and lines."""
    if not folder.is_dir():
        return Catalog(()), [Problem(str(folder), 1, 1, "there is no such folder: name the one that holds the catalog")]
    problems: list[Problem] = []
    placed: dict[tuple[str, str], tuple[Document, Pinned]] = {}
    unsound: set[tuple[str, str]] = set()
    for document in _documents(folder):
        pinned = _pinned(document)
        problems += document.problems
        if pinned is None:
            unsound.add(_named(document))
            continue
        name = (pinned.document.kind, pinned.reference)
        if name in placed:
            where = placed[name][0].problem((), "")
            problems.append(document.problem((), f"{pinned.reference} is already in {where.file}:{where.line}"))
        else:
            placed[name] = document, pinned
    catalog = Catalog(pinned for _, pinned in placed.values())
    for document, pinned in placed.values():
        problems += [
            document.problem(path, message) for path, message in broken_references(pinned.document, catalog, unsound)
        ]
    problems += _changed(folder / LOCK_FILE, placed, unsound)
    if not placed and not problems:
        problems.append(Problem(str(folder), 1, 1, "no YAML file here holds a document of a catalog"))
    return catalog, sorted(problems)


def read_file(path: Path) -> tuple[list[Pinned], list[Problem]]:
    """The documents of one file, and every problem in it."""
    documents = read_placed(path, exact=True)
    pinned = [found for document in documents if (found := _pinned(document)) is not None]
    return pinned, sorted(problem for document in documents for problem in document.problems)


def _documents(folder: Path) -> Iterator[Document]:
    for path in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")]):
        yield from read_placed(path, str(path.relative_to(folder)), exact=True)


def _named(document: Document) -> tuple[str, str]:
    """Kind and name of a document that has problems of its own: what refers to it is not wrong for that."""
    value = document.root.plain()
    given = value if isinstance(value, dict) else {}
    return str(given.get("kind")), str(given.get("key") or given.get("id"))


def _pinned(document: Document) -> Pinned | None:
    if document.problems:
        return None
    value = document.root.plain()
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        document.problems.append(document.problem(("kind",), f"'kind' must be one of {', '.join(KINDS)}"))
        return None
    try:
        return Pinned(KINDS[kind].model_validate(value), pin(value))
    except ValidationError as error:
        for item in error.errors(include_input=False, include_url=False):
            named = ".".join(map(str, item["loc"])) or kind
            words = "there is no such field" if item["type"] == "extra_forbidden" else item["msg"]
            document.problems.append(document.problem(item["loc"], f"{named}: {words}"))
    except CanonicalError as error:
        document.problems.append(document.problem((), f"cannot be pinned by its hash: {error.reason.value}"))
    return None


def _changed(
    lock: Path, placed: dict[tuple[str, str], tuple[Document, Pinned]], unsound: set[tuple[str, str]]
) -> Iterator[Problem]:
    """Versions that say something else than when they were locked, or are gone."""
    if not lock.is_file():
        return
    for number, line in enumerate(lock.read_text(encoding="utf-8").splitlines(), 1):
        kind, _, rest = line.partition(" ")
        reference, _, hash_then = rest.partition(" ")
        found = placed.get((kind, reference))
        if found is None and (kind, reference.partition("@")[0]) in unsound:
            continue
        if found is None:
            yield Problem(lock.name, number, 1, f"{reference} was published and is gone: records refer to it")
        elif found[1].hash != hash_then:
            yield found[0].problem((), f"{reference} was published with other content: give it the next version")
