"""The demo's stories are whole runs of every record type."""

from datetime import UTC, datetime

from tachograph.console.demo.script import runs
from tachograph.schemas import models
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import RECORD_TYPES

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
STORIES = list(runs(Settings(), WHEN, "test"))


def test_every_record_type_appears() -> None:
    """The demo exercises the whole contract."""
    assert {type(record).__name__ for story in STORIES for record in story} == set(RECORD_TYPES)


def test_every_run_is_contiguous_and_counts_itself() -> None:
    """Seq runs from 0 without a gap, and RunEnded says how many there were."""
    for story in STORIES:
        assert [record.seq for record in story] == list(range(len(story)))
        last = story[-1]
        assert isinstance(last, models.RunEnded)
        assert last.emitted == len(story)
        assert {record.trace_id for record in story} == {story[0].trace_id}


def test_event_ids_are_unique_and_the_same_every_time() -> None:
    """The same story at the same moment is the same bytes."""
    ids = [record.event_id for story in STORIES for record in story]
    assert len(set(ids)) == len(ids)
    assert list(runs(Settings(), WHEN, "test")) == STORIES


def test_every_step_has_a_manifest() -> None:
    """The demo does what it preaches: no step without its context manifest."""
    for story in STORIES:
        steps = {record.step_id for record in story if isinstance(record, models.StepStarted)}
        described = {record.step_id for record in story if isinstance(record, models.ContextManifest)}
        assert steps == described
