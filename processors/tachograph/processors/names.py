"""Names of the topics a worker reads and writes."""

from dataclasses import dataclass

from tachograph.schemas import topics

_OUTPUTS = tuple(topic.name for topic in (*topics.ROWS, *topics.VIOLATIONS, topics.DLQ))


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The registry's names, with a prefix where several pipelines share one broker."""

    prefix: str = ""

    @property
    def events(self) -> str:
        """Input."""
        return self.prefix + topics.EVENTS.name

    @property
    def dead_letters(self) -> str:
        """Where bad input goes."""
        return self.prefix + topics.DLQ.name

    @property
    def outputs(self) -> tuple[str, ...]:
        """Everything the worker writes to, but its own changelog."""
        return tuple(self.prefix + name for name in _OUTPUTS)

    def output(self, name: str) -> str:
        """Full name of an output topic of the registry."""
        return self.prefix + name
