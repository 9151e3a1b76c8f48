"""Which Maven repositories this machine fetches from, and fetching one file.

A company's machine often may not reach Maven Central but has a mirror in the user's settings. Maven itself would obey
``~/.m2/settings.xml``; jgo reads only its own file; this obeys both.
"""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from xml.etree import ElementTree as ET

from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.util import http

# The values of <mirrorOf> that cover Maven Central.
_COVERS_CENTRAL = frozenset({"*", "central", "external:*"})

# Silence on the line, not the whole file: after this long it is not slow but broken.
_SILENCE_S = 30.0
_CHUNK = 1 << 16


def repositories(home: Path | None = None) -> dict[str, str]:
    """Repositories by name, in the order they are tried. A mirror stands in for Maven Central."""
    mirror = mirror_of_central((home or Path.home()) / ".m2" / "settings.xml")
    return {"central": mirror or MAVEN_CENTRAL_URL} | dict(GlobalSettings.load().repositories)


def mirror_of_central(settings: Path) -> str | None:
    """Address that a Maven settings file names in place of Maven Central, if it does."""
    try:
        root = ET.fromstring(settings.read_bytes())  # noqa: S314  # the user's own settings file
    except (OSError, ET.ParseError):
        return None
    for mirror in root.iterfind("{*}mirrors/{*}mirror"):
        covered = {part.strip() for part in mirror.findtext("{*}mirrorOf", "").split(",")}
        url = mirror.findtext("{*}url", "").strip().rstrip("/")
        if url and covered & _COVERS_CENTRAL:
            return url
    return None


def download(repository: str, coordinate: str, to: Path, on_bytes: Callable[[int], None]) -> bool:
    """Fetch one jar. False if the repository does not have it; ``OSError`` if it cannot be reached or breaks off."""
    group, artifact, version = coordinate.split(":")
    address = f"{repository}/{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"
    with http.get(address, stream=True, timeout=_SILENCE_S) as response, to.open("wb") as stream:
        if response.status_code == HTTPStatus.NOT_FOUND:
            return False
        response.raise_for_status()
        for chunk in response.iter_content(_CHUNK):
            stream.write(chunk)
            on_bytes(len(chunk))
    return True
