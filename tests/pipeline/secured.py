"""Servers that ask who is there: a Kafka broker that speaks TLS, and a ClickHouse behind a TLS door."""

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from tachograph.deploy.clickhouse import ClickHouseServer
from tachograph.deploy.jars import ensure_jars
from tachograph.deploy.kafka import KafkaServer
from tachograph.deploy.ports import LOOPBACK, choose_ports
from tachograph.deploy.stack import stack_env
from tachograph.deploy.state import StateFolder
from tachograph.deploy.supervisor import Supervisor
from tachograph.schemas.settings import load_settings

USER, PASSWORD = "agent-fleet", "canary-password"
KEY_PASSWORD = "canary-key-password"
START_TIMEOUT_S = 60.0


class Authority:
    """Signs certificates for loopback."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(self._name, self._key.public_key(), is_authority=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, password: str = "") -> tuple[Path, Path]:
        """Files of a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key.public_key(), is_authority=False)
        hidden: KeySerializationEncryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        paths = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
        paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden))
        return paths

    def _signed(self, subject: x509.Name, public: ec.EllipticCurvePublicKey, *, is_authority: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        names = [x509.IPAddress(ip_address(LOOPBACK)), x509.DNSName("localhost")]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )


@dataclass(frozen=True)
class Secured:
    """Where the secured servers are."""

    home: Path
    """State folder whose settings reach them with user and password."""
    authority: Authority
    mutual_port: int
    """Port of a listener that asks for a certificate."""


@contextlib.contextmanager
def secured_servers(home: Path) -> Iterator[Secured]:
    """A broker with three listeners (plain, TLS with a user, TLS with certificates) and a ClickHouse behind TLS."""
    state = StateFolder(home)
    state.create()
    authority = Authority(home / "tls")
    ports, more = choose_ports(load_settings(home=home).local), choose_ports(load_settings(home=home).local)
    kafka, clickhouse = KafkaServer(state, ports, ensure_jars(None)), ClickHouseServer(state, ports)
    supervisor = Supervisor(lambda _event: None)
    with contextlib.ExitStack() as stack:
        stack.callback(supervisor.stop)
        for server in (clickhouse, kafka):
            server.prepare()
            if server is kafka:
                properties = state.kafka / "server.properties"
                listeners = _listeners(ports.kafka_port, ports.controller_port, more.kafka_port, more.controller_port)
                with properties.open("a") as file:
                    file.write("\n".join([*listeners, *_security(authority), ""]))
            supervisor.start(server.child())
        deadline = time.monotonic() + START_TIMEOUT_S
        while not (kafka.ready() and clickhouse.ready()):
            assert time.monotonic() < deadline, "the secured servers did not start"
            assert all(supervisor.processes().values()), state.log("kafka.out").read_text()[-2000:]
        _create_user(kafka.bootstrap_servers)
        door = stack.enter_context(tls_door(authority, ports.clickhouse_http_port))
        state.write_env(
            stack_env(f"{LOOPBACK}:{more.kafka_port}", door, clickhouse)
            | {
                "TACHOGRAPH_KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
                "TACHOGRAPH_KAFKA__SSL_CA": str(authority.file),
                "TACHOGRAPH_KAFKA__SASL_USERNAME": USER,
                "TACHOGRAPH_KAFKA__SASL_PASSWORD": PASSWORD,
                "TACHOGRAPH_CLICKHOUSE__SECURE": "true",
                "TACHOGRAPH_CLICKHOUSE__CA": str(authority.file),
            }
        )
        yield Secured(home, authority, more.controller_port)


def _listeners(plain: int, controller: int, users: int, mutual: int) -> list[str]:
    ours = f"PLAINTEXT://{LOOPBACK}:{plain},USERS://{LOOPBACK}:{users},MUTUAL://{LOOPBACK}:{mutual}"
    return [
        f"listeners={ours},CONTROLLER://{LOOPBACK}:{controller}",
        f"advertised.listeners={ours}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_SSL,MUTUAL:SSL",
        "inter.broker.listener.name=PLAINTEXT",
    ]


def _security(authority: Authority) -> list[str]:
    certificate, key = authority.issue("broker")
    both = certificate.with_name("broker-both.pem")
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    return [
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={both}",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={authority.file}",
        "listener.name.mutual.ssl.client.auth=required",
        "listener.name.users.sasl.enabled.mechanisms=SCRAM-SHA-512",
        f"listener.name.users.scram-sha-512.sasl.jaas.config={scram}",
    ]


def _create_user(plain: str) -> None:
    admin = AdminClient({"bootstrap.servers": plain})
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    user = UserScramCredentialUpsertion(USER, credential, PASSWORD.encode())
    for future in admin.alter_user_scram_credentials([user]).values():
        future.result(30)


@contextlib.contextmanager
def tls_door(authority: Authority, port: int) -> Iterator[int]:
    """A door that speaks TLS, in front of a server on loopback that does not. Its port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.issue("clickhouse"))
    loop, opened = asyncio.new_event_loop(), threading.Event()
    found: list[int] = []

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(LOOPBACK, port)
        await asyncio.gather(forward(reader, behind_writer), forward(behind_reader, writer))

    async def run() -> None:
        server = await asyncio.start_server(serve, LOOPBACK, 0, ssl=context)
        found.append(server.sockets[0].getsockname()[1])
        opened.set()
        await stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert opened.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
