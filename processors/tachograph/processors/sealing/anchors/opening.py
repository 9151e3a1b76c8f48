"""Which anchors the settings name."""

from importlib.metadata import entry_points
from typing import Final

from tachograph.processors.sealing.anchors.anchor import Anchor
from tachograph.processors.sealing.anchors.file import FileAnchor
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings

GROUP: Final = "tachograph.anchors"
"""Entry points that take the settings and return an anchor."""


def open_anchors(settings: Settings) -> list[Anchor]:
    """The file, the authority if there is one, and the plug-ins."""
    given = settings.anchors
    found: list[Anchor] = [FileAnchor(given.file or settings.home / "anchors" / "heads.jsonl")]
    if given.rfc3161_url:
        from tachograph.processors.sealing.anchors.rfc3161 import Rfc3161Anchor  # noqa: PLC0415 - an extra

        found.append(Rfc3161Anchor(given.rfc3161_url, root=given.rfc3161_root, timeout_s=given.timeout_s))
    for name in given.plugins:
        point = next(iter(entry_points(group=GROUP, name=name)), None)
        if point is None:
            raise ConfigError(f"anchors.plugins names {name}, and no entry point of {GROUP} has that name: install it")
        found.append(point.load()(settings))
    return found
