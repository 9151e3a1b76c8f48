"""The first program of the documentation, run as a newcomer runs it."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tachograph.console.database import reader
from tachograph.schemas.settings import Settings
from tests.pipeline.processes import pipeline, wait_for

PROGRAM = Path(__file__).parents[2] / "examples" / "first_program.py"
RUNS = "SELECT completeness, status FROM runs WHERE agent_id = 'first-program' AND started_at >= {since:DateTime64(6)}"


@pytest.mark.stack
def test_its_run_is_complete_in_clickhouse(stack: Settings, tmp_path: Path) -> None:
    """One run, from a process of its own to the console's view, with nothing missing."""
    since = datetime.now(UTC)
    with reader(stack) as database, pipeline(stack, tmp_path) as parts:
        program = subprocess.run(
            [sys.executable, PROGRAM],
            env=os.environ | {"TACHOGRAPH_HOME": str(stack.home)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        # A broker that has just started may be worth a warning on stderr.
        assert (program.returncode, program.stdout) == (0, "nothing about weather in Oslo\n"), program.stderr

        def found() -> list[tuple[str, str]]:
            return [(str(row[0]), str(row[1])) for row in database.rows(RUNS, {"since": since})]

        wait_for(lambda: found() == [("complete", "succeeded")], lambda: f"runs of the program: {found()}", *parts)
