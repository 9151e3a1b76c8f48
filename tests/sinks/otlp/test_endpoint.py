"""Where OTLP goes: settings, and the variables that every exporter reads."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import OtlpSettings
from tachograph.sinks.otlp.endpoint import targets
from tachograph.sinks.otlp.post import HttpPost, _asked_wait
from tachograph.sinks.otlp.requests import Exported

SECRET = "not-to-be-shown"


def urls(environment: dict[str, str], **settings: Any) -> tuple[str, str]:
    found = targets(OtlpSettings(**settings), environment)
    return found[Exported.TRACES].url, found[Exported.LOGS].url


@pytest.mark.parametrize(
    ("settings", "environment", "traces", "logs"),
    [
        pytest.param({}, {}, "http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318/v1/logs", id="nothing"),
        pytest.param(
            {"endpoint": "https://c.example/otlp/"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other:1"},
            "https://c.example/otlp/v1/traces", "https://c.example/otlp/v1/logs", id="ours wins",
        ),
        pytest.param(
            {}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces", "http://c:4318/v1/logs",
            id="theirs, for all",
        ),
        pytest.param(
            {}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:2/in"},
            "http://t:2/in", "http://c:1/v1/logs", id="theirs for a signal is taken as it is",
        ),
        pytest.param(
            {"endpoint": "http://c:1/v1/traces"}, {}, "http://c:1/v1/traces", "http://c:1/v1/logs",
            id="a path that is added anyway",
        ),
    ],
)  # fmt: skip
def test_the_address(settings: dict[str, Any], environment: dict[str, str], traces: str, logs: str) -> None:
    """A setting of ours, then the variable of the signal, then the general one, then this machine."""
    assert urls(environment, **settings) == (traces, logs)


def test_headers_are_put_together() -> None:
    """General, of the signal, ours: the later wins. Names in small letters, values decoded."""
    environment = {
        "OTEL_EXPORTER_OTLP_HEADERS": "a=1, B=2,c=3",
        "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "b=logs",
    }
    found = targets(OtlpSettings(headers=SecretStr("c=ours%20own")), environment)
    assert found[Exported.TRACES].headers == {"a": "1", "b": "2", "c": "ours own"}
    assert found[Exported.LOGS].headers == {"a": "1", "b": "logs", "c": "ours own"}


def test_the_rest_of_the_variables(tmp_path: Path) -> None:
    """Time in milliseconds, as the specification has it; compression; certificates."""
    (tmp_path / "ca.pem").write_text("")
    environment = {
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT": "1000",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none", "OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "ca.pem"),
    }  # fmt: skip
    found = targets(OtlpSettings(), environment)
    assert (found[Exported.TRACES].timeout_s, found[Exported.LOGS].timeout_s) == (2.5, 1.0)
    assert not found[Exported.TRACES].gzip
    assert found[Exported.TRACES].certificate == tmp_path / "ca.pem"
    ours = targets(OtlpSettings(timeout_s=3, compression="gzip"), environment)[Exported.TRACES]
    assert (ours.timeout_s, ours.gzip) == (3, True)


@pytest.mark.parametrize(
    ("settings", "environment", "named"),
    [
        pytest.param({"endpoint": f"ftp://{SECRET}"}, {}, "TACHOGRAPH_OTLP__ENDPOINT", id="no web address"),
        pytest.param({"endpoint": f"http://u:{SECRET}@c"}, {}, "must hold no password", id="a password in it"),
        pytest.param({"endpoint": "http://c:99999"}, {}, "TACHOGRAPH_OTLP__ENDPOINT", id="no port"),
        pytest.param({}, {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": SECRET}, "LOGS_ENDPOINT", id="theirs"),
        pytest.param({}, {"OTEL_EXPORTER_OTLP_HEADERS": SECRET}, "OTEL_EXPORTER_OTLP_HEADERS", id="no pair"),
        pytest.param({"headers": SecretStr(f"a={SECRET}%0A")}, {}, "TACHOGRAPH_OTLP__HEADERS", id="a line break"),
        pytest.param({}, {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "milliseconds", id="no time"),
        pytest.param({}, {"OTEL_EXPORTER_OTLP_COMPRESSION": "zip"}, "gzip or none", id="no compression"),
        pytest.param({"certificate": Path("/nowhere.pem")}, {}, "CERTIFICATE", id="no certificate"),
        pytest.param(
            {}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "port 4318",
            id="another protocol",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(settings: dict[str, Any], environment: dict[str, str], named: str) -> None:
    """And its value is not repeated: it may be a secret."""
    with pytest.raises(ConfigError, match=named) as raised:
        targets(OtlpSettings(**settings), environment)
    assert SECRET not in str(raised.value)


def test_another_program_s_protocol_is_none_of_ours() -> None:
    """Where the address is ours."""
    assert urls({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, endpoint="http://c:1")[0] == "http://c:1/v1/traces"


def test_keys_are_in_no_repr() -> None:
    """Nor is a password that an address carries in its query."""
    target = targets(OtlpSettings(headers=SecretStr(f"authorization={SECRET}")), {})[Exported.TRACES]
    assert SECRET not in repr(target)
    assert target.shown == "http://127.0.0.1:4318/v1/traces"


def test_a_certificate_that_is_none_is_said(tmp_path: Path) -> None:
    """Before anything is sent."""
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ConfigError, match="TACHOGRAPH_OTLP__CERTIFICATE"):
        HttpPost(targets(OtlpSettings(endpoint="https://127.0.0.1:1", certificate=tmp_path / "ca.pem"), {}))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("7", 7), ("2.5", 2.5), ("-3", 0), ("nan", 0), ("soon", 0), ("99999999", 3600),
     ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Fri, 31 Dec 2999 23:59:59 GMT", 3600)],
)  # fmt: skip
def test_the_time_that_is_asked_for(header: str | None, seconds: float) -> None:
    """Seconds or a date, never less than nothing and never more than an hour."""
    assert _asked_wait(header) == seconds
