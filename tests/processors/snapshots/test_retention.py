"""What retention no longer keeps is deleted, on time and on record. No servers."""

import asyncio

import pytest

from tachograph.processors.errors import OutputsNotStoredError
from tachograph.processors.snapshots import of_failure
from tachograph.processors.snapshots.retention import collect, keep_retention
from tachograph.schemas.settings import ArtifactSettings
from tachograph.sinks.artifacts import Entry
from tachograph.sinks.artifacts.errors import ArtifactExpiredError
from tests.processors.snapshots.test_plan import DAY, T0, Fixture, failure, messages


class Record:
    """Takes what is said of removals, or refuses to."""

    def __init__(self) -> None:
        self.said: list[Entry] = []
        self.fails = False

    async def publish(self, removed: list[Entry]) -> None:
        if self.fails:
            raise OutputsNotStoredError("the broker is away")
        self.said += removed


def test_retention_is_kept_in_an_order_that_survives_a_crash() -> None:
    """Bytes, then the record, then the tombstone: a removal that could not be put on record is told the next time."""
    fixture, record = Fixture(messages()), Record()
    [request] = of_failure(failure(), 0, T0)
    [[output]] = fixture.copy(request)
    artifact_id, settings = output.row["artifact_id"], ArtifactSettings()

    def collected(now: int) -> list[Entry]:
        return asyncio.run(collect(fixture.store, settings, now, record.publish))

    assert collected(T0 + 13 * DAY) == []
    record.fails = True
    with pytest.raises(OutputsNotStoredError):
        collected(T0 + 15 * DAY)
    with pytest.raises(ArtifactExpiredError):
        asyncio.run(fixture.store.get("acme", artifact_id))
    record.fails = False
    [removed] = collected(T0 + 16 * DAY)
    assert (removed.artifact_id, removed.deleted_at) == (artifact_id, T0 + 15 * DAY)
    assert record.said == [removed]
    assert collected(T0 + 17 * DAY) == []


def test_retention_is_looked_after_every_hour_by_one_of_many() -> None:
    """At once, then each hour; nothing while the first partition is another's; an error is not the end."""
    fixture, record = Fixture(messages()), Record()
    [request] = of_failure(failure(), 0, T0)
    fixture.copy(request)
    day = 86_400.0
    time, owned, sweeps = [T0 / 1e6 + 20 * day], [False], []

    async def sleep(_seconds: float) -> None:
        sweeps.append(len(record.said))
        owned[0] = True
        record.fails = len(sweeps) < 3
        time[0] += 1800
        if len(sweeps) > 8:
            raise asyncio.CancelledError

    async def run() -> None:
        await keep_retention(
            fixture.store,
            ArtifactSettings(),
            record.publish,
            is_ours=lambda: owned[0],
            clock=lambda: time[0],
            sleep=sleep,
        )

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert sweeps == [0, 0, 0, 1, 1, 1, 1, 1, 1]
