"""Fixtures that every test may use. The real servers start once, when the first test asks for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph.schemas.settings import Settings


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A real Kafka broker and a real ClickHouse server, shared by the whole run. Tables and topics are the test's."""
    from tachograph.deploy.stack import running_servers  # noqa: PLC0415 - starting Java is for those who ask

    home: Path = tmp_path_factory.mktemp("stack")
    with running_servers(home) as settings:
        yield settings
