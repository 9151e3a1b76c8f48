"""What this machine holds: room, keys that nobody else may read, and records that wait to be sent."""

import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tachograph.console.doctor.finding import Finding, fail, ok, warn
from tachograph.deploy.disk import free_bytes
from tachograph.processors.sealing.key_set import key_file_of
from tachograph.producers.spool import inspect
from tachograph.schemas.settings import Settings

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MIB: Final = 1 << 20


def check_disk(settings: Settings, free: Callable[[Path], int] = free_bytes) -> Iterator[Finding]:
    """Room where the state lies."""
    folder = _existing(settings.home.resolve())
    available, least = free(folder), settings.doctor.min_free_mib * _MIB
    detail = f"{available // _MIB:,} MiB are free on the disk of {settings.home}"
    if available < least:
        yield fail(
            "disk",
            f"{detail}, fewer than {settings.doctor.min_free_mib:,}",
            "make room, or set TACHOGRAPH_HOME to a folder on another disk",
        )
    else:
        yield ok("disk", detail)


def check_keys(settings: Settings) -> Iterator[Finding]:
    """Key files are this user's alone."""
    sealing = key_file_of(settings)
    tenants = settings.artifacts.key_folder or settings.home / "keys" / "tenants"
    files = [settings.home / "keys" / "capture.key", sealing]
    files += sorted(path for path in tenants.glob("*") if path.is_file()) if tenants.is_dir() else []
    there = [path for path in files if path.is_file()]
    loose = [path for path in there if path.stat().st_mode & _OTHERS]
    if loose:
        names = ", ".join(str(path) for path in loose)
        todo = f"run `chmod 600 {' '.join(str(path) for path in loose)}`, and treat the keys as known to others"
        yield fail("keys", f"others may read {names}", todo)
    elif sealing not in there:
        todo = "nothing, if no records are sealed here; otherwise `tachograph up` makes one for this machine"
        yield warn("keys", f"there is no key to seal with at {sealing}", todo)
    else:
        yield ok("keys", f"{len(there)} key files, readable by their owner only")


def check_spool(settings: Settings) -> Iterator[Finding]:
    """What waits inside agents on this machine."""
    folder = settings.home / "spool"
    if not folder.is_dir():
        yield ok("spool", "no agent of this folder has a spool")
        return
    report = inspect(folder)
    orphaned = sum(spool.waiting for spool in report.spools if not spool.owner_alive)
    drain = f"run `tachograph spool drain {folder}`"
    if report.rejected:
        detail = f"the broker refused {report.rejected:,} messages, which are kept under {folder / 'rejected'}"
        yield fail("spool", detail, f"look at them with `tachograph spool inspect {folder}`")
    elif orphaned:
        yield warn("spool", f"{orphaned:,} messages of processes that are gone wait in {folder}", drain)
    else:
        yield ok("spool", f"{report.waiting:,} messages wait in {folder}")


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
