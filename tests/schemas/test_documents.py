"""Files that people write are read whole, or every mistake is named with its line."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from tachograph.schemas.documents import parse_documents, read_documents
from tachograph.schemas.errors import DocumentError


class Shelf(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    places: list[int]


def test_every_document_of_a_file_is_read(tmp_path: Path) -> None:
    """Documents are separated as YAML separates them; an empty one is none."""
    path = tmp_path / "a.yaml"
    path.write_text("name: a\nplaces: [1]\n---\nname: b\nplaces: []\n---\n")
    assert [shelf.name for shelf in read_documents(path, Shelf)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("name: a\nplaces:\n  - 1\n  - canary\n", "f:4:5: places.1: ", id="a wrong item, on its own line"),
        pytest.param("name: a\n\nplaces: canary\n", "f:3:9: places: ", id="a wrong value"),
        pytest.param("# shelf\nname: a\n", "f:2:1: places: Field required", id="a missing key, at its parent"),
        pytest.param("name: a\nplaces: []\ncolour: canary\n", "f:3:9: colour: Extra", id="a key that means nothing"),
        pytest.param("name: a\nname: b\nplaces: []\n", "f:2:1: 'name' stands here twice", id="a key twice"),
        pytest.param("name: [canary\n", "f:2:1: not YAML", id="not YAML"),
        pytest.param("name: !!python/object:canary.C {}\nplaces: []\n", "f:1:7: only texts", id="a Python type"),
        pytest.param("", "f: there is nothing in it", id="an empty file"),
        pytest.param("name: a\nplaces: []\n---\nname: b\n", "f:4:1: places: ", id="a mistake in the second document"),
    ],
)
def test_a_mistake_names_its_line_and_not_the_value(text: str, expected: str) -> None:
    """Whoever wrote it finds the place; what was written may be a secret."""
    with pytest.raises(DocumentError) as refused:
        parse_documents(text, Shelf, "f")
    assert expected in str(refused.value)
    assert "canary" not in str(refused.value)


def test_all_mistakes_come_at_once() -> None:
    """Nobody mends a file one error at a time."""
    with pytest.raises(DocumentError) as refused:
        parse_documents("name: [1]\nplaces: 2\n", Shelf, "f")
    assert len(str(refused.value).splitlines()) == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A sentence, not a traceback."""
    with pytest.raises(DocumentError, match="cannot be read"):
        read_documents(tmp_path / "none.yaml", Shelf)
