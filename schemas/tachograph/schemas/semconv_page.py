"""Writes docs/semconv.md from the table: ``python -m tachograph.schemas.semconv_page > docs/semconv.md``."""

import sys
from itertools import pairwise
from typing import Final

from tachograph.schemas.semconv import Meaning, SemanticConventions, Signal, semantic_conventions

_HEAD: Final = """# What OpenTelemetry calls it

This page is written by the program (`python -m tachograph.schemas.semconv_page > docs/semconv.md`), from the one table
of these names, `schemas/tachograph/schemas/semconv.toml`. A test compares the two, and the table with the columns of
ClickHouse, with the views of spans and with OpenTelemetry's own list.

The names of the generative AI conventions have changed and will change. `tachograph export otlp --semconv 1.36` (or the
setting `otlp.semconv`) speaks the version that your dashboards were made for; without it, {default}. The view
`otel_traces` has the names of {default}. What a version has no name for is called `tachograph.…`. Since 1.43 these
names are kept in a repository of their own; they are the same.

Known versions: {versions}.
"""

_SECTIONS: Final = (
    ("Who acted", "Attributes of the resource.", lambda meaning: meaning.signals == (Signal.RESOURCE,)),
    (
        "Names of the conventions",
        "Attributes of spans and logs that OpenTelemetry has names for.",
        lambda meaning: bool(meaning.names) and not meaning.content and Signal.RESOURCE not in meaning.signals,
    ),
    (
        "Names of our own",
        "Attributes of spans and logs that the conventions say nothing about.",
        lambda meaning: not meaning.names and not meaning.content and Signal.RESOURCE not in meaning.signals,
    ),
    ("Content", "Only with `--content`, and as it was captured.", lambda meaning: meaning.content),
)


def page(conventions: SemanticConventions) -> str:
    """The whole page."""
    lines = [
        _HEAD.format(
            default=conventions.default,
            versions=f"{', '.join(conventions.versions[:-1])} and {conventions.versions[-1]}",
        )
    ]
    for title, about, belongs in _SECTIONS:
        lines += [f"## {title}", "", about, "", "| name | versions | told on | from |", "|---|---|---|---|"]
        for meaning in conventions.meanings:
            if belongs(meaning):
                lines += _rows(meaning, conventions)
        lines.append("")
    return "\n".join(lines)


def _rows(meaning: Meaning, conventions: SemanticConventions) -> list[str]:
    told = ", ".join(f"{signal.value}s" if signal is not Signal.RESOURCE else "resource" for signal in meaning.signals)
    columns = ", ".join(f"`{column}`" for column in meaning.columns)
    return [f"| `{name}` | {span} | {told} | {columns} |" for name, span in _spans(meaning, conventions)]


def _spans(meaning: Meaning, conventions: SemanticConventions) -> list[tuple[str, str]]:
    """Names and from which version to which each is used."""
    first, last = conventions.versions[0], conventions.versions[-1]
    changes = [first, *(since for since, _ in meaning.names if since != first)]
    found = []
    for start, following in pairwise([*changes, ""]):
        end = conventions.versions[conventions.versions.index(following) - 1] if following else last
        span = "all" if (start, end) == (first, last) else f"from {start}" if end == last else f"to {end}"
        found.append((meaning.name_in(start), f"{start} to {end}" if start != first and end != last else span))
    return found


if __name__ == "__main__":
    sys.stdout.write(page(semantic_conventions()))
