"""A real ZooKeeper on loopback, from Maven's jars: what replicas agree by. Only tests start one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_connection
from typing import Final

from tachograph.deploy.jars import Jar, default_cache, ensure_jars
from tachograph.deploy.java import java_binary
from tests.sinks.running import eventually

JARS: Final = (
    Jar(
        "ad6570105768d18382a762325b4460368b7089a5a77c053e682b17942e0e72b5",
        1362969,
        "org.apache.zookeeper:zookeeper:3.9.3",
    ),
    Jar(
        "be72e2c9099413a9878ce830b65bb22e0be755dc2a22b290550ab9e03b5b4cfa",
        255803,
        "org.apache.zookeeper:zookeeper-jute:3.9.3",
    ),
    Jar(
        "cec34936faa625039f4e46123eccaa10a9eb9d9a40c6075830cd81330e259cf9",
        105355,
        "io.dropwizard.metrics:metrics-core:4.1.12.1",
    ),
)
"""It logs and packs with jars of Kafka's, which are here anyway."""
_MAIN: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"


@contextmanager
def zookeeper(folder: Path, port: int) -> Iterator[None]:
    """Until the block ends."""
    folder.mkdir()
    jars = (ensure_jars(default_cache() / "zookeeper", jars=JARS), ensure_jars())
    (folder / "zoo.cfg").write_text(
        f"dataDir={folder / 'data'}\nclientPort={port}\nclientPortAddress=127.0.0.1\ntickTime=500\n"
        "admin.enableServer=false\n"
    )
    command = [str(java_binary()), "-Xmx128m", "-cp", ":".join(f"{each}/*" for each in jars), _MAIN, "zoo.cfg"]
    with (folder / "zookeeper.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            eventually(lambda: _listens(port), "ZooKeeper")
            yield
        finally:
            process.kill()  # it holds nothing that anybody needs afterwards
            process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError):
        create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False
