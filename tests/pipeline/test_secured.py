"""The whole pipeline on servers that ask who is there: TLS everywhere, a user or a certificate for Kafka."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph.console.database import reader
from tachograph.schemas.settings import load_settings
from tests.containers import use_containers
from tests.pipeline.processes import pipeline, wait_for
from tests.pipeline.secured import KEY_PASSWORD, PASSWORD, Authority, Secured, secured_servers
from tests.pipeline.test_first_program import PROGRAM

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(240),
    pytest.mark.skipif(use_containers(), reason="the official images are started without certificates"),
]

COMPLETE = "SELECT completeness FROM runs WHERE agent_id = 'first-program'"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_servers(tmp_path_factory.mktemp("secured")) as servers:
        yield servers


def run(secured: Secured, *command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")}
    return subprocess.run(
        [sys.executable, *command],
        env=environment | {"TACHOGRAPH_HOME": str(secured.home)} | settings,
        cwd=secured.home,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def tachograph(secured: Secured, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return run(secured, "-m", "tachograph.console.main", *arguments, **settings)


def mutual(secured: Secured) -> dict[str, str]:
    """Settings of a client that shows a certificate, whose key is encrypted."""
    certificate, key = secured.authority.issue("client", KEY_PASSWORD)
    return {
        "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{secured.mutual_port}",
        "TACHOGRAPH_KAFKA__SECURITY_PROTOCOL": "SSL",
        "TACHOGRAPH_KAFKA__SASL_USERNAME": "",
        "TACHOGRAPH_KAFKA__SASL_PASSWORD": "",
        "TACHOGRAPH_KAFKA__SSL_CERTIFICATE": str(certificate),
        "TACHOGRAPH_KAFKA__SSL_KEY": str(key),
        "TACHOGRAPH_KAFKA__SSL_KEY_PASSWORD": KEY_PASSWORD,
    }


@pytest.fixture(scope="module")
def prepared(secured: Secured) -> Secured:
    for command in (["topics", "apply"], ["migrate"]):
        answer = tachograph(secured, *command)
        assert answer.returncode == 0, answer.stderr
    return secured


@pytest.mark.parametrize("how", ["a user", "a certificate"])
def test_a_run_lands_whole(prepared: Secured, tmp_path: Path, how: str) -> None:
    """From an agent's process through worker and sink to the console, the same code with other settings."""
    settings = load_settings(home=prepared.home)
    overrides = mutual(prepared) if how == "a certificate" else {}
    with reader(settings) as database, pipeline(settings, tmp_path, **overrides) as parts:
        before = len(database.rows(COMPLETE))
        program = run(prepared, PROGRAM, **overrides)
        assert program.returncode == 0, program.stderr

        def found() -> list[str]:
            return [str(row[0]) for row in database.rows(COMPLETE)]

        wait_for(lambda: found()[before:] == ["complete"], lambda: f"runs: {found()}", *parts)
        answer = tachograph(prepared, "doctor", "--json", **overrides)
        checks = {check["check"]: check["state"] for check in json.loads(answer.stdout)["checks"]}
        assert {checks[name] for name in ("kafka.broker", "lag.worker", "lag.sink", "clickhouse.server")} == {"ok"}
    assert PASSWORD not in "".join(part.log_tail() for part in parts) + program.stderr + answer.stdout


@pytest.mark.parametrize(
    ("command", "setting", "sentence"),
    [
        pytest.param(
            ["topics", "apply"],
            {"TACHOGRAPH_KAFKA__SASL_PASSWORD": "canary-other"},
            "over SASL_SSL as agent-fleet cannot be used",
            id="another password, topics",
        ),
        pytest.param(
            ["worker"],
            {"TACHOGRAPH_KAFKA__SASL_PASSWORD": "canary-other"},
            "over SASL_SSL as agent-fleet within",
            id="another password, worker",
        ),
        pytest.param(
            ["topics", "apply"], {"TACHOGRAPH_KAFKA__SSL_CA": "OTHER"}, "cannot be used", id="another authority, Kafka"
        ),
        pytest.param(
            ["runs"], {"TACHOGRAPH_CLICKHOUSE__CA": "OTHER"}, "does not answer", id="another authority, ClickHouse"
        ),
    ],
)
def test_who_is_not_let_in_is_told_so(
    secured: Secured, tmp_path: Path, command: list[str], setting: dict[str, str], sentence: str
) -> None:
    """A sentence with the address and the user, and no password."""
    other = str(Authority(tmp_path, "somebody else").file)
    given = {name: value.replace("OTHER", other) for name, value in setting.items()}
    answer = tachograph(secured, *command, TACHOGRAPH_KAFKA__REQUEST_TIMEOUT_MS="2500", **given)
    assert answer.returncode == 1, answer.stderr
    assert sentence in answer.stderr
    assert "canary" not in answer.stderr
    assert "Traceback" not in answer.stderr
