"""The local stack: a real Kafka and a real ClickHouse on loopback, and the processes between them.

Used by ``tachograph up`` through :class:`LocalStack`, and by tests through :func:`running_servers`.
"""

import importlib.metadata
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, TracebackType
from typing import Literal, Self

from tachograph.deploy.accounts import ACCOUNTS, DATABASE
from tachograph.deploy.backoff import Backoff
from tachograph.deploy.child import Child
from tachograph.deploy.clickhouse import ClickHouseServer
from tachograph.deploy.data_version import require_version
from tachograph.deploy.disk import FreeBytes, free_bytes, require_room
from tachograph.deploy.errors import ServerDied, StartTimeout
from tachograph.deploy.jars import Progress, ensure_jars
from tachograph.deploy.kafka import KafkaServer
from tachograph.deploy.lock import sole_owner
from tachograph.deploy.ports import LOOPBACK, choose_ports
from tachograph.deploy.process import identify
from tachograph.deploy.state import StackRecord, StateFolder
from tachograph.deploy.supervisor import ChildEvent, Supervisor
from tachograph.deploy.versions import CLICKHOUSE_VERSION, KAFKA_VERSION
from tachograph.schemas.settings import Settings, load_settings

# Measured 4.5 to 7 s on two cores that others used too. A laptop that builds something may take ten times that.
START_TIMEOUT_S = 60.0
_LOOK_AGAIN_S = 0.05


@dataclass(frozen=True)
class ServerEvent:
    """A server is on its way up."""

    name: str
    what: Literal["starting", "ready"]
    seconds: float = 0.0
    """Since the start of the servers; set for ``ready``."""


Event = ServerEvent | ChildEvent
Server = KafkaServer | ClickHouseServer


class LocalStack:
    """One stack in one state folder. A context manager: leaving it stops everything.

    The order is the caller's: :meth:`start_servers`, then topics and tables, then :meth:`start_children`, then
    :meth:`run_until_signal`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        on_event: Callable[[Event], None] = lambda _event: None,
        progress: Progress | None = None,
        cache: Path | None = None,
        free: FreeBytes = free_bytes,
        backoff: Backoff | None = None,
    ) -> None:
        self._settings = settings
        self._state = StateFolder(settings.home)
        self._on_event = on_event
        self._progress = progress
        self._cache = cache
        self._free = free
        self._backoff = backoff
        self._exit = ExitStack()
        self._supervisor: Supervisor | None = None
        self._record: StackRecord | None = None

    @property
    def state(self) -> StateFolder:
        """Where everything lies."""
        return self._state

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start_servers(self) -> Settings:
        """Start Kafka and ClickHouse, wait until both answer, and return the settings that reach them."""
        state = self._state
        state.create()
        self._exit.enter_context(sole_owner(state))
        require_room(state.home, self._free)
        before = state.read()
        require_version(state.kafka, "kafka", KAFKA_VERSION)
        require_version(state.clickhouse, "clickhouse", CLICKHOUSE_VERSION)
        ports = choose_ports(self._settings.local, before.ports if before else None)
        jars = ensure_jars(self._cache, progress=self._progress)
        kafka, clickhouse = KafkaServer(state, ports, jars), ClickHouseServer(state, ports)
        self._record = StackRecord(
            ports=ports,
            versions={
                "kafka": KAFKA_VERSION,
                "clickhouse": CLICKHOUSE_VERSION,
                "tachograph": importlib.metadata.version("tachograph"),
            },
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            supervisor=identify(os.getpid()),
        )
        self._supervisor = Supervisor(self._on_child, backoff=self._backoff)
        self._exit.callback(self._forget)
        self._exit.callback(self._supervisor.stop)
        began = time.monotonic()
        for server in (clickhouse, kafka):  # ClickHouse starts while Kafka's storage is formatted
            self._on_event(ServerEvent(server.name, "starting"))
            server.prepare()
            self._supervisor.start(server.child())
        self._wait_ready([kafka, clickhouse], began)
        state.write_env(stack_env(kafka.bootstrap_servers, ports.clickhouse_http_port, clickhouse))
        return load_settings(home=self._settings.home)

    def start_children(self, children: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Start ``(name, argv)`` in order, and from now on restart what dies, the servers included."""
        assert self._supervisor is not None, "start_servers comes first"
        env = child_environment(self._state.home)
        for name, argv in children:
            self._supervisor.start(Child(name, argv, self._state.log(name), env=env))
        self._supervisor.arm()

    def run_until_signal(self) -> signal.Signals:
        """Wait for SIGINT or SIGTERM, from the main thread. Stopping is then up to the caller."""
        received: list[signal.Signals] = []
        arrived = threading.Event()

        def on_signal(number: int, _frame: FrameType | None) -> None:
            received.append(signal.Signals(number))
            arrived.set()

        before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            arrived.wait()
        finally:
            for number, action in before.items():
                signal.signal(number, action)
        return received[0]

    def stop(self) -> None:
        """Stop everything, the last started first, within ten seconds. Does nothing the second time."""
        self._exit.close()

    def _wait_ready(self, servers: Sequence[Server], began: float) -> None:
        assert self._supervisor is not None
        waiting = list(servers)
        while waiting:
            for server in list(waiting):
                if self._supervisor.processes()[server.name] is None:
                    raise ServerDied(server.name, server.log)
                if server.ready():
                    waiting.remove(server)
                    self._on_event(ServerEvent(server.name, "ready", time.monotonic() - began))
                elif time.monotonic() - began > START_TIMEOUT_S:
                    raise StartTimeout(server.name, START_TIMEOUT_S, server.log)
            if waiting:
                time.sleep(_LOOK_AGAIN_S)

    def _on_child(self, event: ChildEvent) -> None:
        self._remember()
        self._on_event(event)

    def _remember(self) -> None:
        """Keep ``stack.json`` true: a restarted child has another pid."""
        if self._record is not None and self._supervisor is not None:
            self._record = replace(self._record, processes=self._supervisor.processes())
            self._state.write(self._record)

    def _forget(self) -> None:
        if self._record is not None:
            self._state.write(self._record.stopped())
            self._record = None


def stack_env(bootstrap_servers: str, http_port: int, clickhouse: ClickHouseServer) -> dict[str, str]:
    """The settings that make every other command talk to this stack."""
    passwords = clickhouse.passwords()
    return {
        "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": bootstrap_servers,
        "TACHOGRAPH_CLICKHOUSE__HOST": LOOPBACK,
        "TACHOGRAPH_CLICKHOUSE__HTTP_PORT": str(http_port),
        "TACHOGRAPH_CLICKHOUSE__DATABASE": DATABASE,
        # The administrator's password stays in its own file: no command needs it.
        **{a.password_variable: passwords[a.role] for a in ACCOUNTS if a.role != "admin"},
    }


def child_environment(home: Path) -> dict[str, str]:
    """Our environment, less what would point a child at another stack: the environment wins over ``stack.env``."""
    security = ("TACHOGRAPH_KAFKA__SECURITY", "TACHOGRAPH_KAFKA__SSL_", "TACHOGRAPH_KAFKA__SASL_")
    foreign = ("TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS", *security, "TACHOGRAPH_CLICKHOUSE__")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {"TACHOGRAPH_HOME": str(home)}


@contextmanager
def running_servers(home: Path) -> Iterator[Settings]:
    """Kafka and ClickHouse in a folder, for as long as the block runs. Nothing is restarted; tables are the test's."""
    with LocalStack(load_settings(home=home)) as stack:
        yield stack.start_servers()
