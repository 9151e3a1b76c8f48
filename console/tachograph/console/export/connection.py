"""Puts an exporter together from settings: the database on one side, a collector on the other."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

from tachograph.console.database import Reader
from tachograph.console.export.otlp import OtlpExport, Tally
from tachograph.console.export.selection import Selection
from tachograph.schemas.settings import Settings
from tachograph.sinks.otlp.delivery import Delivery
from tachograph.sinks.otlp.endpoint import targets
from tachograph.sinks.otlp.post import HttpPost
from tachograph.sinks.otlp.requests import Exported
from tachograph.sinks.otlp.vocabulary import Vocabulary


@contextmanager
def connected(
    settings: Settings,
    environment: Mapping[str, str],
    database: Reader,
    selection: Selection,
    *,
    signals: Collection[Exported],
    content: bool,
    follow: bool,
    stop: threading.Event,
    told: Callable[[str], None],
    progress: Callable[[Tally], None],
) -> Iterator[OtlpExport]:
    """An exporter, ready to go. Whoever follows waits for a collector as long as it takes."""
    vocabulary = Vocabulary(settings.otlp.semconv, content=content)
    with HttpPost(targets(settings.otlp, environment)) as post:
        delivery = Delivery(
            post,
            version=version("tachograph"),
            schema_url=vocabulary.schema_url,
            patience_s=None if follow else settings.otlp.patience_s,
            wait=stop.wait,
            told=told,
        )
        yield OtlpExport(
            database, delivery, vocabulary, settings.otlp, selection=selection, signals=signals, progress=progress
        )
