"""The dashboards as files: current, consistent, private. What their queries answer is tested on the pipeline's data."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tachograph.console.slo.openslo import load_objectives
from tachograph.console.slo.shipped import shipped_folder
from tachograph.deploy.accounts import ACCOUNTS, CONSOLE_LIMITS
from tachograph.deploy.grafana import dashboard_files
from tachograph.deploy.grafana.dashboard import SCHEMA_VERSION
from tachograph.schemas.metrics import METRICS, MetricKind
from tachograph.schemas.settings import Settings
from tests.pipeline.grafana import DASHBOARDS, FOLDER, panels, queries

PROVISIONING = FOLDER.parent / "provisioning"
COMPOSE = FOLDER.parents[2] / "docker-compose.yml"
UIDS = {dashboard["uid"] for dashboard in DASHBOARDS.values()}
SERVED = {"worker", "sink", "sealer", "snapshots", "slo"}
"""Components of the compose file that have a port for their metrics."""
OF_TENANT = (
    "tenant_id = ${tenant:sqlstring}",
    "tenant_id IN (${tenant:sqlstring}, '')",
    "['tachograph.tenant_id'] = ${tenant:sqlstring}",
)
PANELS = [
    pytest.param(name, panel, id=f"{name}: {panel['title']}")
    for name, dashboard in DASHBOARDS.items()
    for panel in panels(dashboard)
]


def _provisioned(path: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PROVISIONING / path).read_text(encoding="utf-8"))
    return loaded


def test_the_files_are_those_that_are_described() -> None:
    """If this fails: `python -m tachograph.deploy.grafana deploy/grafana/dashboards`."""
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written == dashboard_files(load_objectives(shipped_folder()))


def test_own_objectives_get_panels_of_their_own() -> None:
    """Those of the folder that is named, and no others."""
    first, *others = load_objectives(shipped_folder())
    text = dashboard_files([first])["slo.json"]
    assert first.name in text
    assert not any(other.name in text for other in others)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_one_of_its_kind(name: str) -> None:
    """Ids and titles once; panels beside each other, none on another; read-only, with what every dashboard has."""
    dashboard = DASHBOARDS[name]
    every = dashboard["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    titles = [panel["title"] for panel in panels(dashboard)]
    assert len(set(titles)) == len(titles)
    taken: set[tuple[int, int]] = set()
    for panel in every:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    assert dashboard["schemaVersion"] == SCHEMA_VERSION
    assert not dashboard["editable"]
    assert dashboard["uid"] == f"tachograph-{name}"
    variables = [variable["name"] for variable in dashboard["templating"]["list"]]
    assert variables[0] == "tenant"
    assert "console" in variables
    assert len(set(variables)) == len(variables)
    assert len(UIDS) == len(DASHBOARDS) == 4


@pytest.mark.parametrize(("name", "panel"), PANELS)
def test_a_panel_says_what_it_answers_and_in_what_unit(name: str, panel: dict[str, Any]) -> None:
    """A question, a source that is provisioned, a unit and thresholds; and only variables that its dashboard has."""
    sources = {source["uid"]: source["type"] for source in _provisioned("datasources/tachograph.yaml")["datasources"]}
    assert panel["description"].endswith(".")
    for source in (panel["datasource"], *(target["datasource"] for target in panel["targets"])):
        assert source == panel["datasource"]
        assert sources[source["uid"]] == source["type"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
    if panel["type"] != "traces":
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"]
        steps = defaults["thresholds"]["steps"]
        assert steps[0] == {"color": "green", "value": None}
        assert [step["value"] for step in steps[1:]] == sorted(step["value"] for step in steps[1:])
    known = {variable["name"] for variable in DASHBOARDS[name]["templating"]["list"]}
    text = str(panel)
    used = set(re.findall(r"\$\{(\w+)", text)) | set(re.findall(r", \$(\w+)\)", text))
    assert {each for each in used if not each.startswith("__")} <= known


@pytest.mark.parametrize(("name", "panel"), PANELS)
def test_links_lead_to_dashboards_and_to_the_console(name: str, panel: dict[str, Any]) -> None:
    """And hand on whose data is looked at. A column that a link reads is in the query."""
    for override in panel["fieldConfig"]["overrides"]:
        for each in override["properties"]:
            for link in each["value"] if each["id"] == "links" else ():
                url = link["url"]
                assert url.startswith("${console}/") or re.match(r"/d/([\w-]+)", url)[1] in UIDS  # type: ignore[index]
                assert url.startswith("${console}/") or "var-tenant=${tenant:percentencode}" in url
                for column in re.findall(r"__data\.fields\.(\w+)", url):
                    assert column in panel["targets"][0]["rawSql"], name


def test_every_question_is_of_one_tenant() -> None:
    """Each table that is read, each time, beside the one list of tenants to choose from."""
    for dashboard in DASHBOARDS.values():
        for panel, sql in queries(dashboard):
            read = re.findall(r"\bFROM ([a-z_]+)\b", sql)
            conditions = sql.count("tenant_id = ${tenant:sqlstring}") + sql.count(
                "tenant_id IN (${tenant:sqlstring}, '')"
            )
            conditions += sql.count("['tachograph.tenant_id'] = ${tenant:sqlstring}")
            assert conditions == len(read) > 0, panel["title"]
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query" and variable["name"] != "tenant":
                assert "tenant_id = ${tenant:sqlstring}" in variable["query"]["rawSql"]


def test_metrics_are_those_of_the_registry() -> None:
    """By the name that Prometheus gives them, with labels that they have, and of components that serve them."""
    kinds = {
        MetricKind.COUNTER: ["_total"],
        MetricKind.GAUGE: [""],
        MetricKind.HISTOGRAM: ["_bucket", "_sum", "_count"],
    }
    known = {f"{metric.name}{ending}": metric for metric in METRICS for ending in kinds[metric.kind]}
    asked = [
        (expression["expr"], panel["title"])
        for dashboard in DASHBOARDS.values()
        for panel in panels(dashboard)
        for expression in panel["targets"]
        if "expr" in expression
    ]
    assert len(asked) > 10
    for expression, title in asked:
        names = re.findall(r"\b(tachograph_\w+)", expression)
        assert names or expression.startswith("sum by (job) (up{"), title
        for name in names:
            metric = known[name]
            assert metric.name.split("_")[1] in SERVED
            for labels in re.findall(r"by \(([\w, ]+)\)", expression):
                assert set(labels.split(", ")) <= {*metric.labels, "le"}, title
            assert ("rate(" in expression) == (metric.kind is not MetricKind.GAUGE), title


def test_the_components_that_serve_metrics_have_a_port() -> None:
    """And Prometheus asks each of them at the port that compose sets."""
    jobs = yaml.safe_load((FOLDER.parent / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    assert {name for name, section in Settings() if hasattr(section, "http_host") and name in services} == SERVED
    asked = {config["names"][0]: config["port"] for job in jobs for config in job["dns_sd_configs"]}
    assert {job["job_name"] for job in jobs} == {f"tachograph-{name}" for name in SERVED}
    assert asked == {
        name: int(services[name]["environment"][f"TACHOGRAPH_{name.upper()}__HTTP_PORT"]) for name in SERVED
    }


def test_the_source_reads_as_the_account_that_may_only_read() -> None:
    """Addresses and password from variables that compose gives Grafana, and no longer a wait than the account may."""
    clickhouse, prometheus = _provisioned("datasources/tachograph.yaml")["datasources"]
    assert clickhouse["jsonData"]["username"] == next(each.user for each in ACCOUNTS if each.role == "console")
    assert clickhouse["secureJsonData"] == {"password": "$TACHOGRAPH_CLICKHOUSE__CONSOLE_PASSWORD"}
    assert int(clickhouse["jsonData"]["queryTimeout"]) + 5 <= CONSOLE_LIMITS["max_execution_time"]
    environment = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]["grafana"]["environment"]
    assert set(re.findall(r"\$(\w+)", str(clickhouse) + str(prometheus))) <= set(environment)


def test_the_dashboards_are_where_grafana_looks() -> None:
    """What the provider names is what compose mounts, read-only; the first page is one of them."""
    grafana = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]["grafana"]
    (provider,) = _provisioned("dashboards/tachograph.yaml")["providers"]
    mounted = {to: Path(source) for source, to, *_ in (volume.split(":") for volume in grafana["volumes"])}
    assert mounted[provider["options"]["path"]] == FOLDER.relative_to(FOLDER.parents[2])
    assert mounted["/etc/grafana/provisioning"] == PROVISIONING.relative_to(FOLDER.parents[2])
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert str(home.parent) == provider["options"]["path"]
    assert home.stem in DASHBOARDS
    assert re.fullmatch(
        r"grafana-clickhouse-datasource@\d+\.\d+\.\d+", grafana["environment"]["GF_PLUGINS_PREINSTALL_SYNC"]
    )
