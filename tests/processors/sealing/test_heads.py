"""Heads of all logs, and who is told of them."""

import hashlib
import json
import shutil
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tachograph.processors.sealing.anchors import FileAnchor, open_anchors
from tachograph.processors.sealing.anchors.rfc3161 import Rfc3161Anchor
from tachograph.processors.sealing.errors import AnchorError
from tachograph.processors.sealing.heads import HeadsBook, closed_minute, heads_row, sign_heads
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.proofs import HeadOfLog, Heads, NoteError, open_heads
from tachograph.schemas.proofs.heads import heads_origin
from tachograph.schemas.settings import load_settings
from tests.processors.sealing.events import CODEC, sealer
from tests.processors.sealing.logs import FIRST, KEYS, SIGNER
from tests.processors.sealing.test_partition import refunds

MINUTE = datetime(2026, 5, 9, 9, 31, tzinfo=UTC)
LOGS = (HeadOfLog("acme/0", 3, b"\x01" * 32), HeadOfLog("acme/1", 5, b"\x02" * 32))
HEADS = Heads("acme", MINUTE, LOGS)
NOTE, _ = sign_heads(HEADS, KEYS, SIGNER)
TRUSTED = [FIRST.note_key(heads_origin("acme"))]


class TestRecord:
    def test_it_is_read_as_it_was_written(self) -> None:
        """Every log, its size and root, and the minute."""
        found, opened = open_heads(NOTE, TRUSTED, tenant_id="acme")
        assert (found, opened.signed_by) == (HEADS, tuple(TRUSTED))

    def test_its_text(self) -> None:
        """The first three lines are those of a C2SP checkpoint over the lines below."""
        leaves = [hashlib.sha256(b"\0" + log.line().encode()).digest() for log in LOGS]
        assert HEADS.text().splitlines() == [
            "tachograph/acme/heads",
            "2",
            b64encode(hashlib.sha256(b"\x01" + leaves[0] + leaves[1]).digest()).decode(),
            "minute 2026-05-09T09:31:00Z",
            f"log acme/0 3 {'AQEB' * 10}AQE=",
            f"log acme/1 5 {'AgIC' * 10}AgI=",
        ]

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda text: text.replace("log acme/1", "log acme/2"), id="another log"),
            pytest.param(lambda text: "\n".join(text.splitlines()[:-1]) + "\n", id="a log left out"),
            pytest.param(lambda text: text.replace("log acme/0 3", "log acme/0 03"), id="another spelling"),
            pytest.param(lambda text: text.replace("minute", "hour"), id="no minute"),
            pytest.param(lambda text: text.replace("tachograph/acme", "tachograph/other"), id="another tenant"),
            pytest.param(lambda text: "\n".join(text.splitlines()[:4]) + "\n", id="no log"),
        ],
    )
    def test_a_text_that_does_not_hold_together(self, change: object) -> None:
        """Signed by the right key, and still refused."""
        from tachograph.schemas.proofs.note import sign_note  # noqa: PLC0415 - here alone

        text = change(HEADS.text())  # type: ignore[operator]
        note = sign_note(text, [(TRUSTED[0], lambda message: SIGNER.sign("key-1", message))])
        with pytest.raises(NoteError):
            open_heads(note, TRUSTED, tenant_id="acme")

    def test_one_bit_and_it_is_nothing(self) -> None:
        """A change after signing."""
        with pytest.raises(NoteError):
            open_heads(NOTE.replace("acme/0 3", "acme/0 4"), TRUSTED, tenant_id="acme")


class TestBook:
    def test_what_is_new_is_said_once(self) -> None:
        """A tenant whose logs have not grown is left out; one that restarts knows what was said."""
        at_work, events = sealer(), refunds(4)
        first = at_work.take(events.messages[:8])
        rows = [CODEC.decode_as("rows.checkpoints", m.value) for m in at_work.checkpoints(first.touched)]
        book = HeadsBook(lambda: KEYS)
        assert all(book.checkpoint(row) for row in rows)
        (heads,) = book.due(MINUTE)
        assert (heads.tenant_id, [(log.log_id, log.size) for log in heads.logs]) == ("acme", [("acme/0", 1)])
        book.published(heads)
        assert book.due(MINUTE + timedelta(minutes=1)) == []
        note, key_id = sign_heads(heads, KEYS, SIGNER)
        restarted = HeadsBook(lambda: KEYS)
        assert all(restarted.checkpoint(row) for row in rows)
        assert restarted.said(heads_row(heads, note, key_id, []))
        assert restarted.due(MINUTE) == []
        rest = at_work.take(events.messages[8:])
        for message in at_work.checkpoints(rest.touched):
            restarted.checkpoint(CODEC.decode_as("rows.checkpoints", message.value))
        assert [heads.tenant_id for heads in restarted.due(MINUTE)] == ["acme", "globex"]

    def test_what_nobody_signed_is_not_counted(self) -> None:
        """Neither a checkpoint nor a heads record."""
        book = HeadsBook(lambda: KEYS)
        assert not book.checkpoint({"log_id": "acme/0", "tenant_id": "acme", "note": "no note"})
        assert not book.said({"tenant_id": "acme", "note": NOTE.replace("acme/1 5", "acme/1 6")})
        assert book.due(MINUTE) == []

    def test_the_minute_that_is_over(self) -> None:
        """By the wall's clock, in whole minutes."""
        assert closed_minute(MINUTE.timestamp() + 59.9, 60) == MINUTE - timedelta(minutes=1)
        assert closed_minute(MINUTE.timestamp() + 60, 60) == MINUTE


class TestFileAnchor:
    def test_lines_are_appended(self, tmp_path: Path) -> None:
        """One for each note, with its hash, for the owner alone."""
        anchor = FileAnchor(tmp_path / "far" / "heads.jsonl")
        for _ in range(2):
            assert anchor.anchor(HEADS, NOTE).kind == "file"
        path = tmp_path / "far" / "heads.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["note"] for line in lines] == [NOTE, NOTE]
        assert lines[0]["sha256"] == hashlib.sha256(NOTE.encode()).hexdigest()
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_line_that_a_power_cut_left(self, tmp_path: Path) -> None:
        """It spoils no other."""
        path = tmp_path / "heads.jsonl"
        path.write_text('{"cut": ')
        FileAnchor(path).anchor(HEADS, NOTE)
        assert json.loads(path.read_text().splitlines()[1])["note"] == NOTE

    def test_a_disk_that_does_not_take_it(self, tmp_path: Path) -> None:
        """Typed, with the reason."""
        (tmp_path / "file").write_text("")
        with pytest.raises(AnchorError, match="cannot be written"):
            FileAnchor(tmp_path / "file" / "heads.jsonl").anchor(HEADS, NOTE)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A time-stamping authority on loopback: OpenSSL answers, with a certificate of ours. Its address and root."""
    if shutil.which("openssl") is None:
        pytest.skip("the test's authority answers by `openssl ts`, and there is no openssl")
    folder = tmp_path_factory.mktemp("tsa")
    _certificates(folder)

    class Authority(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["content-length"]))
            body = b"not a token" if self.path == "/rubbish" else _reply(folder, query)
            self.send_response(503 if self.path == "/down" else 200)
            self.send_header("content-type", "application/timestamp-reply")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Authority)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", folder / "root.pem"
    server.shutdown()
    thread.join()
    server.server_close()


def _certificates(folder: Path) -> None:
    now = datetime.now(UTC)
    keys = {name: rsa.generate_private_key(65537, 2048) for name in ("root", "tsa")}
    names = {name: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in keys}
    for name, key in keys.items():
        builder = (
            x509.CertificateBuilder()
            .subject_name(names[name])
            .issuer_name(names["root"])
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=name == "root", path_length=None), critical=True)
        )
        if name == "tsa":
            builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
        made = builder.sign(keys["root"], hashes.SHA256())
        (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "tsa.key").write_bytes(
        keys["tsa"].private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(
        "[tsa]\ndefault_tsa = ours\n[ours]\n"
        f"serial = {folder}/serial\nsigner_cert = {folder}/tsa.pem\nsigner_key = {folder}/tsa.key\n"
        "signer_digest = sha256\ndefault_policy = 1.2.3.4.1\ndigests = sha256\nordering = no\ntsa_name = no\n"
    )


def _reply(folder: Path, query: bytes) -> bytes:
    (folder / "query").write_bytes(query)
    asked = ["openssl", "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-out", "reply"]
    subprocess.run(asked, cwd=folder, check=True, capture_output=True)
    return (folder / "reply").read_bytes()


class TestTimeStamps:
    def test_a_token_that_verifies_against_the_root(self, authority: tuple[str, Path]) -> None:
        """Hash, nonce and signature of the authority."""
        receipt = Rfc3161Anchor(authority[0], root=authority[1]).anchor(HEADS, NOTE)
        assert receipt.kind == "rfc3161"
        assert hashlib.sha256(NOTE.encode()).digest() in receipt.token
        assert NOTE.encode() not in receipt.token

    def test_an_authority_that_is_not_the_one_we_know(self, authority: tuple[str, Path], tmp_path: Path) -> None:
        """Another root than that of its certificate."""
        _certificates(tmp_path)
        with pytest.raises(AnchorError, match="does not verify"):
            Rfc3161Anchor(authority[0], root=tmp_path / "root.pem").anchor(HEADS, NOTE)

    @pytest.mark.parametrize("path", ["/rubbish", "/down"])
    def test_an_authority_that_is_not_well(self, authority: tuple[str, Path], path: str) -> None:
        """An error page or rubbish is no token."""
        with pytest.raises(AnchorError):
            Rfc3161Anchor(authority[0] + path).anchor(HEADS, NOTE)

    def test_an_authority_that_is_down(self) -> None:
        """Nobody listens there."""
        with pytest.raises(AnchorError, match="did not answer"):
            Rfc3161Anchor("http://127.0.0.1:1/tsr", timeout_s=2).anchor(HEADS, NOTE)

    def test_settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The file is always there; the authority and plug-ins as they are named."""
        assert [anchor.kind for anchor in open_anchors(load_settings(tmp_path))] == ["file"]
        monkeypatch.setenv("TACHOGRAPH_ANCHORS__RFC3161_URL", "http://127.0.0.1:1/tsr")
        assert [anchor.kind for anchor in open_anchors(load_settings(tmp_path))] == ["file", "rfc3161"]
        monkeypatch.setenv("TACHOGRAPH_ANCHORS__PLUGINS", '["nobody"]')
        with pytest.raises(ConfigError, match="nobody"):
            open_anchors(load_settings(tmp_path))
