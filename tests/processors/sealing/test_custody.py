"""Where private keys are: a file, a process behind a socket, a key service. Nothing else gets a signature."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tachograph.processors.catalog import CatalogError
from tachograph.processors.sealing import CustodyError, KeyFile, LogHead, checkpoint, seal
from tachograph.processors.sealing.custodians import open_signer
from tachograph.processors.sealing.custody import Signer, WatchedKeyFile
from tachograph.processors.sealing.errors import RotationError
from tachograph.processors.sealing.key_set import KeySetFile, create_keys, key_file_of, key_set_of, read_key_set
from tachograph.processors.sealing.kms import KmsSigner
from tachograph.processors.sealing.rotation import NOTICE, revoke_key, rotate_key
from tachograph.processors.sealing.signer import SocketSigner, answer, may_be_signed, peer_uid, serve_signer
from tachograph.schemas.proofs.chain import signed_message
from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.keys import Basis, KeyNotEffectiveError, micros
from tachograph.schemas.settings import Settings, load_settings
from tests.processors.decisions.proposals import proposal
from tests.processors.sealing.logs import KEYS, SIGNER, START, judged

RECORD = signed_message("sha256:" + "ab" * 32)
NOW = datetime(2026, 5, 1, tzinfo=UTC)


@contextmanager
def signing(path: Path, signer: Signer = SIGNER) -> Iterator[None]:
    """A signing process, as a thread."""
    stop, ready = threading.Event(), threading.Event()
    thread = threading.Thread(target=serve_signer, args=(path, signer), kwargs={"stop": stop, "ready": ready.set})
    thread.start()
    try:
        assert ready.wait(10)
        yield
    finally:
        stop.set()
        thread.join()


class TestSigningProcess:
    def test_records_and_notes_are_signed_over_the_socket(self, tmp_path: Path) -> None:
        """The same bytes as with the key in hand."""
        with signing(tmp_path / "s"):
            remote = SocketSigner(tmp_path / "s")
            here, there = (
                seal(LogHead("acme/0"), proposal(), judged(), keys=KEYS, signer=signer, append_time=START)
                for signer in (SIGNER, remote)
            )
            assert here == there
            notes = [checkpoint(here.head, keys=KEYS, signer=signer) for signer in (SIGNER, remote)]
            assert notes[0] == notes[1]
            remote.close()

    def test_the_socket_is_its_owners(self, tmp_path: Path) -> None:
        """Mode 0600, gone when the process ends; the kernel says who is at the other end."""
        path = tmp_path / "s"
        with signing(path):
            assert path.stat().st_mode & 0o777 == 0o600
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(path))
                assert peer_uid(connection) == os.geteuid()
        assert not path.exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
    def test_another_user_gets_no_answer(self, tmp_path: Path) -> None:
        """Even where the socket can be opened, the peer is checked."""
        path = tmp_path / "s"
        with signing(path):
            path.chmod(0o666)
            for folder in (tmp_path, *tmp_path.parents[:3]):
                folder.chmod(folder.stat().st_mode | 0o711)
            asks = (
                "import os, socket, sys; os.setuid(int(sys.argv[2]));"
                "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
                's.sendall(b\'{"op": "public", "key_id": "key-1"}\\n\'); sys.stdout.write(repr(s.recv(999)))'
            )
            mine, theirs = (
                subprocess.run(
                    [sys.executable, "-c", asks, str(path), user], capture_output=True, check=False, text=True
                )
                for user in ("0", "65534")
            )
        assert SIGNER.public("key-1") in mine.stdout
        assert SIGNER.public("key-1") not in theirs.stdout + theirs.stderr
        assert theirs.stdout == "b''" or "BrokenPipe" in theirs.stderr or "ConnectionReset" in theirs.stderr

    def test_a_socket_of_another_is_not_trusted(self, tmp_path: Path) -> None:
        """The sealer checks its peer too."""
        with signing(tmp_path / "s"), pytest.raises(CustodyError, match="another user"):
            SocketSigner(tmp_path / "s", owner=os.geteuid() + 1).public("key-1")

    @pytest.mark.parametrize(
        ("message", "may"),
        [
            pytest.param(RECORD, True, id="a record"),
            pytest.param(b"tachograph/acme/0\n1\nAAAA\n", True, id="a checkpoint"),
            pytest.param(RECORD + b"x", False, id="more than a record"),
            pytest.param(b"pay mallory\n", False, id="any text"),
            pytest.param(b"tachograph/a\0\n", False, id="a note with a NUL"),
            pytest.param(b"", False, id="nothing"),
        ],
    )
    def test_only_what_sealing_signs_is_signed(self, message: bytes, may: bool) -> None:
        """Who holds the socket cannot have other things signed."""
        assert may_be_signed(message) is may
        said = answer(SIGNER, json.dumps({"op": "sign", "key_id": "key-1", "message": to_base64(message)}).encode())
        assert ("signature" in said) is may

    @pytest.mark.parametrize(
        "line", [b"", b"{}", b"[1]", b'{"op": "sign", "key_id": "x"}', b'{"op":"dump","key_id":1}']
    )
    def test_a_request_it_does_not_know(self, line: bytes) -> None:
        """A sentence, and no key."""
        assert set(answer(SIGNER, line)) == {"error"}

    def test_a_process_that_does_not_answer(self, tmp_path: Path) -> None:
        """The sealer stops, and says what to start."""
        with pytest.raises(CustodyError, match="tachograph signer"):
            SocketSigner(tmp_path / "none").public("key-1")

    def test_a_process_that_was_restarted(self, tmp_path: Path) -> None:
        """The next signature is asked of the new one."""
        remote = SocketSigner(tmp_path / "s")
        for _ in range(2):
            with signing(tmp_path / "s"):
                assert remote.sign("key-1", RECORD) == SIGNER.sign("key-1", RECORD)
        remote.close()

    def test_something_else_is_there(self, tmp_path: Path) -> None:
        """A file is not removed, and a living process is not pushed aside."""
        (tmp_path / "f").write_text("mine")
        with pytest.raises(CustodyError, match="something else"):
            serve_signer(tmp_path / "f", SIGNER, stop=threading.Event())
        with signing(tmp_path / "s"), pytest.raises(CustodyError, match="already"):
            serve_signer(tmp_path / "s", SIGNER, stop=threading.Event())

    def test_a_key_it_does_not_hold(self, tmp_path: Path) -> None:
        """The refusal says so."""
        remote = SocketSigner(tmp_path / "s")
        with signing(tmp_path / "s"), pytest.raises(CustodyError, match="does not hold key-9"):
            remote.sign("key-9", RECORD)
        remote.close()


class Service:
    """A key service with a key of its own, or one that misbehaves."""

    def __init__(self, *, bad: bool = False, down: bool = False) -> None:
        self._held = KeyFile({"k": b"\x01" * 32})
        self._bad, self._down = bad, down

    def public_key(self, key: str) -> bytes:
        if self._down:
            raise ConnectionError(key)
        return from_base64(self._held.public(key))

    def sign(self, key: str, message: bytes) -> bytes:
        if self._down:
            raise ConnectionError(key)
        return self._held.sign(key, message[:-1] if self._bad else message)


class TestKeyService:
    def test_a_service_fits_the_seam(self) -> None:
        """Two calls are enough to seal."""
        signer = KmsSigner(Service(), {"key-1": "k"})
        made = seal(LogHead("acme/0"), proposal(), judged(), keys=KEYS, signer=signer, append_time=START)
        assert made == seal(LogHead("acme/0"), proposal(), judged(), keys=KEYS, signer=SIGNER, append_time=START)
        assert "k" in repr(signer)

    def test_a_signature_that_does_not_verify_never_goes_out(self) -> None:
        """A service that signs something else, such as a hash of it, is found out at once."""
        with pytest.raises(CustodyError, match="does not verify"):
            KmsSigner(Service(bad=True), {"key-1": "k"}).sign("key-1", RECORD)

    def test_a_service_that_is_down(self) -> None:
        """Sealing stops; nothing unsigned goes out."""
        with pytest.raises(CustodyError, match="did not show"):
            KmsSigner(Service(down=True), {"key-1": "k"}).public("key-1")
        with pytest.raises(CustodyError, match="no name"):
            KmsSigner(Service(), {}).public("key-1")


class TestKeySets:
    @pytest.fixture
    def made(self, tmp_path: Path) -> Settings:
        """A machine with its first key."""
        settings = load_settings(tmp_path)
        assert create_keys(settings, key_id="first", now=NOW)
        return settings

    def test_a_first_key_is_made_once(self, made: Settings) -> None:
        """0600, with its public half beside it, from the oldest event that can wait; then never again."""
        assert key_file_of(made).stat().st_mode & 0o777 == 0o600
        (key,) = read_key_set(key_set_of(made)).keys
        assert (key.key_id, key.effective_from) == ("first", NOW - timedelta(days=7))
        assert create_keys(made) is False
        key_file_of(made).unlink()
        with pytest.raises(CustodyError, match="bring back"):
            create_keys(made)

    def test_rotation_is_signed_by_the_outgoing_key(self, made: Settings) -> None:
        """Both keys are held, the windows meet, and a signer that was running finds the new one."""
        running = WatchedKeyFile(key_file_of(made))
        moment = NOW + timedelta(hours=1)
        added = rotate_key(key_file_of(made), key_set_of(made), "second", moment, NOW)
        keys = read_key_set(key_set_of(made))
        assert [(key.key_id, key.effective_until) for key in keys.keys] == [("first", moment), ("second", None)]
        assert (added.introduced_by, keys.at(micros(moment)).key_id) == ("first", "second")
        assert running.public("second") == added.public_key
        assert key_file_of(made).stat().st_mode & 0o777 == 0o600

    def test_a_rotation_must_lie_ahead(self, made: Settings) -> None:
        """A sealer must hear of a key before it counts, or it would sign with the one before."""
        files = key_file_of(made), key_set_of(made)
        before = files[0].read_text(), files[1].read_text()
        with pytest.raises(RotationError, match="earliest"):
            rotate_key(*files, "second", NOW + NOTICE - timedelta(seconds=1), NOW)
        assert (files[0].read_text(), files[1].read_text()) == before

    def test_an_id_is_used_once(self, made: Settings) -> None:
        """Two keys of one id could not be told apart."""
        with pytest.raises(CustodyError, match="already"):
            rotate_key(key_file_of(made), key_set_of(made), "first", NOW + timedelta(hours=1), NOW)

    def test_a_revoked_key_seals_no_more_and_its_history_counts(self, made: Settings) -> None:
        """From the moment on there is no key; before it, the basis says that it was revoked since."""
        revoke_key(key_set_of(made), "first", NOW)
        keys = read_key_set(key_set_of(made))
        with pytest.raises(KeyNotEffectiveError):
            keys.at(micros(NOW))
        assert keys.basis(keys.keys[0], micros(NOW) - 1) is Basis.REVOKED_SINCE
        with pytest.raises(RotationError, match="no key"):
            revoke_key(key_set_of(made), "other", NOW)

    def test_a_key_can_be_replaced_and_then_revoked(self, made: Settings) -> None:
        """The way out of a compromise: the next key takes over, and the old one is revoked after that."""
        moment = NOW + timedelta(hours=1)
        rotate_key(key_file_of(made), key_set_of(made), "second", moment, NOW)
        with pytest.raises(RotationError, match="after its successor"):
            revoke_key(key_set_of(made), "first", NOW)
        revoke_key(key_set_of(made), "first", moment + timedelta(seconds=1))
        keys = read_key_set(key_set_of(made))
        assert keys.at(micros(moment)).key_id == "second"
        assert keys.basis(keys.keys[0], micros(NOW)) is Basis.REVOKED_SINCE

    def test_a_set_in_use_may_grow_and_nothing_else(self, made: Settings) -> None:
        """A sealer takes a rotation up; a set that begins anew stops it."""
        watched = KeySetFile(key_set_of(made))
        assert [key.key_id for key in watched.read().keys] == ["first"]
        rotate_key(key_file_of(made), key_set_of(made), "second", NOW + timedelta(hours=1), NOW)
        assert [key.key_id for key in watched.read().keys] == ["first", "second"]
        key_file_of(made).unlink()
        key_set_of(made).unlink()
        assert create_keys(made, key_id="another")
        with pytest.raises(CustodyError, match="does not extend"):
            watched.read()

    def test_no_key_set(self, tmp_path: Path) -> None:
        """The sentence says how to make one."""
        with pytest.raises(CatalogError, match="tachograph keys create"):
            read_key_set(tmp_path / "none.yaml")

    def test_custody_that_nobody_offers(self, made: Settings) -> None:
        """A misspelt custodian is named."""
        changed = made.model_copy(update={"sealer": made.sealer.model_copy(update={"custody": "vault"})})
        with pytest.raises(CustodyError, match="vault"):
            open_signer(changed)
