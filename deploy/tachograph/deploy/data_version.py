"""Which version wrote a data folder, checked before a server may touch it."""

import json
from pathlib import Path

from tachograph.deploy.errors import WrongVersion
from tachograph.deploy.state import write_private
from tachograph.deploy.versions import LAYOUT_VERSION

VERSION_FILE = "VERSION"


def require_version(folder: Path, server: str, version: str) -> None:
    """Refuse a data folder that this version of the server must not open; stamp a new one, or one it upgrades."""
    stamp = folder / VERSION_FILE
    advice = f"Nothing was changed. Use the Tachograph that wrote it, or move {folder.parent} away to start empty."
    try:
        found = json.loads(stamp.read_text())
        layout, found_server, found_version = int(found["layout"]), str(found["server"]), str(found["version"])
        newer = _numbers(found_version) > _numbers(version)
    except FileNotFoundError:
        if any(folder.iterdir()):
            raise WrongVersion(f"{folder} holds files but no {VERSION_FILE}, so they are not ours. {advice}") from None
    except (ValueError, KeyError, TypeError):
        raise WrongVersion(f"{stamp} is not readable, so the data beside it is left alone. {advice}") from None
    else:
        if layout != LAYOUT_VERSION:
            raise WrongVersion(f"{folder} has layout {layout} and this version reads {LAYOUT_VERSION}. {advice}")
        if found_server != server or _numbers(found_version)[0] != _numbers(version)[0] or newer:
            raise WrongVersion(
                f"{folder} was written by {found_server} {found_version} and this version brings {server} {version}. "
                + advice
            )
        if found_version == version:
            return
    write_private(stamp, json.dumps({"layout": LAYOUT_VERSION, "server": server, "version": version}) + "\n")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
