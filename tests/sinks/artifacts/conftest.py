from collections.abc import Iterator

import pytest

from tests.sinks.artifacts.s3 import endpoint, s3_server


@pytest.fixture(scope="package")
def s3_url() -> Iterator[str]:
    """An S3 server for all tests of the store."""
    with s3_server() as url:
        yield url


@pytest.fixture
def s3(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server, where this process finds it."""
    for name, value in endpoint(s3_url).items():
        monkeypatch.setenv(name, value)
    return s3_url
