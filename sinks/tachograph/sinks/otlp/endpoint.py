"""Where OTLP goes: our settings, and the variables that every exporter of OpenTelemetry reads. Pure.

A setting of ours wins; then the variable of the signal (``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT``), which is taken as it
is; then the general one (``OTEL_EXPORTER_OTLP_ENDPOINT``), to which the path of the signal is added. Headers are put
together, in the same order of precedence. Errors name the setting and never its value, which may be a secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import OtlpSettings
from tachograph.sinks.otlp.requests import Exported

DEFAULT: Final = "http://127.0.0.1:4318"
_PREFIX: Final = "OTEL_EXPORTER_OTLP_"
_OURS: Final = "TACHOGRAPH_OTLP__"
_PROTOCOL: Final = "http/protobuf"


@dataclass(frozen=True, slots=True)
class Target:
    """One signal's receiver."""

    url: str
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    """May hold a key, so they are in no repr."""
    timeout_s: float = 10.0
    gzip: bool = True
    certificate: Path | None = None
    """Authority that the receiver's certificate is checked with; the system's if there is none."""
    client_certificate: Path | None = None
    client_key: Path | None = None

    @property
    def shown(self) -> str:
        """The address without what could be a secret in it."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def targets(settings: OtlpSettings, environment: Mapping[str, str]) -> dict[Exported, Target]:
    """Where each signal goes. Raises ConfigError if a setting or a variable is not usable."""
    return {signal: _Reading(settings, environment, signal).target() for signal in Exported}


@dataclass(frozen=True, slots=True)
class _Reading:
    settings: OtlpSettings
    environment: Mapping[str, str]
    signal: Exported

    def target(self) -> Target:
        certificate = self.settings.client_certificate or self._path("CLIENT_CERTIFICATE")
        key = self.settings.client_key or self._path("CLIENT_KEY")
        if key is not None and certificate is None:
            raise ConfigError(f"a client key needs its certificate: set {_OURS}CLIENT_CERTIFICATE, too")
        return Target(
            url=self._url(),
            headers=self._headers(),
            timeout_s=self._timeout_s(),
            gzip=self._compression() == "gzip",
            certificate=_there(self.settings.certificate or self._path("CERTIFICATE"), "CERTIFICATE"),
            client_certificate=_there(certificate, "CLIENT_CERTIFICATE"),
            client_key=_there(key, "CLIENT_KEY"),
        )

    def _url(self) -> str:
        path = f"/v1/{self.signal.value}"
        if self.settings.endpoint:
            return _checked(_base(self.settings.endpoint) + path, f"{_OURS}ENDPOINT")
        own, general = self._named(f"{self.signal.value.upper()}_ENDPOINT"), self._named("ENDPOINT")
        if own or general:
            self._check_protocol()
        if own:
            return _checked(own, f"{_PREFIX}{self.signal.value.upper()}_ENDPOINT")
        return _checked(_base(general or DEFAULT) + path, f"{_PREFIX}ENDPOINT")

    def _check_protocol(self) -> None:
        # Only where the address is theirs too: the variable may be meant for another program in the same environment.
        said = self._variable("PROTOCOL")
        if said and said != _PROTOCOL:
            raise ConfigError(
                f"{_PREFIX}PROTOCOL asks for a protocol that this exporter does not speak: it sends {_PROTOCOL}. Set "
                f"{_OURS}ENDPOINT to where the collector takes that, usually port 4318"
            )

    def _headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, text in (
            (f"{_PREFIX}HEADERS", self._named("HEADERS")),
            (f"{_PREFIX}{self.signal.value.upper()}_HEADERS", self._named(f"{self.signal.value.upper()}_HEADERS")),
            (f"{_OURS}HEADERS", self.settings.headers.get_secret_value()),
        ):
            found |= _pairs(text, name)
        return found

    def _timeout_s(self) -> float:
        said = self._variable("TIMEOUT")
        if self.settings.timeout_s is not None or not said:
            return self.settings.timeout_s or 10.0
        if not said.isascii() or not said.isdigit() or int(said) == 0:
            raise ConfigError(f"{_PREFIX}TIMEOUT must be a number of milliseconds")
        return int(said) / 1000

    def _compression(self) -> str:
        said = self.settings.compression or self._variable("COMPRESSION") or "gzip"
        if said not in {"gzip", "none"}:
            raise ConfigError(f"{_PREFIX}COMPRESSION must be gzip or none")
        return said

    def _path(self, name: str) -> Path | None:
        said = self._variable(name)
        return Path(said) if said else None

    def _variable(self, name: str) -> str:
        """Of the signal, or else of all."""
        return self._named(f"{self.signal.value.upper()}_{name}") or self._named(name)

    def _named(self, name: str) -> str:
        return self.environment.get(f"{_PREFIX}{name}", "").strip()


def _base(endpoint: str) -> str:
    """The address without a path that is added anyway."""
    plain = endpoint.rstrip("/")
    for signal in Exported:
        plain = plain.removesuffix(f"/v1/{signal.value}")
    return plain


def _checked(url: str, name: str) -> str:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise ConfigError(f"{name} must be an address such as {DEFAULT} or https://collector.example")
    if parts.username or parts.password:
        raise ConfigError(f"{name} must hold no password, it would end up in logs: set {_OURS}HEADERS instead")
    return url


def _pairs(text: str, name: str) -> dict[str, str]:
    """``key=value,key2=value2``, values percent-encoded, as the specification has it."""
    found = {}
    for part in text.split(","):
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        plain, said = key.strip().lower(), unquote(value.strip())
        sound = plain.isascii() and plain.replace("-", "").replace("_", "").replace(".", "").isalnum()
        if not equals or not sound or not said.isascii() or not said.isprintable():
            raise ConfigError(f"{name} must be name=value pairs, separated by commas; odd characters as %XX")
        found[plain] = said
    return found


def _there(path: Path | None, name: str) -> Path | None:
    if path is not None and not path.is_file():
        raise ConfigError(f"{_OURS}{name}, or the variable of OpenTelemetry beside it, names a file that is not there")
    return path
