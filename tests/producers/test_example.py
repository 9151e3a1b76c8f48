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

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAM = EXAMPLES / "first_program.py"


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


def test_the_support_agent(capsys: pytest.CaptureFixture[str]) -> None:
    """The complete example: all four kinds of steps, a retry, decisions and signals, a manifest for each step."""
    publisher = InMemoryPublisher()
    runpy.run_path(str(EXAMPLES / "support_agent.py"))["main"](make_tracer(publisher))
    validated(publisher)
    assert capsys.readouterr().out.splitlines() == [
        "[execution] track task=ticket-12 parent=None",
        "[execution] track task=ticket-12 parent=None",
        "[execution] search_docs task=ticket-12 parent=None",
        "In Oslo, due tomorrow.",
        "{'track': (2, 1), 'search_docs': (1, 0)}",
    ]
    assert [(item["step_type"], item["name"]) for item in publisher.of("StepStarted")] == [
        ("plan", "choose_source"),
        ("tool", "fetch_data"),
        ("retrieve", "search_docs"),
        ("answer", "write_answer"),
        ("validate", "check_schema"),
    ]
    assert [(item["selected"], item["reason_code"]) for item in publisher.of("AgentDecision")] == [
        ("api", "fresh_data_required"),
        ("retry", "rate_limit_encountered"),
    ]
    assert [
        (item["signal_type"], item["signal_code"], item["value"]) for item in publisher.of("AgentQualitySignal")
    ] == [
        ("tool_failure", "rate_limited", True),
        ("retry_occurred", "single_retry", True),
        ("tool_success", "after_retry", True),
        ("empty_retrieval", "no_results", False),
        ("schema_valid", "full_match", True),
    ]
    assert len(publisher.of("ContextManifest")) == 5
    assert publisher.of("AgentFailure")[0]["trigger"] == "tool_error"
    assert publisher.of("RunEnded")[0]["status"] == "succeeded"


def test_the_support_agent_as_a_program(workspace: Path) -> None:
    """With a trail, and without a broker."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "support_agent.py"), "--audit"],
        cwd=workspace,
        env=os.environ | {"TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "In Oslo, due tomorrow." in done.stdout
    [trail] = (workspace / ".tachograph" / "audit").iterdir()
    assert len((trail / "tool_calls.jsonl").read_text().splitlines()) == 6
