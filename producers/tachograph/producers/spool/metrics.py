"""What became of the records, for the Prometheus registry of the agent's own process."""

from collections.abc import Iterator
from typing import Any

from tachograph.producers.publishing import Publisher
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.metrics import SPOOL_BYTES, SPOOL_RECORDS


class SpoolMetrics:
    """A collector over a publisher's counts; asked when somebody looks, free otherwise.

    ::

        prometheus_client.REGISTRY.register(SpoolMetrics(tracer.publisher))
    """

    def __init__(self, publisher: Publisher) -> None:
        try:
            from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415 - an extra
        except ImportError:
            raise ConfigError(
                "metrics of the spool need the Prometheus client: pip install prometheus-client"
            ) from None
        self._counter, self._gauge = CounterMetricFamily, GaugeMetricFamily
        self._publisher = publisher

    def collect(self) -> Iterator[Any]:
        """Records by what became of them, and the bytes that wait."""
        stats = self._publisher.stats()
        records = self._counter(SPOOL_RECORDS.name, SPOOL_RECORDS.help, labels=SPOOL_RECORDS.labels)
        for state in ("spooled", "sent", "acknowledged", "already_there", "rejected", "dropped"):
            records.add_metric([state], getattr(stats, state))
        yield records
        waiting = self._gauge(SPOOL_BYTES.name, SPOOL_BYTES.help)
        waiting.add_metric([], stats.bytes_waiting)
        yield waiting
