"""The whole pipeline's topics and tables on the shared servers."""

import pytest

from tachograph.deploy.topics import apply_topics
from tachograph.schemas.settings import Settings
from tachograph.sinks.clickhouse.migrate import migrate


@pytest.fixture(scope="session")
def stack(servers: Settings) -> Settings:
    """Servers with every topic and table of the contract."""
    apply_topics(servers.kafka)
    migrate(servers)
    return servers
