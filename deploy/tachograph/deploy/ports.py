"""Which loopback ports the servers listen on."""

import random
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass

from tachograph.deploy.errors import PortTaken
from tachograph.schemas.settings import LocalSettings

LOOPBACK = "127.0.0.1"

# Free ports are taken from below the range that the kernel gives to outgoing connections (32768 and up on Linux), or
# one of those could take the port between our choosing it and the server's binding it.
_CHOICE = range(20000, 30000)


@dataclass(frozen=True)
class Ports:
    """One port for each listener. The names are those of the settings."""

    kafka_port: int
    controller_port: int
    clickhouse_http_port: int
    clickhouse_tcp_port: int


def choose_ports(configured: LocalSettings, remembered: Ports | None = None) -> Ports:
    """Configured ports if they are free, else refuse; for the rest the ports of last time, else any free ones."""
    before = asdict(remembered) if remembered is not None else {}
    wanted: Mapping[str, int] = {name: getattr(configured, name) for name in Ports.__dataclass_fields__}
    chosen: dict[str, int] = {}
    for name, port in sorted(wanted.items(), key=lambda item: item[1] == 0):  # configured ones first
        if port and (port in chosen.values() or not is_free(port)):
            raise PortTaken(port, f"TACHOGRAPH_LOCAL__{name.upper()}")
        chosen[name] = port or _any_free(before.get(name), set(chosen.values()))
    return Ports(**chosen)


def is_free(port: int) -> bool:
    """Whether a server could listen there now. Connections of a server that ended a moment ago do not count."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def _any_free(remembered: int | None, chosen: set[int]) -> int:
    if remembered and remembered not in chosen and is_free(remembered):
        return remembered
    while True:
        port = random.SystemRandom().choice(_CHOICE)
        if port not in chosen and is_free(port):
            return port
