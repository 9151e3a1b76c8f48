"""The same servers from official images, where a Docker engine runs: our own docker-compose.yml, by testcontainers."""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tachograph.schemas.settings import STACK_ENV_FILE, Settings, load_settings

ROOT = Path(__file__).parents[1]
CHOICE = "TACHOGRAPH_TEST_STACK"
"""``local`` or ``docker``; unset: docker where an engine answers, local elsewhere."""


def use_containers() -> bool:
    """Whether the suite runs on the official images."""
    choice = os.environ.get(CHOICE, "")
    if choice not in {"", "local", "docker"}:
        raise ValueError(f"{CHOICE} is {choice!r}; it may be local or docker")
    return choice == "docker" or (choice == "" and engine_found())


def engine_found() -> bool:
    """Whether a Docker engine answers. The client alone is not enough."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    try:
        answer = subprocess.run([docker, "info"], check=False, capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return False
    return answer.returncode == 0


@contextmanager
def container_servers(home: Path) -> Iterator[Settings]:
    """Kafka and ClickHouse of docker-compose.yml on free loopback ports, with fresh passwords."""
    from testcontainers.compose import DockerCompose  # noqa: PLC0415 - only where an engine is

    kafka_port, http_port, tcp_port = free_ports(3)
    passwords = {
        f"TACHOGRAPH_CLICKHOUSE__{role}_PASSWORD": secrets.token_hex(24) for role in ("MIGRATE", "SINK", "CONSOLE")
    }
    compose_env = home / "compose.env"
    write_env(
        compose_env,
        passwords
        | {
            "COMPOSE_PROJECT_NAME": f"tachograph-test-{secrets.token_hex(4)}",  # parallel workers have one each
            "TACHOGRAPH_CLICKHOUSE_ADMIN_PASSWORD": secrets.token_hex(24),
            "TACHOGRAPH_LOCAL__KAFKA_PORT": str(kafka_port),
            "TACHOGRAPH_LOCAL__CLICKHOUSE_HTTP_PORT": str(http_port),
            "TACHOGRAPH_LOCAL__CLICKHOUSE_TCP_PORT": str(tcp_port),
        },
    )
    write_env(
        home / STACK_ENV_FILE,
        passwords
        | {
            "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{kafka_port}",
            "TACHOGRAPH_CLICKHOUSE__HOST": "127.0.0.1",
            "TACHOGRAPH_CLICKHOUSE__HTTP_PORT": str(http_port),
        },
    )
    with DockerCompose(ROOT, env_file=str(compose_env), services=["kafka", "clickhouse"], wait=True):
        yield load_settings(home=home)


def write_env(path: Path, values: dict[str, str]) -> None:
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
