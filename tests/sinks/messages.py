"""Messages as the pure parts see them, and sources of rows."""

from dataclasses import dataclass, field
from typing import Any

from tachograph.schemas.headers import Header, SourceCoordinates


@dataclass
class FakeMessage:
    """What a Kafka message says about itself, without Kafka."""

    raw: bytes | None = b""
    at: int = 0
    pairs: list[tuple[str, bytes]] = field(default_factory=list)
    on: tuple[str, int] = ("topic", 0)
    millis: int = 1_780_000_000_000

    def value(self) -> bytes | None:
        return self.raw

    def offset(self) -> int:
        return self.at

    def headers(self) -> Any:
        return self.pairs

    def topic(self) -> str:
        return self.on[0]

    def partition(self) -> int:
        return self.on[1]

    def timestamp(self) -> tuple[int, int]:
        return 1, self.millis

    def __len__(self) -> int:
        return len(self.raw or b"")


def source(offset: int, index: int = 0, stream: str = "events/0") -> list[tuple[str, bytes]]:
    return [(Header.SOURCE.value, SourceCoordinates(offset, index, stream).to_bytes())]
