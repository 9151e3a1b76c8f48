"""The compose file: well-formed, private, and the same stack as the local one."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tachograph.deploy.accounts import ACCOUNTS, hashed, new_passwords, users_xml
from tachograph.deploy.docker_files import docker_files
from tachograph.deploy.kafka_config import server_properties
from tachograph.deploy.ports import Ports
from tachograph.deploy.versions import CLICKHOUSE_VERSION, KAFKA_VERSION

ROOT = Path(__file__).parents[2]
PASSWORD = re.compile(r"\$\{(?P<name>\w+):\?.+\}")

OPTIONAL = ("grafana", "prometheus")
GRAFANA = {"GF_SECURITY_ADMIN_PASSWORD": "TACHOGRAPH_CLICKHOUSE__CONSOLE_PASSWORD"}
"""Its administrator may ask what the console's account may, so the two have one password."""

STRINGS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
# What the Compose Specification says of the parts we use, and nothing else: a key that is not here is a slip.
SERVICE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["image", "restart", "environment"],
    "properties": {
        "image": {"type": "string", "pattern": r"^[a-z0-9/_-]+:[a-z0-9._-]+$"},
        "build": {
            "type": "object",
            "additionalProperties": False,
            "required": ["context"],
            "properties": {"context": {"type": "string"}, "dockerfile": {"type": "string"}},
        },
        "profiles": STRINGS,
        "restart": {"type": "string", "pattern": r"^(no|always|unless-stopped|on-failure(:\d+)?)$"},
        "read_only": {"type": "boolean"},
        "tmpfs": STRINGS,
        "cap_drop": {**STRINGS, "uniqueItems": True},
        "security_opt": {**STRINGS, "uniqueItems": True},
        "entrypoint": STRINGS,
        "command": STRINGS,
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
        "ports": {"type": "array", "items": {"type": "string", "pattern": r"^127\.0\.0\.1:[^:]+(:-\d+\})?:\d+$"}},
        "volumes": {"type": "array", "items": {"type": "string", "pattern": r"^(\./)?[a-z/.-]+:/[a-z/._-]+(:ro)?$"}},
        "ulimits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "healthcheck": {
            "type": "object",
            "additionalProperties": False,
            "required": ["test", "interval", "timeout", "retries"],
            "properties": {
                "test": {**STRINGS, "contains": {"const": "CMD"}},
                "interval": {"type": "string", "pattern": r"^\d+s$"},
                "timeout": {"type": "string", "pattern": r"^\d+s$"},
                "start_period": {"type": "string", "pattern": r"^\d+s$"},
                "retries": {"type": "integer"},
            },
        },
        "depends_on": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["condition"],
                "properties": {"condition": {"enum": ["service_healthy", "service_completed_successfully"]}},
            },
        },
    },
}
COMPOSE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "services", "volumes"],
    "patternProperties": {"^x-": {"type": "object"}},
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$"},
        "services": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {"^[a-zA-Z0-9._-]+$": SERVICE},
        },
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
    },
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def test_the_file_is_a_compose_file(compose: dict[str, Any]) -> None:
    """Every key is one of the specification's, with a value of its kind; every port is on loopback."""
    jsonschema.validate(compose, COMPOSE)


def test_names_lead_somewhere(compose: dict[str, Any]) -> None:
    """Services depended on, volumes and files mounted, the Dockerfile: all are there."""
    services = compose["services"]
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (ROOT / source).exists() if source.startswith("./") else source in compose["volumes"]
        if build := service.get("build"):
            assert (ROOT / build["context"] / build["dockerfile"]).is_file()
        for name, needed in service.get("depends_on", {}).items():
            assert needed["condition"] != "service_healthy" or "healthcheck" in services[name]


def test_the_same_servers(compose: dict[str, Any]) -> None:
    """The releases that the local stack runs."""
    assert compose["services"]["kafka"]["image"] == f"apache/kafka:{KAFKA_VERSION}"
    assert compose["services"]["clickhouse"]["image"] == f"clickhouse/clickhouse-server:{CLICKHOUSE_VERSION}"


def test_the_broker_has_the_same_settings(compose: dict[str, Any]) -> None:
    """All but where it listens and where its data lies."""
    local = dict(line.split("=") for line in server_properties(Ports(1, 2, 3, 4)).splitlines())
    environment = compose["services"]["kafka"]["environment"]
    places = {"listeners", "advertised.listeners", "log.dirs", "listener.security.protocol.map"}
    places |= {"controller.quorum.bootstrap.servers"}
    same = {name: value for name, value in local.items() if name not in places}
    assert {name: environment.get(f"KAFKA_{name.replace('.', '_').upper()}") for name in same} == same


def test_the_mounted_files_are_rendered_from_our_source() -> None:
    """Nobody edits them by hand. The tables of a cluster, beside them, are compared with the migrations elsewhere."""
    folder = ROOT / "deploy" / "clickhouse"
    beside = {"cluster.sql"}
    assert {path.name: path.read_text() for path in folder.iterdir() if path.name not in beside} == docker_files()


def test_both_stacks_have_the_same_accounts() -> None:
    """Same users, grants, limits; only how a password is checked and from where one may come differ."""

    def without_logins(text: str) -> str:
        text = re.sub(r"<password from_env=.*? />|<password_sha256_hex>.*?</password_sha256_hex>", "<secret />", text)
        return re.sub(r"<networks>.*?</networks>", "", text, flags=re.DOTALL)

    local = users_xml(hashed(new_passwords()))
    assert without_logins(docker_files()["users.xml"]) == without_logins(local)
    assert [account.user for account in ACCOUNTS] == [
        "tachograph_migrate",
        "tachograph_sink",
        "tachograph_console",
        "tachograph_admin",
    ]


def test_passwords_come_from_the_environment_and_must_be_set(compose: dict[str, Any]) -> None:
    """ClickHouse knows all four; each job knows its own only."""
    found = {
        name: {key for key, value in service["environment"].items() if key.endswith("_PASSWORD")}
        for name, service in compose["services"].items()
    }
    assert found == {
        "kafka": set(),
        "clickhouse": {account.password_variable for account in ACCOUNTS},
        "init": {"TACHOGRAPH_CLICKHOUSE__MIGRATE_PASSWORD"},
        "worker": set(),
        "snapshots": set(),
        "sealer": set(),
        "sink": {"TACHOGRAPH_CLICKHOUSE__SINK_PASSWORD"},
        "slo": {"TACHOGRAPH_CLICKHOUSE__CONSOLE_PASSWORD"},
        "prometheus": set(),
        "grafana": {"TACHOGRAPH_CLICKHOUSE__CONSOLE_PASSWORD", "GF_SECURITY_ADMIN_PASSWORD"},
    }
    for service in compose["services"].values():
        for key, value in service["environment"].items():
            if key.endswith("_PASSWORD"):
                match = PASSWORD.fullmatch(value)
                assert match is not None
                assert match["name"] == GRAFANA.get(key, key)


def test_grafana_is_asked_for(compose: dict[str, Any]) -> None:
    """Without its profile nothing else starts, and nothing else has to be set."""
    assert {name for name, service in compose["services"].items() if service.get("profiles") == ["grafana"]} == {
        "grafana",
        "prometheus",
    }
    assert not any("profiles" in service for name, service in compose["services"].items() if name not in OPTIONAL)
    for name in OPTIONAL:
        service = compose["services"][name]
        assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+", service["image"]), "a release, not whatever is the latest"
        for volume in service["volumes"]:
            assert volume.endswith(":ro") or volume.split(":")[0] in compose["volumes"]


def test_topics_and_tables_come_from_the_same_commands(compose: dict[str, Any]) -> None:
    """The init job is the two commands that `tachograph up` runs too, and the others wait for it."""
    services = compose["services"]
    assert services["init"]["command"] == ["tachograph topics apply && tachograph migrate"]
    parts = ("worker", "snapshots", "sealer", "sink")
    assert [services[name]["command"] for name in parts] == [[name] for name in parts]
    for name in parts:
        assert services[name]["depends_on"] == {"init": {"condition": "service_completed_successfully"}}


def test_the_image_does_not_run_as_root() -> None:
    """And starts with our command."""
    lines = (ROOT / "deploy" / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith(("USER", "ENTRYPOINT"))] == [
        "USER 10001",
        'ENTRYPOINT ["tachograph"]',
    ]
