"""Taking over the spools of dead processes."""

from pathlib import Path

from tachograph.producers.spool.cursor import CursorFile
from tachograph.producers.spool.files import Files
from tachograph.producers.spool.lane import Lane
from tachograph.producers.spool.segment import segments_in
from tachograph.producers.spool.source import FoundShelf, SegmentSource
from tachograph.producers.spool.subfolder import Subfolder, subfolders, sweep_unborn


class Adoption:
    """The spool of a dead process, ours now: its lanes keep its id, so that its messages keep their names."""

    def __init__(self, files: Files, home: Subfolder, not_before: float) -> None:
        self.home = home
        self.lanes = tuple(
            self._lane(files, topic, numbers, not_before) for topic, numbers in segments_in(home.path).items()
        )

    @property
    def finished(self) -> bool:
        """Everything of it is in Kafka."""
        return all(lane.finished for lane in self.lanes)

    def remove(self) -> None:
        """Delete what is finished with."""
        for lane in self.lanes:
            lane.remove()
        self.home.remove()

    def release(self) -> None:
        """Leave the rest to another process."""
        for lane in self.lanes:
            lane.close()
        self.home.release()

    def close_inherited(self) -> None:
        """In a forked child: leave all of it to the parent."""
        for lane in self.lanes:
            lane.close()
        self.home.close_inherited()

    def _lane(self, files: Files, topic: str, numbers: list[int], not_before: float) -> Lane:
        cursor = CursorFile(files, self.home.path, topic)
        position = cursor.read()
        start = (position.segment, position.frame) if position is not None else (0, 0)
        shelf = FoundShelf(self.home.path, topic, numbers)
        source = SegmentSource(files, self.home.path, topic, shelf, start=start)
        lane = Lane(self.home.spool, topic, source, cursor, adopted_from=position)
        lane.not_before = not_before if lane.uncertain else 0.0
        return lane


def adopt_orphans(files: Files, root: Path, not_before: float) -> list[Adoption]:
    """Every spool whose owner is dead, oldest first. ``not_before``: when to ask Kafka about it."""
    sweep_unborn(root)
    adoptions = []
    for path in subfolders(root):
        home = Subfolder.adopt(files, path)
        if home is None:
            continue
        try:
            adoptions.append(Adoption(files, home, not_before))
        except OSError:
            home.release()
    return adoptions
