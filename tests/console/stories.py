"""One demo without a server, and the reports of its runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from tachograph.console.demo.recording import play_stories
from tachograph.console.demo.scenarios import SCENARIOS
from tachograph.console.demo.stage import stage
from tachograph.console.report.build import build_report
from tachograph.console.report.model import RunReport
from tachograph.console.report.rows import RunRows
from tachograph.producers.testing import InMemoryPublisher, KeptRecord, SequentialIds
from tachograph.schemas.settings import Settings
from tests.console.report.landing import rows_of

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)
NAMES = tuple(scenario.name for scenario in SCENARIOS)

Story: TypeAlias = list[KeptRecord]


class Played:
    """One demo, and what it left behind."""

    def __init__(self, home: Path) -> None:
        self.publisher = InMemoryPublisher()
        self.audit = home / "audit"
        with stage(
            Settings(home=home),
            self.publisher,
            started_at=WHEN,
            suffix="test",
            audit=self.audit,
            ids=SequentialIds(),
        ) as self.on:
            play_stories(self.on)
        self.records = self.publisher.records
        self._rows: dict[str, RunRows] = {}
        self.stories: dict[str, Story] = {
            name: [kept for kept in self.records if kept.record["run_id"] == run.run_id]
            for name, run in zip(NAMES, self.on.runs, strict=True)
        }

    def of(self, story: str, record_type: str) -> list[dict[str, Any]]:
        """Records of one type."""
        return [kept.record for kept in self.stories[story] if kept.type == record_type]

    def rows(self, story: str) -> RunRows:
        """Rows that the worker makes of a story."""
        if story not in self._rows:
            self._rows[story] = rows_of(self.stories[story])
        return self._rows[story]

    def report(self, story: str) -> RunReport:
        """The story's report."""
        return build_report(self.rows(story), generated_at=LATER)
