"""Faust proves itself to the broker with the settings that every other client has."""

import ssl
from pathlib import Path

import pytest
from faust.auth import SASLCredentials, SSLCredentials

from tachograph.processors.credentials import credentials
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import KafkaSettings
from tests.pipeline.secured import Authority


def test_an_open_listener() -> None:
    """Nothing is proved to nobody."""
    assert credentials(KafkaSettings()) is None


def test_a_user_without_tls() -> None:
    """Mechanism and user as they are set."""
    found = credentials(
        KafkaSettings.model_validate(
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_username": "u",
                "sasl_password": "canary",
            }
        )
    )
    assert isinstance(found, SASLCredentials)
    assert (found.protocol.value, found.mechanism.value, found.username, found.password, found.ssl_context) == (
        "SASL_PLAINTEXT",
        "PLAIN",
        "u",
        "canary",
        None,
    )
    assert "canary" not in repr(found)


def test_a_certificate_over_tls(tmp_path: Path) -> None:
    """The broker is checked too, by name and by authority."""
    authority = Authority(tmp_path)
    certificate, key = authority.issue("client", "hidden")
    kafka = {"security_protocol": "SSL", "ssl_ca": authority.file, "ssl_certificate": certificate, "ssl_key": key}
    found = credentials(KafkaSettings.model_validate(kafka | {"ssl_key_password": "hidden"}))
    assert isinstance(found, SSLCredentials)
    assert found.context.verify_mode is ssl.CERT_REQUIRED
    assert found.context.check_hostname
    assert len(found.context.get_ca_certs()) == 1


@pytest.mark.parametrize("password", ["", "canary"], ids=["no password", "another password"])
def test_a_key_that_does_not_open(tmp_path: Path, password: str) -> None:
    """A sentence, at once: OpenSSL would ask for the password on the terminal."""
    authority = Authority(tmp_path)
    certificate, key = authority.issue("client", "hidden")
    kafka = {"security_protocol": "SSL", "ssl_certificate": certificate, "ssl_key": key, "ssl_key_password": password}
    with pytest.raises(ConfigError, match=r"is kafka\.ssl_key_password right") as refused:
        credentials(KafkaSettings.model_validate(kafka))
    assert "canary" not in str(refused.value)
