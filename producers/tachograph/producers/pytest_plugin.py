"""A pytest plugin: ``pytest --tachograph-replay DIR`` runs an agent's code against every recording of a folder.

A test that asks for the fixture ``tachograph_recording`` runs once for each recording; those marked
``@pytest.mark.tachograph_agent("support")`` only for the recordings of that agent. Without the option they are skipped.
A folder that has no recording is an error, and so is a session in which none was replayed: a gate must not pass
because it checked nothing.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from tachograph.schemas.recording import Recording

OPTION: Final = "--tachograph-replay"
FIXTURE: Final = "tachograph_recording"
MARK: Final = "tachograph_agent"

_RECORDINGS: Final = pytest.StashKey[list["Recording"]]()
_REPLAYED: Final = pytest.StashKey[set[str]]()
_DIVERGED: Final = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("tachograph").addoption(
        OPTION, metavar="DIR", type=Path, help="run tests of agents against the recordings in DIR"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the recordings."""
    config.addinivalue_line("markers", f"{MARK}(agent_id): replay only recordings of this agent")
    folder = config.getoption(OPTION)
    if folder is None:
        return
    from tachograph.schemas.errors import TachographError  # noqa: PLC0415 - who does not replay pays nothing
    from tachograph.schemas.recording import load_folder  # noqa: PLC0415 - as above

    try:
        recordings = load_folder(folder)
    except TachographError as error:
        raise pytest.UsageError(f"{OPTION}: {error}") from None
    if not recordings:
        raise pytest.UsageError(
            f"{OPTION}: {folder} has no recordings; `tachograph recording export RUN {folder}` writes one"
        )
    config.stash[_RECORDINGS] = recordings
    config.stash[_REPLAYED] = set()
    config.stash[_DIVERGED] = []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each recording."""
    if FIXTURE not in metafunc.fixturenames:
        return
    recordings = metafunc.config.stash.get(_RECORDINGS, None)
    if recordings is None:
        skip = pytest.mark.skip(reason=f"no recordings: use {OPTION} DIR")
        metafunc.parametrize(FIXTURE, [pytest.param(None, marks=skip, id="no recordings")], indirect=True)
        return
    mark = metafunc.definition.get_closest_marker(MARK)
    wanted = [item for item in recordings if mark is None or item.run.agent_id in mark.args]
    metafunc.parametrize(FIXTURE, [pytest.param(item, id=item.run_id) for item in wanted], indirect=True)


@pytest.fixture
def tachograph_recording(request: pytest.FixtureRequest) -> "Recording":
    """A recording to replay: ``with tracer.replaying(recording.run_id, recording): main(tracer)``."""
    recording: Recording = request.param
    request.config.stash[_REPLAYED].add(recording.run_id)
    return recording


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """Keep what differed for the summary."""
    diverged = item.config.stash.get(_DIVERGED, None)
    if diverged is not None and call.excinfo is not None:
        divergence = getattr(call.excinfo.value, "divergence", None)
        if divergence is not None:
            diverged.append(f"{item.nodeid}: {divergence.sentence()}")
    return (yield)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a gate that checked nothing. Under xdist each worker sees only its share."""
    config = session.config
    nothing = _REPLAYED in config.stash and not config.stash[_REPLAYED]
    distributed = hasattr(config, "workerinput") or getattr(config.option, "dist", "no") != "no"
    if nothing and not distributed and not config.option.collectonly and exitstatus in {0, 5}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was replayed and what differed."""
    if _RECORDINGS not in config.stash:
        return
    replayed, diverged = config.stash[_REPLAYED], config.stash[_DIVERGED]
    left = [item.run_id for item in config.stash[_RECORDINGS] if item.run_id not in replayed]
    terminalreporter.section("tachograph replay")
    for line in diverged:
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"{len(replayed)} recordings replayed, {len(diverged)} differed")
    if left:
        terminalreporter.write_line(f"replayed by no test: {', '.join(left)}")
