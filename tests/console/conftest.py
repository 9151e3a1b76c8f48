"""The demo, played once."""

import pytest

from tests.console.stories import Played


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Every story of the demo, recorded in memory."""
    return Played(tmp_path_factory.mktemp("played"))
