"""The page of failures is what the registry says."""

from pathlib import Path

from tachograph.processors.failures import Failure, table

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"


def test_the_page_has_the_registry() -> None:
    """If this fails: put what `tachograph.processors.failures.table()` gives into docs/failures.md."""
    assert table() in PAGE.read_text(encoding="utf-8")


def test_no_cell_breaks_the_table() -> None:
    """A bar or a line break would."""
    assert not any(mark in text for failure in Failure for text in (failure.meaning, failure.example) for mark in "|\n")
