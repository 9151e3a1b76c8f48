"""Reads what landed, page by page, and hands it to a collector. Remembers how far it came when it is told to go on.

A page is done when the collector has acknowledged all of it, and only then the position moves. After a crash the last
page is sent again, with the same ids.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from tachograph.console.database import Reader
from tachograph.console.export.places import LOOKED_UP, Place, Position, pages, places, reached, unsettled
from tachograph.console.export.selection import Selection
from tachograph.console.export.sources import SOURCES, Page, Source
from tachograph.schemas.settings import OtlpSettings
from tachograph.sinks.otlp.delivery import Delivered
from tachograph.sinks.otlp.requests import Exported, Item, batches
from tachograph.sinks.otlp.vocabulary import Vocabulary

PAGE_ROWS: Final = 2000
"""Rows whose spans are in memory at once."""


class Sends(Protocol):
    """Takes items of a signal. Raises if they were not taken."""

    def send(self, signal: Exported, items: Sequence[Item], /) -> Delivered:
        """Deliver a batch."""


@dataclass(slots=True)
class Tally:
    """What was exported so far."""

    by_signal: dict[Exported, Delivered] = field(default_factory=lambda: {signal: Delivered() for signal in Exported})
    requests: int = 0

    def add(self, signal: Exported, delivered: Delivered) -> None:
        """Count a batch."""
        self.by_signal[signal] += delivered
        self.requests += 1

    @property
    def rejected(self) -> int:
        """What collectors took and threw away."""
        return sum(delivered.rejected for delivered in self.by_signal.values())

    @property
    def accepted(self) -> int:
        """What they kept."""
        return sum(delivered.accepted for delivered in self.by_signal.values())


class OtlpExport:
    """One exporter. Used from one thread."""

    def __init__(
        self,
        database: Reader,
        delivery: Sends,
        vocabulary: Vocabulary,
        settings: OtlpSettings,
        *,
        selection: Selection,
        signals: Collection[Exported] = tuple(Exported),
        progress: Callable[[Tally], None] = lambda _tally: None,
    ) -> None:
        self._database = database
        self._delivery = delivery
        self._vocabulary = vocabulary
        self._settings = settings
        self._selection = selection
        self._signals = frozenset(signals)
        self._progress = progress
        self.tally: Final = Tally()

    def once(self) -> None:
        """Everything that is selected and there now. A run that is named is told whole, ended or not."""
        for source in SOURCES:
            position: Position = {}
            while True:
                where, parameters = self._condition(source)
                found = places(self._database, source.table.name, where, parameters, position)
                for page in pages(found, PAGE_ROWS):
                    self._tell(source, page, where, parameters)
                    position = reached(position, page)
                if len(found) < LOOKED_UP:
                    break

    def follow(self, source: Source, position: Position, done: Callable[[Position], None]) -> None:
        """What has landed behind a position and had time to settle. ``done`` hears of every page that was taken."""
        where, parameters = self._condition(source)
        found = places(self._database, source.table.name, where, parameters, position)
        # Asked for after the places: what landed in between stands behind them.
        young = unsettled(self._database, source.table.name, position, self._settings.settle_s)
        settled = [place for place in found if place.offset < young.get(place.partition, place.offset + 1)]
        for page in pages(settled, PAGE_ROWS):
            held = self._tell(source, page, where, parameters, may_wait=True)
            position = reached(position, [place for place in page if not _is_held(place, held)])
            done(position)
            if held:
                return

    def _condition(self, source: Source) -> tuple[str, dict[str, Any]]:
        where, parameters = self._selection.where(source.table)
        return f"{where} AND {source.always} AND {'1' if self._selection.run else source.ended}", parameters

    def _tell(
        self,
        source: Source,
        places_of_page: Sequence[Place],
        where: str,
        parameters: Mapping[str, Any],
        *,
        may_wait: bool = False,
    ) -> dict[int, int]:
        """Deliver a page. Returns the first places that were held back, because a parent has not landed."""
        page = self._page(places_of_page, where, parameters)
        told = source.tell(page)
        held: dict[int, int] = {}
        if may_wait and page.waiting:
            for partition, offset in page.waiting:
                held[partition] = min(held.get(partition, offset), offset)
            page = self._page([place for place in places_of_page if not _is_held(place, held)], where, parameters)
            told = source.tell(page) if page.places else {}
        for signal in [signal for signal in told if signal in self._signals]:
            for batch in batches(told[signal], self._settings.batch_items, self._settings.batch_bytes):
                self.tally.add(signal, self._delivery.send(signal, batch))
                self._progress(self.tally)
        return held

    def _page(self, found: Sequence[Place], where: str, parameters: Mapping[str, Any]) -> Page:
        return Page(self._database, self._vocabulary, found, where, bool(self._selection.run), parameters)


def _is_held(place: Place, held: Mapping[int, int]) -> bool:
    return place.offset >= held.get(place.partition, place.offset + 1)
