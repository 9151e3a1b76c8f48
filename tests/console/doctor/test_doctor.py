"""The doctor without a patient: what it says when a thing is broken, each broken for real."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph.console.doctor.broker import check_broker, check_schemas
from tachograph.console.doctor.examine import examine
from tachograph.console.doctor.finding import Finding, State
from tachograph.console.doctor.machine import check_disk, check_keys, check_spool
from tachograph.console.doctor.tables import check_tables, wrong_grants
from tachograph.schemas.settings import (
    ClickHouseSettings,
    DoctorSettings,
    KafkaSettings,
    SchemaRegistrySettings,
    Settings,
)
from tests.console.test_cli import tachograph

DYING_AGENT = """
import os
from tachograph.producers import Tracer
from tachograph.producers.publishing import SpoolPublisher
from tachograph.schemas.settings import load_settings
with Tracer(agent_id="gone", publisher=SpoolPublisher.from_settings(load_settings())).start_run("x"):
    os._exit(0)
"""


def by_name(findings: Iterator[Finding]) -> dict[str, Finding]:
    return {item.check: item for item in findings}


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens: one that was free a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_a_stopped_broker(closed_port: int, tmp_path: Path) -> None:
    """What stands on the broker is skipped, and what to do is said once."""
    kafka = KafkaSettings(bootstrap_servers=f"127.0.0.1:{closed_port}", request_timeout_ms=1500)
    found = by_name(check_broker(Settings(home=tmp_path, kafka=kafka)))
    assert found["kafka.broker"].state is State.FAIL
    assert "tachograph up" in found["kafka.broker"].todo
    assert {item.state for name, item in found.items() if name != "kafka.broker"} == {State.SKIPPED}


def test_a_stopped_clickhouse(closed_port: int, tmp_path: Path) -> None:
    """The same for ClickHouse."""
    settings = Settings(home=tmp_path, clickhouse=ClickHouseSettings(http_port=closed_port, connect_timeout_s=1))
    found = by_name(check_tables(settings))
    assert found["clickhouse.server"].state is State.FAIL
    assert "TACHOGRAPH_CLICKHOUSE__HOST" in found["clickhouse.server"].todo
    assert {item.state for name, item in found.items() if name != "clickhouse.server"} == {State.SKIPPED}


def test_a_registry_that_does_not_answer(closed_port: int, tmp_path: Path) -> None:
    """Named with its setting; without one there is nothing to ask."""
    registry = SchemaRegistrySettings(url=f"http://127.0.0.1:{closed_port}")
    (found,) = check_schemas(Settings(home=tmp_path, schema_registry=registry))
    assert (found.state, "TACHOGRAPH_SCHEMA_REGISTRY__URL" in found.todo) == (State.FAIL, True)
    (found,) = check_schemas(Settings(home=tmp_path))
    assert found.state is State.OK


def test_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    """By the setting: a disk that has less than is asked for fails, whatever it has."""
    (found,) = check_disk(Settings(home=tmp_path / "not yet", doctor=DoctorSettings(min_free_mib=1 << 40)))
    assert (found.state, "TACHOGRAPH_HOME" in found.todo) == (State.FAIL, True)
    (found,) = check_disk(Settings(home=tmp_path, doctor=DoctorSettings(min_free_mib=1)))
    assert found.state is State.OK


@pytest.mark.parametrize("name", ["sealing.key", "capture.key", "tenants/acme.key"])
def test_a_key_that_others_may_read(name: str, tmp_path: Path) -> None:
    """Each key file is looked at, and the command that mends it is given."""
    path = tmp_path / "keys" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"key")
    path.chmod(0o644)
    (found,) = check_keys(Settings(home=tmp_path))
    assert found.state is State.FAIL
    assert f"chmod 600 {path}" in found.todo
    path.chmod(0o600)
    (found,) = check_keys(Settings(home=tmp_path))
    assert found.state is (State.OK if name == "sealing.key" else State.WARN)


def test_no_key_to_seal_with(tmp_path: Path) -> None:
    """No failure: a machine that only records needs none."""
    (found,) = check_keys(Settings(home=tmp_path))
    assert (found.state, bool(found.todo)) == (State.WARN, True)


def test_records_of_a_process_that_is_gone(closed_port: int, tmp_path: Path) -> None:
    """They wait, and the command that sends them is given."""
    environment = os.environ | {
        "TACHOGRAPH_HOME": str(tmp_path),
        "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{closed_port}",
    }
    subprocess.run([sys.executable, "-c", DYING_AGENT], check=True, env=environment)
    (found,) = check_spool(Settings(home=tmp_path))
    assert (found.state, "spool drain" in found.todo) == (State.WARN, True)


def test_no_spool_is_no_problem(tmp_path: Path) -> None:
    """A machine without agents."""
    (found,) = check_spool(Settings(home=tmp_path))
    assert found.state is State.OK


@pytest.mark.parametrize(
    ("role", "granted", "wrong"),
    [
        pytest.param("sink", ["GRANT INSERT ON tachograph.* TO s"], [], id="a sink that inserts"),
        pytest.param("sink", ["GRANT SELECT, INSERT ON x.* TO s"], ["sink may SELECT"], id="a sink that reads"),
        pytest.param("sink", [], ["sink may not INSERT"], id="a sink that may nothing"),
        pytest.param("console", ["GRANT SELECT(a, b) ON x.y TO c"], [], id="a console that reads columns"),
        pytest.param("console", ["GRANT SELECT, INSERT ON x.* TO c"], ["console may INSERT"], id="one that writes"),
        pytest.param("migrate", ["GRANT SELECT, CREATE TABLE, ALTER TABLE ON x.* TO m"], [], id="migrations"),
        pytest.param("migrate", ["GRANT ALL ON x.* TO m"], [], id="migrations that may all"),
        pytest.param(
            "migrate",
            ["GRANT SELECT ON x.* TO m"],
            ["migrate may not ALTER TABLE", "migrate may not CREATE TABLE"],
            id="migrations that may not migrate",
        ),
    ],
)  # fmt: skip
def test_grants(role: str, granted: list[str], wrong: list[str]) -> None:
    """More than needed is as wrong as less."""
    assert wrong_grants(role, granted) == wrong


def test_a_check_that_breaks_is_a_finding(tmp_path: Path) -> None:
    """The others are still worth knowing."""

    def broken(_settings: Settings) -> Iterator[Finding]:
        raise RuntimeError("canary")

    found = examine(Settings(home=tmp_path), checks=(("broken", broken), ("disk", check_disk)))
    assert [item.check for item in found] == ["broken", "disk"]
    assert "canary" not in found[0].detail


def test_the_command_exits_with_1_and_names_each_remedy(closed_port: int, tmp_path: Path) -> None:
    """JSON on stdout; every failure says what to do."""
    answer = tachograph(
        "doctor",
        "--json",
        home=tmp_path,
        TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS=f"127.0.0.1:{closed_port}",
        TACHOGRAPH_KAFKA__REQUEST_TIMEOUT_MS="1500",
        TACHOGRAPH_CLICKHOUSE__HTTP_PORT=str(closed_port),
    )
    assert answer.returncode == 1, answer.stderr
    document = json.loads(answer.stdout)
    assert document["ok"] is False
    failed = [item for item in document["checks"] if item["state"] == "fail"]
    assert {item["check"] for item in failed} == {"kafka.broker", "clickhouse.server"}
    assert all(item["todo"] for item in failed)
    assert "2 of" in answer.stderr
