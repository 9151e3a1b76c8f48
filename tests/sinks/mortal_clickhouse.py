"""A ClickHouse server of a test's own, which it may kill and start again on the same data."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tachograph.deploy.clickhouse import ClickHouseServer
from tachograph.deploy.ports import choose_ports
from tachograph.deploy.stack import stack_env
from tachograph.deploy.state import StateFolder
from tachograph.schemas.settings import Settings, load_settings
from tachograph.sinks.clickhouse.client import connect
from tests.sinks.running import eventually


class MortalClickHouse:
    """The server, and the settings that reach it beside the broker of the suite."""

    def __init__(self, home: Path, servers: Settings) -> None:
        state = StateFolder(home)
        state.create()
        ports = choose_ports(servers.local)
        self._server = ClickHouseServer(state, ports)
        self._server.prepare()
        state.write_env(stack_env(servers.kafka.bootstrap_servers, ports.clickhouse_http_port, self._server))
        self.settings = load_settings(home)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and do not wait."""
        child = self._server.child()
        with child.log_path.open("ab") as log:
            self._process = subprocess.Popen(child.argv, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """As a power cut would, but for the disk."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def migrator_command(self, statement: str) -> None:
        """Run a statement as the account of the migrations."""
        clickhouse = self.settings.clickhouse
        client = connect(clickhouse, clickhouse.migrate_user, clickhouse.migrate_password)
        client.command(statement)
        client.close()

    def wait(self) -> None:
        """Until it answers."""
        eventually(self._server.ready, "ClickHouse")


@contextmanager
def mortal_clickhouse(home: Path, servers: Settings) -> Iterator[MortalClickHouse]:
    """Running when the block begins, gone when it ends."""
    server = MortalClickHouse(home, servers)
    try:
        server.start()
        server.wait()
        yield server
    finally:
        server.kill()
