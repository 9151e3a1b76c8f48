"""The three pages that a process serves."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tachograph.schemas.errors import ConfigError
from tachograph.schemas.status_server import StatusServer

LOOPBACK = "127.0.0.1"


@dataclass
class Some:
    """A process whose answers the test sets."""

    dead_because: str | None = None
    waits_for: str | None = None

    def metrics(self) -> bytes:
        return b"some_metric 1\n"

    def dead(self) -> str | None:
        return self.dead_because

    def not_ready(self) -> str | None:
        return self.waits_for


@pytest.fixture
def some() -> Some:
    return Some()


@pytest.fixture
def server(some: Some) -> Iterator[StatusServer]:
    with StatusServer(LOOPBACK, 0, some, setting="X") as made:
        yield made


def get(server: StatusServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{server.port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("process", "healthz", "readyz"),
    [
        pytest.param(Some(), (200, "ok\n"), (200, "ok\n"), id="at work"),
        pytest.param(Some(waits_for="it waits"), (200, "ok\n"), (503, "it waits\n"), id="not ready"),
        pytest.param(Some("it hangs"), (503, "it hangs\n"), (503, "it hangs\n"), id="hung"),
    ],
)
def test_health(process: Some, healthz: tuple[int, str], readyz: tuple[int, str]) -> None:
    """A sentence and a status: restart it, wait for it, or use it."""
    with StatusServer(LOOPBACK, 0, process, setting="X") as server:
        assert get(server, "/healthz") == healthz
        assert get(server, "/readyz?verbose") == readyz


def test_metrics(server: StatusServer) -> None:
    """As the process gives them."""
    assert get(server, "/metrics") == (200, "some_metric 1\n")


def test_other_paths_name_the_pages(server: StatusServer) -> None:
    """And nothing of the request comes back."""
    assert get(server, "/canary") == (404, "there are /metrics, /healthz and /readyz\n")


def test_a_taken_port_names_the_setting(server: StatusServer, some: Some) -> None:
    """Two workers on one machine need two ports."""
    with pytest.raises(ConfigError, match=rf"{LOOPBACK}:{server.port} cannot be listened on .* set TACHOGRAPH_X"):
        StatusServer(LOOPBACK, server.port, some, setting="TACHOGRAPH_X")


def test_port_0_is_off(some: Some) -> None:
    """Nothing listens unless asked to."""
    with StatusServer.at(LOOPBACK, 0, some, setting="X") as server:
        assert server is None
