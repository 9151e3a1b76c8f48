"""Which custodian the settings name: a file, a signing process, or a plug-in such as a KMS."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from tachograph.processors.sealing.custody import Signer, WatchedKeyFile
from tachograph.processors.sealing.errors import CustodyError
from tachograph.processors.sealing.key_set import key_file_of
from tachograph.processors.sealing.signer import SocketSigner
from tachograph.schemas.settings import Settings

GROUP: Final = "tachograph.signers"
"""Entry points that take the settings and return a signer."""


def socket_of(settings: Settings) -> Path:
    """Where the signing process answers."""
    return settings.sealer.socket or settings.home / "keys" / "signer.sock"


def open_signer(settings: Settings) -> Signer:
    """The signer that the settings ask for; `CustodyError` if it cannot be used."""
    custody = settings.sealer.custody
    if custody == "file":
        return WatchedKeyFile(key_file_of(settings))
    if custody == "socket":
        return SocketSigner(socket_of(settings), owner=settings.sealer.signer_owner)
    for found in entry_points(group=GROUP, name=custody):
        made: Signer = found.load()(settings)
        return made
    raise CustodyError(
        f"sealer.custody is {custody}, and no entry point of {GROUP} has that name: "
        "set it to file or socket, or install the package that offers it"
    )
