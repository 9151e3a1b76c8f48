"""The example of the page runs as a reader would type it."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from tachograph.producers.replay import DivergenceKind, recording_of
from tachograph.producers.testing import InMemoryPublisher

PAGE: Final = Path(__file__).parents[3] / "docs" / "replay.md"
BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both blocks, in order; then the test that the second one defines, on a recording."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    publisher: InMemoryPublisher = names["publisher"]
    names["test_support_agent"](recording_of(names["run_id"], publisher.records))


def test_the_page_names_every_difference() -> None:
    """A kind that the page does not explain is no help."""
    text = PAGE.read_text(encoding="utf-8")
    assert [kind.value for kind in DivergenceKind if f"`{kind.value}`" not in text] == []
