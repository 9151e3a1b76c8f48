"""What OpenTelemetry calls our columns: the typed reading of ``semconv.toml``, the one table of these names.

The names of the generative AI conventions have changed and will change again. Whoever sends to a collector says which
version its dashboards were made for; everything here is a lookup in that version.
"""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from tachograph.schemas.errors import ConfigError

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/{version}"
"""Where OpenTelemetry keeps what changed between versions. Collectors read it to translate names; nobody fetches it
here."""


class Signal(StrEnum):
    """Where a value is told."""

    RESOURCE = "resource"
    SPAN = "span"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing to be said about a run, and what it has been called."""

    own: str
    """Our own name, where the conventions have none."""
    columns: tuple[str, ...]
    """Columns it is taken from, as ``table.column``."""
    names: tuple[tuple[str, str], ...] = ()
    """Versions and names: each from its version on. Ascending."""
    content: bool = False
    """Captured content: leaves only when it is asked for."""
    signals: tuple[Signal, ...] = (Signal.SPAN, Signal.LOG)
    """Where it is told."""

    def name_in(self, version: str) -> str:
        """What a version of the conventions calls it."""
        called = self.own
        for since, name in self.names:
            if _number(since) <= _number(version):
                called = name
        return called


@dataclass(frozen=True, slots=True)
class SemanticConventions:
    """Every meaning, and the versions that are spoken."""

    versions: tuple[str, ...]
    default: str
    meanings: tuple[Meaning, ...]

    def version(self, asked: str) -> str:
        """The version that is meant: a known one, the beginning of one, or nothing for the default."""
        if not asked:
            return self.default
        found = [known for known in self.versions if f"{known}.".startswith(f"{asked.removeprefix('v')}.")]
        if not found:
            raise ConfigError(
                f"the semantic conventions are known in the versions {', '.join(self.versions)}: choose one of them"
            )
        return found[-1]

    def names(self, signal: Signal, version: str, *, content: bool = False) -> dict[str, str]:
        """Attribute names by ``table.column``, of one signal in one version."""
        return {
            column: meaning.name_in(version)
            for meaning in self.meanings
            if signal in meaning.signals and meaning.content is content
            for column in meaning.columns
        }


@cache
def semantic_conventions() -> SemanticConventions:
    """The table as it ships."""
    read = tomllib.loads(files(__package__).joinpath("semconv.toml").read_text(encoding="utf-8"))
    return SemanticConventions(
        versions=tuple(read["versions"]),
        default=read["default"],
        meanings=tuple(_meaning(entry) for entry in read["meaning"]),
    )


def _meaning(entry: dict[str, Any]) -> Meaning:
    return Meaning(
        own=entry["own"],
        columns=tuple(entry["columns"]),
        names=tuple(entry.get("names", {}).items()),
        content=entry.get("content", False),
        signals=tuple(Signal(word) for word in entry.get("signals", (Signal.SPAN, Signal.LOG))),
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
