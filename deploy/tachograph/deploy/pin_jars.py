"""Write the list of Kafka's jars: ``python -m tachograph.deploy.pin_jars > kafka.jars``.

For the person who moves the project to another Kafka. Resolving the tree of POMs takes longer than fetching the jars,
and may answer differently tomorrow; so it is done once, here, and everybody else fetches a known list and checks it.
"""

import hashlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jgo.maven import Dependency, MavenContext

from tachograph.deploy.versions import KAFKA_VERSION

# The exclamation mark keeps log4j's bill of materials out of the resolution: with it, log4j decides the version of
# kafka-clients, and the broker gets the clients of another release.
ROOTS = (f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.1!")


def resolve(repository: Path) -> Sequence[str]:
    """One line per jar: SHA-256, size in bytes, Maven coordinate."""
    context = MavenContext(repo_cache=repository)
    inputs, transitive = context.resolver.resolve([context.create_dependency(root) for root in ROOTS])
    return sorted((_line(dependency) for dependency in [*inputs, *transitive]), key=lambda line: line.split()[2])


def _line(dependency: Dependency) -> str:
    content = Path(dependency.artifact.resolve()).read_bytes()
    coordinate = f"{dependency.groupId}:{dependency.artifactId}:{dependency.version}"
    return f"{hashlib.sha256(content).hexdigest()} {len(content)} {coordinate}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write("\n".join(resolve(Path(folder))) + "\n")
