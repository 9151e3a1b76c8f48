"""Every Python block of the recorder's page runs, in order, as a reader would type it."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from tachograph.producers import publishing, tracer
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import validated

PAGE: Final = Path(__file__).parents[2] / "docs" / "recorder.md"
BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXT: Final = PAGE.read_text(encoding="utf-8")


def code() -> list[str]:
    """The blocks, each at the line that it has in the page: an error names the place to look at."""
    return ["\n" * TEXT.count("\n", 0, found.start(1)) + found[1] for found in BLOCK.finditer(TEXT)]


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[InMemoryPublisher]:
    """What tracers publish to in place of a spool; and a folder of their own for what they write."""
    made: list[InMemoryPublisher] = []

    def publisher(*_: Any, **__: Any) -> InMemoryPublisher:
        made.append(InMemoryPublisher())
        return made[-1]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tracer, "_spool", publisher)
    monkeypatch.setattr(publishing.SpoolPublisher, "from_settings", publisher)
    return made


def test_every_block_runs(published: list[InMemoryPublisher]) -> None:
    """The page is one session: later blocks use the names of earlier ones."""
    names: dict[str, Any] = {}
    for block in code():
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    shown = [record for publisher in published for record in validated(publisher)]
    assert {type(record).__name__ for record in shown} >= {
        "RunStarted",
        "StepStarted",
        "DecisionEvent",
        "ToolCallRecord",
        "AgentDecision",
        "AgentQualitySignal",
        "ContextManifest",
        "StepEnded",
        "RunEnded",
    }


def test_the_page_says_when_to_record_and_when_not() -> None:
    """Both halves of the guidance, for decisions and for signals."""
    rows = {cells[1].strip(): cells[2:4] for line in TEXT.splitlines() if len(cells := line.split("|")) == 5}
    for name, when, when_not in (
        ("a decision", ("well-defined options", "reason is a code"), ("trivial", "expose sensitive data")),
        ("a signal", ("factual", "atomic"), ("judgement", "composite", "subjective", "expose sensitive data")),
    ):
        record, leave = rows[name]
        assert all(words in record for words in when)
        assert all(words in leave for words in when_not)


def test_the_page_is_for_five_minutes() -> None:
    """Longer than this, and it is a manual."""
    prose = BLOCK.sub("", TEXT)
    assert len(prose.split()) < 1500
