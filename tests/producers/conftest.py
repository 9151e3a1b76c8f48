"""Every test of the recorder works in a folder of its own: a tracer may keep artifacts, keys and spools there."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The working folder of the test. Tests of the spool start processes from the root, and name their folders."""
    if request.path.parent.name != "spool":
        monkeypatch.chdir(tmp_path)
    return tmp_path
