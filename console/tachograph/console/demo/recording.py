"""Plays the stories into a spool, and does not return before the broker has every record."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.scenarios import SCENARIOS
from tachograph.console.demo.stage import Stage, stage
from tachograph.producers.publishing import Publisher
from tachograph.schemas.errors import TachographError
from tachograph.schemas.settings import Settings

FLUSH_S: Final = 30.0

STORY_TIME: Final = timedelta(minutes=5)
"""The stories take three minutes of their own time; they have just ended."""

_BETWEEN_MS: Final = 10_000


class NotPublishedError(TachographError):
    """The broker did not acknowledge every record. They are kept: start the broker, then drain the spool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What there is to look for."""

    suffix: str
    """Ends the names of runs and sessions."""
    run_ids: Sequence[str]
    session_ids: Sequence[str]
    event_ids: Sequence[str]
    """Of every record that was kept."""
    lost: int
    """Records that were not, on purpose."""
    captures: int
    """Prompts and outputs that faults captured: as many snapshots are to be stored."""


def play_stories(on: Stage, playing: Callable[[Scenario], None] = lambda _: None) -> None:
    """All of them, one after the other; ``playing`` hears of each before it is played."""
    for scenario in SCENARIOS:
        playing(scenario)
        scenario.play(on)
        on.clock.pass_time(_BETWEEN_MS)


def record_stories(
    settings: Settings,
    publisher: Publisher,
    *,
    audit: Path | None = None,
    playing: Callable[[Scenario], None] = lambda _: None,
) -> Recorded:
    """Play the stories with a tracer as any agent has one, and close the publisher."""
    suffix = secrets.token_hex(3)
    with stage(
        settings,
        publisher,
        started_at=datetime.now(UTC) - STORY_TIME,
        suffix=suffix,
        audit=audit,
    ) as on:
        play_stories(on, playing)
        _deliver(on, settings)
    return Recorded(
        suffix=suffix,
        run_ids=[run.run_id for run in on.runs],
        session_ids=[run.session_id for run in on.runs],
        event_ids=on.publisher.event_ids,
        lost=sum(run.recorder.channel.dropped for run in on.runs),
        captures=len(on.publisher.capture_ids),
    )


def _deliver(on: Stage, settings: Settings) -> None:
    if on.tracer.flush(FLUSH_S):
        return
    stats = on.publisher.stats()
    raise NotPublishedError(
        f"{stats.messages_waiting + stats.rejected} of {stats.spooled} messages were not acknowledged by Kafka at "
        f"{settings.kafka.address} within {FLUSH_S:.0f} s: is it running? (`tachograph status`) Nothing is "
        f"lost: `tachograph spool drain {settings.home / 'spool'}` sends what waits there"
    )
