"""A real ClickHouse server on this machine, from the chdb wheel."""

import http.client
import importlib.metadata
import json
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tachograph.deploy.accounts import ACCOUNTS, hashed, new_passwords, users_xml
from tachograph.deploy.child import Child
from tachograph.deploy.clickhouse_config import local_config
from tachograph.deploy.errors import RuntimeMissing, StateDamaged
from tachograph.deploy.java import LOCAL_EXTRA
from tachograph.deploy.ports import LOOPBACK, Ports
from tachograph.deploy.state import StateFolder, write_private

PASSWORDS_FILE = "passwords.json"

# One look at the server; the caller looks again until its own deadline.
_LOOK_S = 2.0


class ClickHouseServer:
    """The server of one state folder."""

    name = "clickhouse"

    def __init__(self, state: StateFolder, ports: Ports) -> None:
        self._state = state
        self._ports = ports

    @property
    def log(self) -> Path:
        """Where the server writes what it does."""
        return self._state.log(self.name)

    def prepare(self) -> None:
        """Write the configuration; make passwords the first time."""
        folder = self._state.clickhouse
        _require_chdb()
        passwords = folder / PASSWORDS_FILE
        if not passwords.exists():
            write_private(passwords, json.dumps(new_passwords(), indent=2) + "\n")
        write_private(folder / "config.xml", local_config(self._ports))
        write_private(folder / "users.xml", users_xml(hashed(self.passwords())))

    def passwords(self) -> Mapping[str, str]:
        """Password of each role."""
        return read_passwords(self._state.clickhouse)

    def child(self) -> Child:
        """How to run it."""
        return Child(
            name=self.name,
            argv=[sys.executable, "-m", "tachograph.deploy.clickhouse_server", str(self._state.clickhouse)],
            log_path=self.log,
        )

    def ready(self) -> bool:
        """Whether the server answers and lets the migrating role in."""
        return ask(self._ports.clickhouse_http_port, "migrate", self.passwords()["migrate"], "SELECT 1") == "1"


def read_passwords(folder: Path) -> Mapping[str, str]:
    """Passwords of a server's folder."""
    path = folder / PASSWORDS_FILE
    try:
        found = json.loads(path.read_text())
        return {account.role: str(found[account.role]) for account in ACCOUNTS}
    except (OSError, ValueError, KeyError, TypeError):
        raise StateDamaged(
            f"{path} is not readable as written. Delete it and start again: new passwords are made, the data stays."
        ) from None


def ask(port: int, role: str, password: str, query: str) -> str | None:
    """Answer of one query over HTTP, or ``None`` if the server is not there or says no."""
    headers = {"X-ClickHouse-User": f"tachograph_{role}", "X-ClickHouse-Key": password}
    with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=_LOOK_S)) as connection:
        try:
            connection.request("POST", "/", body=query, headers=headers)
            response = connection.getresponse()
            text = response.read().decode(errors="replace").strip()
        except (OSError, http.client.HTTPException):
            return None
    return text if response.status == http.HTTPStatus.OK else None


def _require_chdb() -> None:
    try:
        importlib.metadata.version("chdb")
    except importlib.metadata.PackageNotFoundError:
        raise RuntimeMissing(f"the ClickHouse engine is not installed. Install it with: {LOCAL_EXTRA}") from None
