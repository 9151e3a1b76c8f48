"""A real Kafka broker on this machine: one KRaft node, from Maven's jars and PyPI's Java."""

import base64
import contextlib
import socket
import subprocess
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tachograph.deploy.child import Child
from tachograph.deploy.errors import ServerDied
from tachograph.deploy.java import java_binary
from tachograph.deploy.kafka_config import LOG4J2, server_properties
from tachograph.deploy.ports import LOOPBACK, Ports
from tachograph.deploy.state import StateFolder, write_private

# 324 MB were resident after a start with this limit; load was not measured. The default is a quarter of the machine.
_HEAP = "-Xmx512m"
# Formatting took 1.3 s.
_FORMAT_TIMEOUT_S = 60.0
# One look at the broker; the caller looks again until its own deadline.
_LOOK_S = 2.0


class KafkaServer:
    """The broker of one state folder."""

    name = "kafka"

    def __init__(self, state: StateFolder, ports: Ports, jars: Path) -> None:
        self._state = state
        self._ports = ports
        self._jars = jars

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect."""
        return f"{LOOPBACK}:{self._ports.kafka_port}"

    @property
    def log(self) -> Path:
        """Where the broker writes what it does."""
        return self._state.log(self.name)

    def prepare(self) -> None:
        """Write the configuration, and format the storage if it is new."""
        folder = self._state.kafka
        write_private(folder / "server.properties", server_properties(self._ports))
        write_private(folder / "log4j2.xml", LOG4J2)
        if not self._meta.exists():
            self._format()

    def child(self) -> Child:
        """How to run it."""
        return Child(
            name=self.name,
            argv=self._java("kafka.Kafka", "server.properties"),
            log_path=self._state.log("kafka.out"),
            cwd=self._state.kafka,
        )

    def ready(self) -> bool:
        """Whether this very broker answers a metadata request."""
        with contextlib.suppress(OSError):
            socket.create_connection((LOOPBACK, self._ports.kafka_port), timeout=_LOOK_S).close()
            return self._answers()
        return False

    @property
    def _meta(self) -> Path:
        return self._state.kafka / "data" / "meta.properties"

    def _answers(self) -> bool:
        # log_level 0: until the broker is up, librdkafka would complain on the terminal about each attempt.
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        try:
            metadata = admin.list_topics(timeout=_LOOK_S)
        except KafkaException:
            return False
        return bool(metadata.brokers) and metadata.cluster_id == self._cluster_id()

    def _cluster_id(self) -> str | None:
        pairs = (line.partition("=") for line in self._meta.read_text().splitlines())
        return next((value for key, _, value in pairs if key == "cluster.id"), None)

    def _format(self) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # --ignore-formatted: an earlier attempt may have been interrupted halfway.
        # One id in 64 starts with a dash, which must not be taken for an option.
        options = ["--standalone", "--ignore-formatted", f"--cluster-id={cluster_id}", "-c", "server.properties"]
        out = self._state.log("kafka.out")
        with out.open("ab") as log:
            try:
                subprocess.run(  # noqa: S603  # our own Java with our own arguments
                    self._java("kafka.tools.StorageTool", "format", *options),
                    cwd=self._state.kafka,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    check=True,
                    timeout=_FORMAT_TIMEOUT_S,
                )
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                raise ServerDied("kafka's storage tool", out) from None

    def _java(self, *arguments: str) -> list[str]:
        logging = "-Dlog4j2.configurationFile=log4j2.xml"
        # The JVM says at every start that snappy and zstd load native code; this is the permission it asks for.
        native = "--enable-native-access=ALL-UNNAMED"
        return [str(java_binary()), _HEAP, native, logging, "-cp", f"{self._jars}/*", *arguments]
