"""The first program of the documentation does what it says."""

import runpy
from pathlib import Path

import pytest

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
