"""One table of OpenTelemetry's names: every name is real, every column is real, and nothing else says them."""

import re
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import (
    deployment_attributes,
    gen_ai_attributes,
    service_attributes,
)
from opentelemetry.semconv.attributes import error_attributes

from tachograph.schemas import tables
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.semconv import Signal, semantic_conventions
from tachograph.schemas.semconv_page import page

ROOT = Path(__file__).parents[2]
CONVENTIONS = semantic_conventions()
VIEWS = (ROOT / "sinks/tachograph/sinks/clickhouse/migrations/0020_spans.sql").read_text(encoding="utf-8")
OFFICIAL = {
    value
    for module in (gen_ai_attributes, error_attributes, service_attributes, deployment_attributes)
    for value in vars(module).values()
    if isinstance(value, str) and re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", value)
}
TOLD_BY_VIEWS = re.findall(r"^        '(\w+\.\w+)', ", VIEWS, re.MULTILINE)
"""Keys of the maps of attributes."""


def columns_of_views() -> set[str]:
    """Columns of the four views of spans, as their SQL names them."""
    found = set()
    for name, body in re.findall(r"VIEW \{database\}\.(\w+_spans) AS\n(.*?)\nCOMMENT", VIEWS, re.DOTALL):
        found |= {f"{name}.{column}" for column in re.findall(r" AS (\w+),?$", body, re.MULTILINE)}
    return found


def test_every_name_comes_from_a_real_column() -> None:
    """Of a table of the contract, of a view of spans, or a key that a view tells."""
    real = {f"{table.name}.{column.name}" for table in tables.TABLES for column in table.columns}
    real |= columns_of_views() | set(TOLD_BY_VIEWS)
    assert [column for meaning in CONVENTIONS.meanings for column in meaning.columns if column not in real] == []


def test_the_views_tell_what_the_table_names() -> None:
    """Spans: the same columns on both sides, each once. Content is in none of the views."""
    named = CONVENTIONS.names(Signal.SPAN, CONVENTIONS.default)
    assert sorted(TOLD_BY_VIEWS) == sorted(column for column in named if not column.startswith("violations."))
    assert not set(TOLD_BY_VIEWS) & set(CONVENTIONS.names(Signal.SPAN, CONVENTIONS.default, content=True))


def test_the_view_of_trace_viewers_has_the_default_s_names() -> None:
    """otel_traces translates with the same names, pair by pair."""
    lists = re.search(r"name,\n +\[(.*?)\],\n +\[(.*?)\],\n +name", VIEWS, re.DOTALL)
    assert lists is not None
    columns, names = (re.findall(r"'([\w.]+)'", text) for text in lists.groups())
    expected = CONVENTIONS.names(Signal.SPAN, CONVENTIONS.default)
    assert dict(zip(columns, names, strict=True)) == {column: expected[column] for column in TOLD_BY_VIEWS}
    assert f"conventions {CONVENTIONS.default}" in VIEWS


def test_every_name_of_the_conventions_is_official() -> None:
    """None is invented, in no version; those that were given up are still on OpenTelemetry's list."""
    told = {name for meaning in CONVENTIONS.meanings for _, name in meaning.names}
    assert {name for name in told if name not in OFFICIAL} == set()
    assert all(meaning.own.startswith(("tachograph.", *OFFICIAL)) for meaning in CONVENTIONS.meanings)


@pytest.mark.parametrize("version", CONVENTIONS.versions)
def test_no_two_meanings_share_a_name(version: str) -> None:
    """On one row of one signal, with content or without."""
    for signal in Signal:
        quiet = CONVENTIONS.names(signal, version)
        both = quiet | CONVENTIONS.names(signal, version, content=True)
        for table in {column.partition(".")[0] for column in both}:
            names = [name for column, name in both.items() if column.startswith(f"{table}.")]
            assert len(names) == len(set(names)), (signal, table)


def test_names_begin_with_their_version() -> None:
    """Known versions, ascending; the first name may be older than all of them."""
    for meaning in CONVENTIONS.meanings:
        places = [CONVENTIONS.versions.index(since) for since, _ in meaning.names]
        assert places == sorted(set(places))
    changed = next(meaning for meaning in CONVENTIONS.meanings if meaning.own == "tachograph.provider")
    assert [changed.name_in(version) for version in ("1.26.0", "1.36.0", "1.37.0", "1.41.1")] == [
        "gen_ai.system", "gen_ai.system", "gen_ai.provider.name", "gen_ai.provider.name",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("", CONVENTIONS.default), ("1.37", "1.37.0"), ("v1.37.0", "1.37.0"), ("1.3", None), ("1", "1.41.1"), ("x", None)],
)
def test_a_version_may_be_named_in_short(asked: str, meant: str | None) -> None:
    """By its beginning, at a dot; an unknown one is refused with those that are known."""
    if meant is None:
        with pytest.raises(ConfigError, match=re.escape("1.26.0, 1.27.0")):
            CONVENTIONS.version(asked)
    else:
        assert CONVENTIONS.version(asked) == meant


def test_the_page_is_current() -> None:
    """If this fails: python -m tachograph.schemas.semconv_page > docs/semconv.md."""
    assert (ROOT / "docs/semconv.md").read_text(encoding="utf-8") == page(CONVENTIONS)
