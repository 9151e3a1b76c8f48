"""Fixtures that every test may use. The real servers start once, when the first test asks for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from tachograph.deploy.stack import running_servers
from tachograph.deploy.topics import apply_topics
from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.migrate import migrate
from tests.containers import container_servers, use_containers

# Speed lives in benchmarks: on a busy machine any example may be slow.
hypothesis_settings.register_profile("no deadlines", deadline=None)
hypothesis_settings.load_profile("no deadlines")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A real Kafka broker and a real ClickHouse server, shared by the whole run. Tables and topics are the test's."""
    home: Path = tmp_path_factory.mktemp("stack")
    with (container_servers if use_containers() else running_servers)(home) as settings:
        yield settings


@pytest.fixture(scope="session")
def stack(servers: Settings) -> Settings:
    """Servers with every topic and table of the contract."""
    apply_topics(servers.kafka)
    migrate(servers)
    return servers


@contextmanager
def _own_stack(home: Path) -> Iterator[Settings]:
    with (container_servers if use_containers() else running_servers)(home) as settings:
        apply_topics(settings.kafka)
        migrate(settings)
        yield settings


@pytest.fixture(scope="session")
def forged_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A stack of its own for tests that write records nobody sealed: a sealer rightly refuses to go on after those."""
    with _own_stack(tmp_path_factory.mktemp("forged")) as settings:
        yield settings


@pytest.fixture(scope="module")
def sealed_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A stack that holds what the test's own sealer sealed, and nothing else."""
    with _own_stack(tmp_path_factory.mktemp("sealing")) as settings:
        yield settings
