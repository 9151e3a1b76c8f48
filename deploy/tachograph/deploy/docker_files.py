"""Write the files that ``docker-compose.yml`` mounts, and the accounts of a cluster's servers.

``python -m tachograph.deploy.docker_files deploy/clickhouse``
"""

import sys
from pathlib import Path

from tachograph.deploy.accounts import ANYWHERE, from_environment, users_xml
from tachograph.deploy.clickhouse_config import docker_config


def docker_files() -> dict[str, str]:
    """Content of each file by its name. Between containers, addresses are not known beforehand."""
    return {
        "config.xml": docker_config(),
        "users.xml": users_xml(from_environment, ANYWHERE),
        "cluster-users.xml": users_xml(from_environment, ANYWHERE, cluster=True),
    }


if __name__ == "__main__":
    for name, content in docker_files().items():
        (Path(sys.argv[1]) / name).write_text(content)
