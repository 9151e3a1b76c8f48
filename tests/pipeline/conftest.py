"""Fixtures of the pipeline's tests."""

from collections.abc import Iterator

import pytest

from tachograph.schemas.settings import Settings
from tests.pipeline.told import World, told_world


@pytest.fixture(scope="session")
def world(forged_stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """What the demo's agent left behind."""
    with told_world(forged_stack, tmp_path_factory.mktemp("told")) as found:
        yield found
