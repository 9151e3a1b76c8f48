"""`pytest --tachograph-replay DIR` as a gate: what passes, what fails, and with which exit code."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.producers.replay.agent import recorded

pytest_plugins = ["pytester"]

TESTS = """
    import pytest
    from tests.producers.replay.agent import World, answer
    from tests.producers.support import make_tracer

    def replayed(recording, **change):
        tracer = make_tracer()
        with tracer.replaying(recording.run_id, recording):
            answer(tracer, World(), **change)

    def test_same(tachograph_recording):
        replayed(tachograph_recording)
"""
CHANGED = """
    def test_changed(tachograph_recording):
        replayed(tachograph_recording, cents=1)

    @pytest.mark.tachograph_agent("another")
    def test_of_another_agent(tachograph_recording):
        replayed(tachograph_recording, cents=2)
"""


@pytest.fixture
def gate(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one recording and a test of its agent."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    recorded(pytester.path / "recordings")
    pytester.makepyfile(TESTS)
    return pytester


def run(gate: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    # In a process of its own: in this one, modules would be imported twice.
    return gate.runpytest_subprocess("-p", "tachograph.producers.pytest_plugin", *arguments)


def test_pytest_finds_the_plugin_by_itself() -> None:
    """Who has installed Tachograph has the option."""
    [found] = [point for point in entry_points(group="pytest11") if point.name == "tachograph"]
    assert found.value == "tachograph.producers.pytest_plugin"


def test_code_that_repeats_its_recordings_passes(gate: pytest.Pytester) -> None:
    """Exit code 0, and a count of what was replayed."""
    result = run(gate, "--tachograph-replay", "recordings")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 recordings replayed, 0 differed*"])


def test_code_that_does_not_fails(gate: pytest.Pytester) -> None:
    """Exit code 1; the summary says what differed, by hash. Recordings of another agent are not its business."""
    gate.makepyfile(TESTS + CHANGED)
    result = run(gate, "--tachograph-replay", "recordings")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_changed*: tool_input_changed: tool refund, place * of run *"])


def test_without_the_option_nothing_is_replayed(gate: pytest.Pytester) -> None:
    """The test is skipped and says how to run it."""
    result = run(gate, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*use --tachograph-replay DIR*"])


def test_a_gate_that_checks_nothing_does_not_pass(gate: pytest.Pytester) -> None:
    """An empty folder is a wrong call; recordings that no test replays fail."""
    (gate.path / "empty").mkdir()
    result = run(gate, "--tachograph-replay", "empty")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*has no recordings*"])
    gate.makepyfile("def test_other(): pass")
    result = run(gate, "--tachograph-replay", "recordings")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*replayed by no test: *"])
