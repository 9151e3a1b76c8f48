"""The three pages of a process, asked as Prometheus and Kubernetes would."""

import urllib.error
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tachograph.deploy.ports import choose_ports
from tachograph.schemas.settings import LocalSettings

Samples = dict[tuple[str, tuple[str, ...]], float]


def free_ports() -> tuple[int, int]:
    """Two ports that nobody listens on."""
    ports = choose_ports(LocalSettings())
    return ports.kafka_port, ports.controller_port


def get(port: int, page: str) -> tuple[int, str]:
    """Status and body; status 0 while nothing listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=15) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except urllib.error.URLError:
        return 0, ""


def is_ready(port: int) -> bool:
    return get(port, "readyz") == (200, "ok\n")


def samples(port: int) -> Samples:
    """Every sample by name and label values, in the order of the labels' names."""
    status, text = get(port, "metrics")
    assert status == 200, text
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def total(found: Samples, name: str) -> float:
    return sum(value for (sample, _), value in found.items() if sample == name)
