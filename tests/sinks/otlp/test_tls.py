"""Over TLS: the collector is checked, and may check us."""

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tachograph.schemas.settings import OtlpSettings
from tachograph.sinks.otlp import targets
from tachograph.sinks.otlp.post import Answer, HttpPost
from tachograph.sinks.otlp.requests import Exported, Item, request_of
from tests.sinks.otlp.collector import collector

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
BODY = request_of(Exported.TRACES, [Item((), Span(name="x"))], "1", "")


@dataclass(frozen=True)
class Pair:
    """A certificate that signs itself, and its key."""

    certificate: Path
    key: Path


def made(folder: Path, name: str) -> Pair:
    now, key = dt.datetime.now(dt.UTC), ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pair


def answered(url: str, **settings: Path) -> Answer:
    with HttpPost(targets(OtlpSettings(endpoint=url, **settings), {})) as post:
        return post(Exported.TRACES, BODY)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached directly."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_collector_shows_who_it_is(tmp_path: Path) -> None:
    """Its certificate is checked with the one that is set; without it nothing is sent."""
    theirs = made(tmp_path, "theirs")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(theirs.certificate, theirs.key)
    with collector(tls=context) as receiver:
        assert answered(receiver.url, certificate=theirs.certificate).status == 200
        assert len(receiver.spans) == 1
        refused = answered(receiver.url)
        assert (refused.status, refused.reason) == (None, "cannot be reached (ConnectError)")
        assert len(receiver.paths) == 1


def test_we_show_who_we_are(tmp_path: Path) -> None:
    """To a collector that asks for it; whoever shows nothing gets no answer."""
    theirs, ours = made(tmp_path, "theirs"), made(tmp_path, "ours")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(theirs.certificate, theirs.key)
    context.load_verify_locations(ours.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    with collector(tls=context) as receiver:
        shown = answered(
            receiver.url, certificate=theirs.certificate, client_certificate=ours.certificate, client_key=ours.key
        )
        assert shown.status == 200
        assert answered(receiver.url, certificate=theirs.certificate).status is None
        assert len(receiver.spans) == 1
