"""Settings come from defaults, the stack's file and the environment, in that order; secrets stay hidden."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import ClickHouseSettings, KafkaSettings, Settings, load_settings


def test_defaults_need_no_file(tmp_path: Path) -> None:
    """A process without a stack still has usable settings."""
    assert load_settings(tmp_path).kafka.partitions == 4


def test_the_stack_file_fills_in_and_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `tachograph up` wrote is found; what the operator exports is stronger."""
    (tmp_path / "stack.env").write_text(
        "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS=127.0.0.1:1111\nTACHOGRAPH_CLICKHOUSE__SINK_PASSWORD=hidden-1\n"
    )
    monkeypatch.setenv("TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:2222")
    settings = load_settings(tmp_path)
    assert settings.kafka.bootstrap_servers == "127.0.0.1:2222"
    assert settings.clickhouse.sink_password.get_secret_value() == "hidden-1"
    assert "hidden-1" not in repr(settings)
    assert "hidden-1" not in settings.model_dump_json()


def test_a_wrong_setting_is_named_as_the_operator_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable, not the value."""
    monkeypatch.setenv("TACHOGRAPH_KAFKA__PARTITIONS", "many-canary")
    with pytest.raises(ConfigError, match="TACHOGRAPH_KAFKA__PARTITIONS") as caught:
        load_settings(tmp_path)
    assert "canary" not in str(caught.value)


def test_a_misspelt_setting_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo must not silently leave the default in force."""
    monkeypatch.setenv("TACHOGRAPH_KAFKA__PARTITONS", "8")
    with pytest.raises(ConfigError, match="PARTITONS"):
        load_settings(tmp_path)


def test_settings_are_frozen(tmp_path: Path) -> None:
    """What a process started with is what it runs with."""
    settings = load_settings(tmp_path)
    with pytest.raises(ValidationError):
        settings.kafka.partitions = 8  # type: ignore[misc]
    with pytest.raises(ValidationError):
        settings.tenant_id = "other"  # type: ignore[misc]


def test_every_setting_is_documented_in_place() -> None:
    """`tachograph config show` can explain each one."""
    for name, section in Settings.model_fields.items():
        if isinstance(section.annotation, type) and issubclass(section.annotation, BaseModel):
            for field, info in section.annotation.model_fields.items():
                assert info.description, f"{name}.{field}"
        else:
            assert section.description, name


def kafka(**given: object) -> KafkaSettings:
    return KafkaSettings.model_validate({"bootstrap_servers": "b:1"} | given)


def test_an_open_listener_needs_nothing() -> None:
    """And clients are not told of security at all."""
    assert kafka().client(**{"group.id": "g"}) == {"bootstrap.servers": "b:1", "group.id": "g"}
    assert kafka().address == "b:1"


def test_a_user_over_tls(tmp_path: Path) -> None:
    """Everything that librdkafka needs, in its words; the password is in none of ours."""
    authority = tmp_path / "ca.pem"
    authority.touch()
    found = kafka(security_protocol="SASL_SSL", ssl_ca=authority, sasl_username="u", sasl_password="canary")
    assert found.client() == {
        "bootstrap.servers": "b:1",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(authority),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u",
        "sasl.password": "canary",
    }
    assert found.address == "b:1 over SASL_SSL as u"
    assert "canary" not in repr(found) + found.model_dump_json() + found.address


def test_a_certificate(tmp_path: Path) -> None:
    """Its key may be encrypted."""
    certificate, key = tmp_path / "c.pem", tmp_path / "c.key"
    for path in (certificate, key):
        path.touch()
    found = kafka(security_protocol="SSL", ssl_certificate=certificate, ssl_key=key, ssl_key_password="canary")
    assert found.client() == {
        "bootstrap.servers": "b:1",
        "security.protocol": "SSL",
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(key),
        "ssl.key.password": "canary",
    }


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param({"security_protocol": "SASL_SSL"}, "needs sasl_username and sasl_password", id="nobody"),
        pytest.param(
            {"security_protocol": "SASL_SSL", "sasl_username": "u"}, "needs sasl_username and", id="no password"
        ),
        pytest.param({"security_protocol": "SSL", "sasl_username": "u"}, "use SASL_SSL", id="a user for nobody"),
        pytest.param({"sasl_username": "u"}, "use SASL_SSL", id="a user over an open listener"),
        pytest.param({"ssl_ca": "FILE"}, "use SSL or SASL_SSL", id="an authority over an open listener"),
        pytest.param({"security_protocol": "SSL", "ssl_certificate": "FILE"}, "go together", id="no key"),
        pytest.param({"security_protocol": "SSL", "ssl_ca": "missing.pem"}, "not point to a file", id="no such file"),
        pytest.param({"security_protocol": "ssl"}, "'PLAINTEXT', 'SSL'", id="a misspelt protocol"),
    ],
)
def test_half_of_a_security_is_refused(given: dict[str, str], sentence: str, tmp_path: Path) -> None:
    """A client that is not what its operator thinks must not start."""
    file = tmp_path / "some.pem"
    file.touch()
    with pytest.raises(ValidationError, match=sentence):
        kafka(**{name: value.replace("FILE", str(file)) for name, value in given.items()})


def test_clickhouse_over_https(tmp_path: Path) -> None:
    """An authority without TLS would be a promise that nothing keeps."""
    authority = tmp_path / "ca.pem"
    authority.touch()
    assert ClickHouseSettings(secure=True, ca=authority, http_port=8443).address == "https://127.0.0.1:8443"
    with pytest.raises(ValidationError, match="set secure to true"):
        ClickHouseSettings(ca=authority)
