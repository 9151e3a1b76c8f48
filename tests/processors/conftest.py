"""Pipelines on the real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph.schemas.settings import Settings
from tests.processors.pipeline import Pipeline


@pytest.fixture
def pipeline(servers: Settings, tmp_path: Path) -> Iterator[Pipeline]:
    """Topics of its own, created; workers are killed at the end."""
    made = Pipeline(servers, tmp_path)
    made.create_topics()
    yield made
    made.stop()


@pytest.fixture
def bare_pipeline(servers: Settings, tmp_path: Path) -> Iterator[Pipeline]:
    """As ``pipeline``, but the test makes the topics."""
    made = Pipeline(servers, tmp_path)
    yield made
    made.stop()
