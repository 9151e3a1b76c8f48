"""The first program of the documentation does what it says."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.producers.spool import inspect
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import make_tracer, types, validated

PROGRAM = Path(__file__).parents[2] / "examples" / "first_program.py"


def test_first_program(capsys: pytest.CaptureFixture[str]) -> None:
    """One run, one tool call, one decision; short enough to be read."""
    publisher = InMemoryPublisher()
    runpy.run_path(str(PROGRAM))["main"](make_tracer(publisher))
    assert capsys.readouterr().out == "nothing about weather in Oslo\n"
    assert types(publisher) == [
        "RunStarted",
        "StepStarted",
        "AgentDecision",
        "ToolCallRecord",
        "ToolCallRecord",
        "ToolCallRecord",
        "ContextManifest",
        "StepEnded",
        "RunEnded",
    ]
    validated(publisher)
    code = [line for line in PROGRAM.read_text().splitlines() if line and not line.lstrip().startswith('"""')]
    assert len(code) <= 15


def test_first_program_without_a_broker(workspace: Path) -> None:
    """As a newcomer runs it first: it works, and says in a sentence where the records are and what to do."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        cwd=workspace,
        env=os.environ | {"TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "nothing about weather in Oslo\n"
    assert "9 records wait in .tachograph/spool: the broker at 127.0.0.1:9 has not acknowledged them" in done.stderr
    assert "tachograph spool drain .tachograph/spool" in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    assert inspect(workspace / ".tachograph" / "spool").waiting == 9
