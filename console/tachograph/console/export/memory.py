"""What a continuing export remembers: how far each table was delivered. One file, held by one process."""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tachograph.console.database import Reader
from tachograph.console.export.places import Position, ends
from tachograph.console.export.sources import SOURCES
from tachograph.deploy.state import write_private
from tachograph.schemas.errors import ConfigError, TachographError

_FORMAT: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class PositionError(TachographError):
    """A remembered position cannot be used. The message says which file, and what to do with it."""


class Memory:
    """Positions by table. Made by :func:`remembered`."""

    def __init__(self, path: Path, positions: dict[str, Position] | None) -> None:
        self.path: Final = path
        self.is_new: Final = positions is None
        self._positions = positions or {}

    def position(self, table: str) -> Position:
        """Where to go on in a table."""
        return self._positions.get(table, {})

    def keep(self, table: str, position: Position) -> None:
        """Remember, for the next process of this name."""
        self._positions[table] = dict(position)
        self._write()

    def begin(self, database: Reader, since_us: int | None = None) -> None:
        """Begin behind what is there; or with what has landed since a moment."""
        self._positions = {source.table.name: ends(database, source.table.name, since_us) for source in SOURCES}
        self._write()

    def check(self, database: Reader) -> None:
        """Raise PositionError if the tables do not reach what was exported from them: they were made anew."""
        for source in SOURCES:
            there = ends(database, source.table.name)
            for partition, offset in self.position(source.table.name).items():
                if there.get(partition, offset) < offset:
                    raise PositionError(
                        f"{self.path} remembers more of {source.table.name} than there is: the tables or topics were "
                        "made anew, or it belongs to another database. Delete it to begin with what lands from now "
                        "on; --since then says from when"
                    )

    def _write(self) -> None:
        text = json.dumps({"format": _FORMAT, "positions": self._positions}, indent=1, sort_keys=True)
        write_private(self.path, text + "\n")


@contextmanager
def remembered(folder: Path, name: str) -> Iterator[Memory]:
    """The memory of a name, for one process at a time."""
    if not _NAME.fullmatch(name):
        raise ConfigError("--name takes letters, digits, dots, dashes and underscores")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"otlp-{name}.json"
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PositionError(
                f"another export goes on from {path}: stop it, or give this one a --name of its own"
            ) from None
        yield Memory(path, _read(path))
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Position] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        found = json.loads(text)
        if found["format"] != _FORMAT:
            raise PositionError(f"{path} was written by a later version: upgrade, or delete it to begin anew")
        read: Mapping[str, Mapping[str, int]] = found["positions"]
        return {table: {int(part): int(offset) for part, offset in at.items()} for table, at in read.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PositionError(f"{path} cannot be read: delete it to begin anew, or put a copy back") from None
