"""`tachograph keys` and `tachograph signer`, from the outside."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from tachograph.console.cli.app import app
from tachograph.processors.sealing import KeyFile
from tachograph.processors.sealing.errors import RotationError
from tachograph.processors.sealing.signer import SocketSigner
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.proofs.chain import signed_message
from tests.console.test_recorder_commands import tachograph


def keys(home: Path, *arguments: str) -> Result:
    """The command in this process: starting Python nine times takes longer than all it does."""
    return CliRunner().invoke(app, ["keys", *arguments], env={"TACHOGRAPH_HOME": str(home)})


def test_create_rotate_revoke_and_show(tmp_path: Path) -> None:
    """A key of 0600, a successor that it signs for, a revocation; and what an auditor needs, as JSON."""
    assert keys(tmp_path, "create").exit_code == 0
    assert (tmp_path / "keys" / "sealing.key").stat().st_mode & 0o777 == 0o600
    before = (tmp_path / "keys" / "sealing.key").read_bytes()
    assert keys(tmp_path, "create").exit_code == 0
    assert (tmp_path / "keys" / "sealing.key").read_bytes() == before
    assert keys(tmp_path, "rotate", "second", "--in", "600").exit_code == 0
    first, second = json.loads(keys(tmp_path, "show", "--json").stdout)["keys"]
    assert (second["key_id"], second["introduced_by"]) == ("second", first["key_id"])
    assert first["effective_until"] == second["effective_from"]
    assert isinstance(keys(tmp_path, "revoke", first["key_id"]).exception, RotationError)
    assert keys(tmp_path, "revoke", "second").exit_code == 0
    assert json.loads(keys(tmp_path, "show", "--json").stdout)["version"] == "1.0.2"
    assert "second" in keys(tmp_path, "show").stdout


def test_no_key_set_says_what_to_do(tmp_path: Path) -> None:
    """A wrong setting, and how to mend it."""
    answer = keys(tmp_path, "show")
    assert isinstance(answer.exception, ConfigError)
    assert "tachograph keys create" in str(answer.exception)


def test_a_key_file_that_others_can_open_is_refused(tmp_path: Path) -> None:
    """A sentence that says what to type, no traceback, exit code 1."""
    keys(tmp_path, "create")
    (tmp_path / "keys" / "sealing.key").chmod(0o644)
    answer = tachograph("--home", str(tmp_path), "signer")
    assert (answer.returncode, "chmod 600" in answer.stderr, "Traceback" in answer.stderr) == (1, True, False)


def test_the_signer_signs_over_its_socket(tmp_path: Path) -> None:
    """A process of its own, ended by SIGTERM; its socket is gone afterwards."""
    keys(tmp_path, "create")
    held, path = KeyFile.load(tmp_path / "keys" / "sealing.key"), tmp_path / "keys" / "signer.sock"
    command = [sys.executable, "-m", "tachograph.console.main", "--home", str(tmp_path), "signer"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        try:
            assert any("answering on" in line for line in process.stderr)
            remote, message = SocketSigner(path), signed_message("sha256:" + "ab" * 32)
            assert remote.sign(held.key_ids[0], message) == held.sign(held.key_ids[0], message)
            remote.close()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not path.exists()
