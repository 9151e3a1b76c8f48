"""A signing process: private keys in one process, the sealer in another, a Unix socket between them.

The kernel says who is at the other end (``SO_PEERCRED``), and only users that are allowed get an answer. What may be
signed is what sealing signs: a record's hash, a note of one of our logs, the introduction of a next key. Anything else
is refused, so that who holds the socket cannot have other things signed with the key.

One request and one answer a line, in JSON: ``{"op": "sign", "key_id": …, "message": base64}`` gives
``{"signature": base64}``; ``{"op": "public", "key_id": …}`` gives ``{"public": base64}``; a refusal ``{"error": …}``.
"""

import contextlib
import json
import logging
import os
import socket
import socketserver
import stat
import struct
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from tachograph.processors.sealing.custody import Signer
from tachograph.processors.sealing.errors import CustodyError
from tachograph.schemas.proofs.chain import RECORD_CONTEXT
from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.errors import NoteError
from tachograph.schemas.proofs.keys import KEY_CONTEXT
from tachograph.schemas.proofs.note import MAX_NOTE_BYTES

log = logging.getLogger(__name__)

_NOTE: Final = b"tachograph/"
_RECORD_BYTES: Final = len(RECORD_CONTEXT) + 32
_MAX_LINE: Final = 2 * MAX_NOTE_BYTES
_CREDENTIALS: Final = struct.Struct("3i")
_TIMEOUT_S: Final = 10.0


def may_be_signed(message: bytes) -> bool:
    """Whether a message is one of the three that sealing signs."""
    if message.startswith(RECORD_CONTEXT):
        return len(message) == _RECORD_BYTES
    if message.startswith(KEY_CONTEXT):
        return len(message) <= MAX_NOTE_BYTES
    return message.startswith(_NOTE) and message.endswith(b"\n") and b"\0" not in message and len(message) <= _MAX_LINE


def peer_uid(connection: socket.socket) -> int:
    """User at the other end of a Unix socket, as the kernel knows it."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(packed)
    return int(uid)


def answer(signer: Signer, line: bytes) -> dict[str, str]:
    """What to say to one request. A refusal quotes nothing of it."""
    try:
        asked: Any = json.loads(line)
        key_id = str(asked["key_id"])
        if asked["op"] == "public":
            return {"public": signer.public(key_id)}
        message = from_base64(str(asked["message"]))
        if asked["op"] != "sign" or not may_be_signed(message):
            return {"error": "only record hashes, notes of our logs and introductions of keys are signed"}
        signer.public(key_id)  # says what to do if the key is not held
        return {"signature": to_base64(signer.sign(key_id, message))}
    except CustodyError as error:
        return {"error": str(error)}
    except (ValueError, KeyError, TypeError, NoteError):
        return {"error": "not a request that this process knows"}


def serve_signer(
    path: Path,
    signer: Signer,
    *,
    stop: threading.Event,
    allowed: Collection[int] = (),
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Answer on a socket until told to stop. ``allowed`` are users beside the one that runs this."""
    users = {os.geteuid(), *allowed}

    class Handler(socketserver.StreamRequestHandler):
        timeout = None

        def handle(self) -> None:
            if (uid := peer_uid(self.connection)) not in users:
                log.warning("signer: user %d was refused", uid)
                return
            while line := self.rfile.readline(_MAX_LINE + 1):
                if len(line) > _MAX_LINE:
                    return
                self.wfile.write(json.dumps(answer(signer, line)).encode() + b"\n")

    _make_way(path)
    # Others can only be let in by a socket that they can open; who they are is checked for each.
    before = os.umask(0o111 if allowed else 0o177)
    try:
        server = _Server(str(path), Handler)
    except OSError as error:
        raise CustodyError(f"the socket cannot be made ({error.strerror}): {path}") from None
    finally:
        os.umask(before)
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="signer", daemon=True)
        thread.start()
        log.info("signer: answering on %s", path)
        ready()
        stop.wait()
        server.shutdown()
        thread.join()
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class SocketSigner:
    """Signs by asking a signing process; asks again once if that was restarted. Used from one thread at a time."""

    def __init__(self, path: Path, *, owner: int | None = None) -> None:
        self._path = path
        self._owner = os.geteuid() if owner is None else owner
        self._connection: socket.socket | None = None
        self._answers: Any = None
        self._public: dict[str, str] = {}

    def public(self, key_id: str) -> str:
        """The public half, base64."""
        if key_id not in self._public:
            self._public[key_id] = self._ask({"op": "public", "key_id": key_id})["public"]
        return self._public[key_id]

    def sign(self, key_id: str, message: bytes) -> bytes:
        """An Ed25519 signature."""
        return from_base64(self._ask({"op": "sign", "key_id": key_id, "message": to_base64(message)})["signature"])

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._answers.close()
            self._connection.close()
        self._connection = None

    def _ask(self, request: dict[str, str]) -> dict[str, str]:
        line = json.dumps(request).encode() + b"\n"
        for attempt in (1, 2):
            try:
                if self._connection is None:
                    self._connect()
                assert self._connection is not None
                self._connection.sendall(line)
                said = self._answers.readline()
            except OSError:
                said = b""
            if said:
                break
            self.close()
            if attempt == 2:  # noqa: PLR2004 - the last
                raise CustodyError(f"the signing process does not answer: start `tachograph signer` ({self._path})")
        found: dict[str, str] = json.loads(said)
        if "error" in found:
            raise CustodyError(f"the signing process refused: {found['error']}")
        return found

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_TIMEOUT_S)
        try:
            connection.connect(str(self._path))
            known = peer_uid(connection) == self._owner
        except OSError:
            connection.close()
            raise
        if not known:
            connection.close()
            raise CustodyError(f"the socket is answered by another user than expected: {self._path}")
        self._connection, self._answers = connection, connection.makefile("rb")


def _make_way(path: Path) -> None:
    """Remove what a signer before us left. Anything but a socket of ours stays, and is an error."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise CustodyError(f"there is something else where the socket should be: {path}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
        probe.connect(str(path))
        raise CustodyError(f"a signing process answers there already: {path}")
    path.unlink()
