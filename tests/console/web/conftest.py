"""One site for all tests of the console: filled once, looked at by many."""

import pytest

from tachograph.schemas.settings import Settings
from tests.console.web.site import Site, build_site


@pytest.fixture(scope="session")
def site(forged_stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Three tenants, and no process left that would change them."""
    return build_site(forged_stack, tmp_path_factory.mktemp("site"))
