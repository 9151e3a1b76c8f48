"""The Kubernetes files: what they start exists, what they set is a setting, and nothing secret is in them."""

import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from benchmarks.scaling import plan
from pydantic import BaseModel, SecretStr

from tachograph.console.cli.app import app
from tachograph.schemas.settings import ENV_PREFIX, Settings
from tachograph.sinks.alerts import load_routes

ROOT = Path(__file__).parents[2]
BASE = ROOT / "deploy" / "kubernetes" / "base"
OVERLAY = ROOT / "deploy" / "kubernetes" / "overlays" / "ten-thousand"
LISTED = yaml.safe_load((BASE / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
OBJECTS: list[dict[str, Any]] = [
    each for name in LISTED for each in yaml.safe_load_all((BASE / name).read_text(encoding="utf-8"))
]
SERVED = {name for name, section in Settings() if hasattr(section, "http_host")}
"""Settings of the processes that have a port for their health pages."""
Container = dict[str, Any]


def of_kind(*kinds: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in OBJECTS if each["kind"] in kinds}


WORKLOADS = of_kind("StatefulSet", "Deployment", "Job")
LASTING = of_kind("StatefulSet", "Deployment")


def pod(workload: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = workload["spec"]["template"]["spec"]
    return found


def containers(workload: dict[str, Any]) -> list[Container]:
    return [*pod(workload).get("initContainers", []), *pod(workload)["containers"]]


EVERY = [
    pytest.param(workload, container, id=f"{name}: {container['name']}")
    for name, workload in WORKLOADS.items()
    for container in containers(workload)
]


def variables(container: Container) -> dict[str, Any]:
    """Plain values by name; of a reference, the reference."""
    config = of_kind("ConfigMap")
    sources = [source["configMapRef"] for source in container.get("envFrom", []) if "configMapRef" in source]
    shared = [config[source["name"]]["data"] for source in sources]
    merged: dict[str, Any] = {name: value for each in shared for name, value in each.items()}
    return merged | {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", [])}


def test_a_secured_broker_needs_one_secret_and_an_open_one_none() -> None:
    """Whoever reads the shared settings takes the credentials from beside them, if they are there."""
    every = [container for workload in WORKLOADS.values() for container in containers(workload)]
    reading = [container["envFrom"] for container in every if "envFrom" in container]
    shared = [{"configMapRef": {"name": "tachograph"}}, {"secretRef": {"name": "tachograph-kafka", "optional": True}}]
    assert reading == [shared] * len(reading)
    assert len(reading) >= len(WORKLOADS)


def known_settings(section: type[BaseModel] = Settings, prefix: str = ENV_PREFIX) -> Iterator[tuple[str, Any]]:
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from known_settings(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}", kind


KNOWN = dict(known_settings())


def test_every_file_is_part_of_the_base() -> None:
    """None is forgotten, none has two objects of a name."""
    assert {path.name for path in BASE.iterdir()} == {"kustomization.yaml", *LISTED}
    names = [(each["kind"], each["metadata"]["name"]) for each in OBJECTS]
    assert len(set(names)) == len(names)
    parts = {"worker", "sink", "snapshots", "sealer", "evaluators", "alerts", "slo", "console"}
    assert set(LASTING) == parts


@pytest.mark.parametrize(("workload", "container"), EVERY)
def test_a_container_runs_a_command_of_ours(workload: dict[str, Any], container: Container) -> None:
    """Each is one that the command line has; the one exception copies a key."""
    assert workload["metadata"]["name"]
    if "command" in container:
        assert container["command"][0] == "install"
        return
    command: Any = typer.main.get_command(app)
    for word in container["args"]:
        command = command.commands[word]
    assert not hasattr(command, "commands"), "a group of commands starts nothing"


def test_the_two_commands_of_the_setup_are_those_of_compose() -> None:
    """Topics, then tables."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    asked = [" ".join(("tachograph", *container["args"])) for container in containers(WORKLOADS["setup"])]
    assert services["init"]["command"] == [" && ".join(asked)]


@pytest.mark.parametrize(("workload", "container"), EVERY)
def test_what_is_set_is_a_setting(
    workload: dict[str, Any], container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every variable of ours is known, and all plain values together are taken."""
    ours = {name: value for name, value in variables(container).items() if name.startswith(ENV_PREFIX)}
    assert set(ours) <= set(KNOWN)
    for name, value in ours.items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "reference")
    settings = Settings()
    name = workload["metadata"]["name"]
    if container["name"] == name and workload["kind"] == "StatefulSet":
        section = getattr(settings, "evaluate" if name == "evaluators" else name)
        assert section.instance_id == "reference"
        assert ours[next(each for each in ours if each.endswith("__INSTANCE_ID"))] == {
            "fieldRef": {"fieldPath": "metadata.name"}
        }


@pytest.mark.parametrize(("workload", "container"), EVERY)
def test_secrets_are_references(workload: dict[str, Any], container: Container) -> None:
    """A secret setting has no value here, and each process knows its own only."""
    secret = {name for name, kind in KNOWN.items() if kind is SecretStr} | {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    }
    held = {name: value for name, value in variables(container).items() if name in secret}
    assert all(set(value) == {"secretKeyRef"} for value in held.values())
    mine = {"setup": "MIGRATE", "sink": "SINK", "slo": "CONSOLE", "console": "CONSOLE"}
    passwords = {name for name in held if name.startswith("TACHOGRAPH_CLICKHOUSE__")}
    part = None if container["name"] == "topics" else mine.get(workload["metadata"]["name"])
    assert passwords == ({f"TACHOGRAPH_CLICKHOUSE__{part}_PASSWORD"} if part else set())
    assert "Secret" not in {each["kind"] for each in OBJECTS}


@pytest.mark.parametrize(("workload", "container"), EVERY)
def test_a_container_may_do_little(workload: dict[str, Any], container: Container) -> None:
    """As the restricted pod security standard asks, and more: nothing is written but to volumes, memory is bounded."""
    own, shared = container["securityContext"], pod(workload)["securityContext"]
    assert own["readOnlyRootFilesystem"]
    assert not own["allowPrivilegeEscalation"]
    assert own["capabilities"] == {"drop": ["ALL"]}
    assert shared["runAsNonRoot"]
    assert shared["seccompProfile"] == {"type": "RuntimeDefault"}
    assert f"USER {shared['runAsUser']}\n" in (ROOT / "deploy" / "Dockerfile").read_text()
    assert not pod(workload)["automountServiceAccountToken"]
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory"}, "a limit of processor time slows what has work"
    volumes = {volume["name"] for volume in pod(workload)["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) <= volumes
    assert len(set(mounts.values())) == len(mounts)


def test_the_image_is_that_of_the_compose_file() -> None:
    """One image, one name; the overlay renames it."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    image = compose["x-tachograph"]["image"]
    assert {container["image"] for each in WORKLOADS.values() for container in containers(each)} == {image}
    (renamed,) = yaml.safe_load((OVERLAY / "kustomization.yaml").read_text(encoding="utf-8"))["images"]
    assert renamed["name"] == image.split(":")[0]
    assert re.fullmatch(r"\d+\.\d+\.\d+", renamed["newTag"])


@pytest.mark.parametrize("name", LASTING)
def test_labels_lead_to_the_pods(name: str) -> None:
    """Selectors, services, budgets and policies choose pods that are there."""
    workload = LASTING[name]
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert labels["app.kubernetes.io/name"] == name
    if workload["kind"] == "StatefulSet":
        assert of_kind("Service")[workload["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"
    budget = of_kind("PodDisruptionBudget").get(name)
    assert (budget is not None) == (workload["spec"]["replicas"] > 1), "one pod cannot be kept from moving"
    if budget is not None:
        assert budget["spec"]["selector"] == workload["spec"]["selector"]
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in WORKLOADS.values()]
    for service in of_kind("Service").values():
        assert any(service["spec"]["selector"].items() <= each.items() for each in pods)
    for policy in of_kind("NetworkPolicy").values():
        chosen = policy["spec"]["podSelector"]["matchLabels"]
        assert any(chosen.items() <= each.items() for each in pods), policy["metadata"]["name"]


def test_probes_ask_where_the_process_answers() -> None:
    """All but the console serve health pages at the port that is set for them, and services lead there."""
    sections = {name: "EVALUATE" if name == "evaluators" else name.upper() for name in LASTING if name != "console"}
    assert {section.lower() for section in sections.values()} == SERVED
    for name, section in sections.items():
        (container,) = pod(LASTING[name])["containers"]
        own = variables(container)
        (port,) = container["ports"]
        assert port["containerPort"] == int(own[f"TACHOGRAPH_{section}__HTTP_PORT"])
        assert own[f"TACHOGRAPH_{section}__HTTP_HOST"] == "0.0.0.0"  # noqa: S104 - inside the pod's own network
        asked = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
        assert {kind: get["path"] for kind, get in asked.items()} == {
            "startup": "/healthz",
            "liveness": "/healthz",
            "readiness": "/readyz",
        }
        assert {get["port"] for get in asked.values()} == {port["name"]}
        assert of_kind("Service")[name]["spec"]["ports"][0]["targetPort"] == port["name"]
        assert LASTING[name]["spec"]["template"]["metadata"]["labels"]["tachograph.dev/status"] == "served"
    (console,) = pod(LASTING["console"])["containers"]
    assert console["ports"][0]["containerPort"] == int(variables(console)["TACHOGRAPH_CONSOLE__PORT"])
    assert of_kind("Service")["console"]["spec"]["ports"][0]["targetPort"] == console["ports"][0]["name"]


def test_a_pod_is_given_the_time_that_it_takes_to_stop() -> None:
    """A worker that stops waits for its outputs as long as they may take; the others take less."""
    settings = Settings()
    grace = {name: pod(workload)["terminationGracePeriodSeconds"] for name, workload in LASTING.items()}
    assert grace["worker"] > settings.worker.delivery_timeout_s + 10
    assert min(grace.values()) >= 60


def test_one_user_signs_and_another_seals() -> None:
    """The key is a file of the signer alone, 0600, in memory; the two know each other by their numbers."""
    sealer = pod(LASTING["sealer"])
    key, signer = sealer["initContainers"]
    (main,) = sealer["containers"]
    shared = sealer["securityContext"]
    users = {each["name"]: (shared | each["securityContext"])["runAsUser"] for each in (key, signer, main)}
    assert users["key"] == users["signer"] != users["sealer"]
    assert variables(signer)["TACHOGRAPH_SEALER__SIGNER_USERS"] == f"[{users['sealer']}]"
    assert variables(main)["TACHOGRAPH_SEALER__SIGNER_OWNER"] == str(users["signer"])
    assert variables(main)["TACHOGRAPH_SEALER__CUSTODY"] == "socket"
    assert variables(main)["TACHOGRAPH_SEALER__SOCKET"] == variables(signer)["TACHOGRAPH_SEALER__SOCKET"]
    mounted = {each["name"]: {mount["name"] for mount in each["volumeMounts"]} for each in (key, signer, main)}
    assert not mounted["sealer"] & {"key", "secret"}
    assert mounted["sealer"] & mounted["signer"] == {"socket"}
    volumes = {volume["name"]: volume for volume in sealer["volumes"]}
    assert volumes["key"]["emptyDir"]["medium"] == "Memory"
    assert [item["key"] for item in volumes["secret"]["secret"]["items"]] == ["sealing.key"]
    assert [item["key"] for item in volumes["key-set"]["secret"]["items"]] == ["sealing.yaml"]
    assert signer["restartPolicy"] == "Always"
    assert key["command"][-1] == variables(signer)["TACHOGRAPH_SEALER__KEY_FILE"]


def test_the_copied_key_is_taken(tmp_path: Path) -> None:
    """The command of the manifest, run here: what it leaves is a file of one user that nobody else may open."""
    from tachograph.processors.sealing.custody import KeyFile  # noqa: PLC0415 - the one test that needs it

    given, copied = tmp_path / "given", tmp_path / "copied"
    KeyFile.create(given, "key-1")
    given.chmod(0o440)
    (key, *_) = pod(LASTING["sealer"])["initContainers"]
    subprocess.run([*key["command"][:-2], str(given), str(copied)], check=True, timeout=30)
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600
    assert KeyFile.load(copied).key_ids == ("key-1",)


def test_the_example_of_routes_is_one(tmp_path: Path) -> None:
    """As the alerting process reads it."""
    file = tmp_path / "routes.yaml"
    file.write_text(of_kind("ConfigMap")["tachograph-files"]["data"]["routes.yaml"])
    assert [route.name for route in load_routes(file).routes] == ["everything"]
    alerts = pod(LASTING["alerts"])
    mounts = {mount["name"]: mount["mountPath"] for mount in alerts["containers"][0]["volumeMounts"]}
    assert variables(alerts["containers"][0])["TACHOGRAPH_ALERTS__ROUTES"] == f"{mounts['files']}/routes.yaml"


@pytest.mark.parametrize(("events_s", "where"), [(1_000, "base"), (10_000, "overlay")])
def test_the_counts_are_those_of_the_scaling_page(events_s: int, where: str) -> None:
    """Partitions, workers and sinks; and no fewer than two of what must not be away."""
    needed = plan(events_s)
    counts = {name: workload["spec"]["replicas"] for name, workload in LASTING.items()}
    config = dict(of_kind("ConfigMap")["tachograph"]["data"])
    if where == "overlay":
        overlay = yaml.safe_load((OVERLAY / "kustomization.yaml").read_text(encoding="utf-8"))
        counts |= {each["name"]: each["count"] for each in overlay["replicas"]}
        config |= yaml.safe_load((OVERLAY / "config.yaml").read_text(encoding="utf-8"))["data"]
    assert int(config["TACHOGRAPH_KAFKA__PARTITIONS"]) == needed.partitions
    assert counts["worker"] == max(2, needed.workers)
    assert counts["sink"] == max(2, needed.sinks)
    assert pod(LASTING["worker"])["containers"][0]["resources"]["requests"]["cpu"] == 1, "a worker is one busy core"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl builds it; the rest is checked without")
@pytest.mark.parametrize("folder", [BASE, OVERLAY], ids=["base", "overlay"])
def test_kustomize_builds_it(folder: Path) -> None:
    """Every patch meets its object."""
    command = ["kubectl", "kustomize", str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    kinds = [each["kind"] for each in yaml.safe_load_all(built.stdout)]
    assert len(kinds) == len(OBJECTS) + (folder == OVERLAY)
