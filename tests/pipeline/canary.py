"""A secret that is easy to find again, in the forms that secrets travel in, and where it is looked for."""

import base64
import secrets
import string
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Message, TopicPartition
from pydantic import BaseModel

from tachograph.console.database import Reader
from tachograph.producers.artifacts.sealed import ArtifactKey, open_sealed
from tachograph.schemas.settings import KafkaSettings, Settings
from tachograph.schemas.topics import TOPICS

FORMS = ("plain", "base64", "url")
_SHORTEST = 12  # characters of it that no other text has by chance, and that half a secret shows


class Canary(NamedTuple):
    """What is said, and what must not be found."""

    text: str
    needles: tuple[str, ...]


def make_canary(form: str) -> Canary:
    """A token as the default rules know it, new each time. It guards nothing."""
    core = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36))
    token = "gh" + "p_" + core
    encoded = base64.b64encode(token.encode()).decode()
    text = {"plain": token, "base64": encoded, "url": token.replace("_", "%5F")}[form]
    # Base64 depends on what stands before, so a text that holds the token has one of three forms of it.
    shifted = [base64.b64encode(b" " * shift + core.encode()).decode()[4:-4] for shift in range(3)]
    windows = (core[:_SHORTEST], core[-_SHORTEST:], encoded[6 : 6 + _SHORTEST], encoded[-4 - _SHORTEST : -4])
    return Canary(text, (*windows, *(part[:_SHORTEST] for part in shifted), *(part[-_SHORTEST:] for part in shifted)))


class Haystack(NamedTuple):
    """Everything that was stored somewhere, by a name to complain with."""

    parts: Mapping[str, bytes]

    def found(self, canaries: Iterable[Canary]) -> list[str]:
        """Names of the parts that hold one of the canaries."""
        needles = [needle.encode() for canary in canaries for needle in canary.needles]
        return [name for name, part in self.parts.items() if any(needle in part for needle in needles)]


def folder(root: Path) -> Haystack:
    """Files below a folder, their names included."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return Haystack({str(path.relative_to(root)): str(path).encode() + b"\n" + path.read_bytes() for path in files})


def opened(root: Path) -> Haystack:
    """What the sealed artifacts of a folder hold, for whoever has the key beside them."""
    sealed = list(root.rglob("*.sealed"))
    key = ArtifactKey.in_folder(root) if sealed else None
    return Haystack({path.name: open_sealed(key, path.read_bytes()) for path in sealed if key is not None})


def broker(kafka: KafkaSettings) -> Haystack:
    """Keys, values and headers of everything in every topic of the contract."""
    parts: dict[str, list[bytes]] = {}
    consumer = Consumer(
        kafka.client(**{"group.id": "canary", "enable.partition.eof": True, "isolation.level": "read_uncommitted"})
    )
    try:
        metadata = consumer.list_topics(timeout=30).topics
        places = [
            TopicPartition(topic.name, partition, 0)
            for topic in TOPICS
            for partition in metadata[topic.name].partitions
        ]
        consumer.assign(places)
        unread = len(places)
        while unread:
            for message in consumer.consume(1000, 0.2):
                error = message.error()
                if error is not None:
                    assert error.name() == "_PARTITION_EOF", error
                    unread -= 1
                    continue
                found = parts.setdefault(str(message.topic()), [])
                found += [_raw(message.key()), _raw(message.value())]
                found += [_raw(item) for header in _headers(message) for item in header]
    finally:
        consumer.close()
    return Haystack({topic: b"\n".join(found) for topic, found in parts.items()})


def database(rows: Reader, settings: Settings, canaries: Iterable[Canary]) -> dict[str, int]:
    """Rows with one of the canaries in any column, by table; tables without are left out."""
    needles = [needle for canary in canaries for needle in canary.needles]
    tables = rows.rows(
        "SELECT name FROM system.tables WHERE database = {database:String}",
        {"database": settings.clickhouse.database},
    )
    assert len(tables) > len(("runs", "steps"))
    counts = {
        table: rows.rows(
            f"SELECT countIf(multiSearchAny(formatRow('TSVRaw', *), {{needles:Array(String)}})) FROM {table}",  # noqa: S608 - our tables
            {"needles": needles},
        )[0][0]
        for table in (row[0] for row in tables)
    }
    return {table: count for table, count in counts.items() if count}


def texts_of(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Where a record may hold text that somebody chose: no enums, no digests, no numbers."""
    for name, field in model.model_fields.items():
        if "pattern=" not in repr(field.metadata):
            yield from _texts(field.annotation, f"{path}.{field.validation_alias or name}".removeprefix("."))


def places_of(value: Any, needles: tuple[str, ...], path: str = "") -> Iterator[str]:
    """Where a decoded record holds a canary."""
    match value:
        case dict():
            for name, item in value.items():
                shown = "" if path.endswith("metadata") and "path" not in value else f".{name}"
                yield from places_of([name, item] if not shown else item, needles, f"{path}{shown}".removeprefix("."))
        case list() if path.endswith("metadata"):
            for item in value:
                yield from places_of(item, needles, path)
        case list():
            for item in value:
                yield from places_of(item, needles, f"{path}[]")
        case str() if any(needle in value for needle in needles):
            yield path


def _texts(annotation: Any, path: str) -> Iterator[str]:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        if "pattern=" not in repr(inner[1:]):
            yield from _texts(inner[0], path)
    elif origin in {typing.Union, types.UnionType}:
        for choice in inner:
            yield from _texts(choice, path)
    elif origin is tuple:
        yield from _texts(inner[0], f"{path}[]")
    elif origin is dict or annotation is str or not isinstance(annotation, type):
        yield path
    elif issubclass(annotation, BaseModel):
        yield from texts_of(annotation, path)


def _headers(message: Message) -> list[tuple[str, bytes | str | None]]:
    return list(message.headers() or ())  # type: ignore[arg-type]  # a dict only where a producer is given one


def _raw(value: bytes | str | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""
