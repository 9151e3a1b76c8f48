"""The state folder: its files, who may read them, and which data may be opened."""

import json
import os
from pathlib import Path

import pytest

from tachograph.deploy.data_version import require_version
from tachograph.deploy.disk import MIN_FREE_BYTES, require_room
from tachograph.deploy.errors import AlreadyRunning, DiskFull, StateDamaged, WrongVersion
from tachograph.deploy.lock import sole_owner
from tachograph.deploy.ports import Ports
from tachograph.deploy.process import ProcessId, identify
from tachograph.deploy.state import StackRecord, StateFolder
from tachograph.deploy.status import down, status

RECORD = StackRecord(
    ports=Ports(1, 2, 3, 4),
    versions={"kafka": "4.3.1"},
    started_at="2026-01-01T00:00:00+00:00",
    supervisor=ProcessId(1, "boot/1"),
    processes={"kafka": ProcessId(2, "boot/2"), "sink": None},
)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "home")
    folder.create()
    return folder


def test_a_record_is_read_back_as_written(state: StateFolder) -> None:
    """What `up` knows, `status` knows."""
    assert state.read() is None
    state.write(RECORD)
    assert state.read() == RECORD


def test_only_the_owner_may_read(state: StateFolder) -> None:
    """Folders are 0700 and files 0600, whatever the umask."""
    state.write(RECORD)
    state.write_env({"A": "b"})
    modes = {path.name: path.stat().st_mode & 0o777 for path in (state.home, *state.home.iterdir())}
    assert modes == {
        "home": 0o700,
        "kafka": 0o700,
        "clickhouse": 0o700,
        "logs": 0o700,
        "stack.json": 0o600,
        "stack.env": 0o600,
    }


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"ports": {"kafka_port": 1}}', "null"])
def test_a_damaged_record_is_named(state: StateFolder, text: str) -> None:
    """The sentence says which file to delete."""
    state.stack_json.write_text(text)
    with pytest.raises(StateDamaged, match=r"stack\.json.*delete"):
        state.read()


def test_a_folder_has_one_owner(state: StateFolder) -> None:
    """The second is refused and told who the first is; afterwards the folder is free again."""
    with sole_owner(state), pytest.raises(AlreadyRunning, match=f"process {os.getpid()}.*tachograph down"):
        sole_owner(state).__enter__()
    with sole_owner(state):
        pass


def test_a_recycled_pid_is_not_mistaken(state: StateFolder) -> None:
    """Our own pid with another start time is another process: not shown, and not killed."""
    state.write(StackRecord(RECORD.ports, {}, "", ProcessId(os.getpid(), "boot/0"), {"kafka": None}))
    found = status(state.home)
    assert (found.running, [part.running for part in found.parts]) == (False, [False])
    assert down(state.home) is False


def test_a_process_knows_itself() -> None:
    """This process lives, and a pid that cannot exist does not."""
    me = identify(os.getpid())
    assert me is not None
    assert me.alive
    assert identify(2**22 + 1) is None


def test_status_of_an_unused_folder(tmp_path: Path) -> None:
    """Looking creates nothing."""
    found = status(tmp_path / "nothing")
    assert (found.running, list(found.parts), found.started_at) == (False, [], None)
    assert not (tmp_path / "nothing").exists()
    assert down(tmp_path / "nothing") is False


def test_a_nearly_full_disk_is_refused(tmp_path: Path) -> None:
    """At the limit it starts; one byte below it says how much is missing and what to do."""
    require_room(tmp_path, lambda _folder: MIN_FREE_BYTES)
    with pytest.raises(DiskFull, match=r"only 1023 MiB are free.*TACHOGRAPH_HOME"):
        require_room(tmp_path, lambda _folder: MIN_FREE_BYTES - 1)


class TestDataVersion:
    def test_a_new_folder_is_stamped_and_opens_again(self, tmp_path: Path) -> None:
        require_version(tmp_path, "kafka", "4.3.1")
        require_version(tmp_path, "kafka", "4.3.1")
        require_version(tmp_path, "kafka", "4.4.0")
        assert json.loads((tmp_path / "VERSION").read_text()) == {"layout": 1, "server": "kafka", "version": "4.4.0"}

    @pytest.mark.parametrize(
        ("stamp", "says"),
        [
            pytest.param({"layout": 1, "server": "kafka", "version": "3.9.1"}, "3.9.1", id="another major version"),
            pytest.param({"layout": 1, "server": "kafka", "version": "4.10.0"}, "4.10.0", id="a newer version"),
            pytest.param({"layout": 1, "server": "clickhouse", "version": "4.3.1"}, "clickhouse", id="another server"),
            pytest.param({"layout": 2, "server": "kafka", "version": "4.3.1"}, "layout 2", id="another layout"),
            pytest.param({"layout": 1}, "not readable", id="half a stamp"),
            pytest.param([], "not readable", id="no stamp at all"),
        ],
    )
    def test_foreign_data_is_refused_and_left_alone(self, tmp_path: Path, stamp: object, says: str) -> None:
        text = json.dumps(stamp)
        (tmp_path / "VERSION").write_text(text)
        with pytest.raises(WrongVersion, match=f"{says}.*Nothing was changed.*move"):
            require_version(tmp_path, "kafka", "4.3.1")
        assert (tmp_path / "VERSION").read_text() == text

    def test_files_without_a_stamp_are_not_ours(self, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        with pytest.raises(WrongVersion, match="not ours"):
            require_version(tmp_path, "kafka", "4.3.1")
        assert not (tmp_path / "VERSION").exists()
