"""Every setting of every component, in one frozen tree.

Read once, at the edge, by :func:`load_settings`. Later sources win: defaults, ``<home>/stack.env`` (written by
``tachograph up``), then the environment (``TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS`` sets ``kafka.bootstrap_servers``).
Secrets are ``SecretStr``: they never appear in a repr, a log or ``tachograph config show``.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FilePath, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from tachograph.schemas.errors import ConfigError

ENV_PREFIX = "TACHOGRAPH_"
STACK_ENV_FILE = "stack.env"

LogFormat = Literal["text", "json"]
Port = Annotated[int, Field(ge=0, le=65535)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class KafkaSettings(_Section):
    """How every client of ours reaches the broker."""

    bootstrap_servers: str = "127.0.0.1:9092"
    """Comma-separated ``host:port`` list."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How the broker's listener is secured. With ``…SSL`` its certificate must name the host that we connect to."""

    ssl_ca: FilePath | None = None
    """PEM file of the authorities that may have signed the broker's certificate. Not set: the system's."""

    ssl_certificate: FilePath | None = None
    """PEM file of our own certificate, for brokers that ask for one. Needs ``ssl_key``."""

    ssl_key: FilePath | None = None
    """PEM file of its private key."""

    ssl_key_password: SecretStr = SecretStr("")
    """What the private key is encrypted with. Empty: it is not."""

    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """How the user is proved, with ``SASL_…``."""

    sasl_username: str = ""
    """User, with ``SASL_…``."""

    sasl_password: SecretStr = SecretStr("")
    """Password of the user."""

    request_timeout_ms: int = 10_000
    """How long a metadata or admin request may take before the broker counts as unreachable."""

    partitions: Annotated[int, Field(ge=1, le=1024)] = 4
    """Partitions of every topic. All topics have the same count, because input partition p is written to
    partition p of every output. Fixed once topics exist: changing it would send a run's records elsewhere."""

    replication_factor: Annotated[int, Field(ge=1, le=9)] = 1
    """Replicas of every topic. 3 on a cluster."""

    @property
    def address(self) -> str:
        """Where it is and how we come, for sentences."""
        how = "" if self.security_protocol == "PLAINTEXT" else f" over {self.security_protocol}"
        return f"{self.bootstrap_servers}{how}" + (f" as {self.sasl_username}" if self.has_sasl else "")

    @property
    def has_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security_protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        """Whether a user is proved."""
        return self.security_protocol.startswith("SASL")

    def client(self, **extra: Any) -> dict[str, Any]:
        """Settings for librdkafka shared by every client, with ``extra`` on top."""
        return {"bootstrap.servers": self.bootstrap_servers, **self._security(), **extra}

    def _security(self) -> dict[str, Any]:
        if self.security_protocol == "PLAINTEXT":
            return {}
        files = {
            "ssl.ca.location": self.ssl_ca,
            "ssl.certificate.location": self.ssl_certificate,
            "ssl.key.location": self.ssl_key,
        }
        found: dict[str, Any] = {"security.protocol": self.security_protocol}
        if self.has_tls:
            found |= {name: str(path) for name, path in files.items() if path is not None}
            if key_password := self.ssl_key_password.get_secret_value():
                found["ssl.key.password"] = key_password
        if self.has_sasl:
            found["sasl.mechanism"] = self.sasl_mechanism
            found["sasl.username"] = self.sasl_username
            found["sasl.password"] = self.sasl_password.get_secret_value()
        return found

    @model_validator(mode="after")
    def _security_is_whole(self) -> "KafkaSettings":
        if self.has_sasl and not (self.sasl_username and self.sasl_password.get_secret_value()):
            raise ValueError(f"{self.security_protocol} needs sasl_username and sasl_password")
        if (self.ssl_certificate is None) != (self.ssl_key is None):
            raise ValueError("ssl_certificate and ssl_key go together: give both or neither")
        if not self.has_tls and (self.ssl_ca or self.ssl_certificate):
            raise ValueError(f"the files of ssl_… mean nothing with {self.security_protocol}: use SSL or SASL_SSL")
        if not self.has_sasl and self.sasl_username:
            raise ValueError(f"sasl_username means nothing with {self.security_protocol}: use SASL_SSL")
        return self


class ClickHouseSettings(_Section):
    """How sinks, migrations and readers reach ClickHouse. One account per role."""

    host: str = "127.0.0.1"
    """Host of the HTTP interface."""

    http_port: Port = 8123
    """Port of the HTTP interface, or with ``secure`` of the HTTPS interface, which is 8443 by ClickHouse's default."""

    secure: bool = False
    """Speak HTTPS. The server's certificate must name ``host``."""

    ca: FilePath | None = None
    """PEM file of the authorities that may have signed the server's certificate. Not set: those of the package
    certifi. Needs ``secure``."""

    database: str = "tachograph"
    """Database that holds every table of ours."""

    connect_timeout_s: float = 5.0
    """Seconds to wait for a connection before ClickHouse counts as unreachable."""

    sink_user: str = "tachograph_sink"
    """May INSERT and nothing else."""

    sink_password: SecretStr = SecretStr("")
    """Password of ``sink_user``."""

    console_user: str = "tachograph_console"
    """May SELECT and nothing else."""

    console_password: SecretStr = SecretStr("")
    """Password of ``console_user``."""

    migrate_user: str = "tachograph_migrate"
    """May create and alter our tables."""

    migrate_password: SecretStr = SecretStr("")
    """Password of ``migrate_user``."""

    @property
    def address(self) -> str:
        """Where it is, for sentences."""
        return f"{'https' if self.secure else 'http'}://{self.host}:{self.http_port}"

    @model_validator(mode="after")
    def _ca_is_used(self) -> "ClickHouseSettings":
        if self.ca is not None and not self.secure:
            raise ValueError("ca means nothing without secure: set secure to true")
        return self


class SchemaRegistrySettings(_Section):
    """Optional Confluent schema registry. Without it, schemas travel in the package."""

    url: str | None = None
    """Address of the registry; ``mock://name`` is an in-process one for tests. Unset: single-object encoding."""


class WorkerSettings(_Section):
    """The Faust worker."""

    app_id: str = "tachograph-worker"
    """Consumer group and prefix of the state's changelog topic. Change it and the worker starts from nothing."""

    instance_id: str = ""
    """Static group membership: a worker that restarts under the same id gets its partitions back at once instead of
    after ``session_timeout_s``. Empty: dynamic membership."""

    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 2000
    """Most records handled between two flushes."""

    batch_within_s: Annotated[float, Field(gt=0, le=60)] = 0.1
    """Longest wait for a batch to fill, in seconds. A lower bound on latency at low traffic."""

    session_timeout_s: Annotated[float, Field(ge=1)] = 10.0
    """Silence after which the broker gives a worker's partitions to another."""

    delivery_timeout_s: Annotated[float, Field(ge=1)] = 60.0
    """How long an output may stay unacknowledged before the worker stops without acknowledging its input."""

    join_timeout_s: Annotated[float, Field(gt=0)] = 900.0
    """How long a tool call waits for its missing parts, by the broker's clock, while its run goes on. Longer than the
    slowest tool takes, or its result is reported as late."""

    run_silence_s: Annotated[float, Field(gt=0)] = 3600.0
    """Seconds without a record after which a run that has not ended is reported."""

    sweep_interval_s: Annotated[float, Field(gt=0)] = 5.0
    """How often silent runs are looked for."""

    http_port: Port = 0
    """Port of ``/metrics``, ``/healthz`` and ``/readyz``. 0: off."""

    http_host: str = "127.0.0.1"
    """Address they are served on. They carry counts, no content, and ask for no password."""


class DeadLetterSettings(_Section):
    """When bad input stops being an accident and becomes an outage."""

    max_ratio: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of dead letters among the last ``ratio_window`` records past which the worker stops."""

    ratio_window: Annotated[int, Field(ge=10)] = 1000
    """Records over which the ratio is taken. Not judged before that many were seen."""

    max_consecutive: Annotated[int, Field(ge=1)] = 500
    """Dead letters in a row on one partition past which the worker stops."""


class SinkSettings(_Section):
    """The ClickHouse sink."""

    group_id: str = "tachograph-sink"
    """Consumer group. The plan of an unfinished insert lives in its offset metadata."""

    instance_id: str = ""
    """Static group membership, as for the worker."""

    batch_rows: Annotated[int, Field(ge=1, le=500_000)] = 20_000
    """Most rows in one insert. One insert must stay one ClickHouse block, so that it lands whole or not at all."""

    batch_bytes: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    """Most bytes in one insert."""

    batch_within_s: Annotated[float, Field(gt=0, le=60)] = 0.5
    """Longest time a row waits for its batch to fill, in seconds."""

    session_timeout_s: Annotated[float, Field(ge=1)] = 10.0
    """Silence after which the broker gives a sink's partitions to another."""

    http_port: Port = 0
    """Port of ``/metrics``, ``/healthz`` and ``/readyz``. 0: off."""

    http_host: str = "127.0.0.1"
    """Address they are served on, as for the worker."""


class EvaluateSettings(_Section):
    """What the stream judges events by."""

    rules: Path | None = None
    """Folder of rule packs, or one pack. Not set: those that ship with the package. Read again on SIGHUP."""

    group_id: str = "tachograph-evaluators"
    """Consumer group of the plug-in evaluators, which are a process of their own."""

    instance_id: str = ""
    """Static group membership of that process, as for the worker."""

    http_port: Port = 0
    """Port of ``/metrics``, ``/healthz`` and ``/readyz``. 0: off."""

    http_host: str = "127.0.0.1"
    """Address they are served on, as for the worker."""


class JudgeSettings(_Section):
    """A judge model behind an OpenAI-compatible API. Off until it has an address and a model."""

    url: str = ""
    """Base address, such as ``http://127.0.0.1:8000/v1``. Content goes there in the mode it was captured in."""

    model: str = ""
    """Model that judges."""

    api_key: SecretStr = SecretStr("")
    """Sent as a bearer token, if there is one."""

    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Seconds for one answer; after that it is unknown."""

    max_characters: Annotated[int, Field(ge=1)] = 16_000
    """Characters of each text that are sent."""


class AlertSettings(_Section):
    """The consumer that turns violations into alerts."""

    group_id: str = "tachograph-alerts"
    """Consumer group. What it has committed was delivered, or is a dead letter."""

    instance_id: str = ""
    """Static group membership, as for the worker."""

    routes: Path | None = None
    """YAML file that says who hears of what. Unset: everything goes to stdout as JSON lines."""

    max_waiting: Annotated[int, Field(ge=1)] = 10_000
    """Alerts that may wait in memory. Past it, quiet hours end early, and then nothing more is read."""

    session_timeout_s: Annotated[float, Field(ge=1)] = 10.0
    """Silence after which the broker gives the partitions to another."""

    http_port: Port = 0
    """Port of ``/metrics``, ``/healthz`` and ``/readyz``. 0: off."""

    http_host: str = "127.0.0.1"
    """Address they are served on, as for the worker."""


class OtlpSettings(_Section):
    """Where ``tachograph export otlp`` sends to.

    What is not set here is taken from the variables of OpenTelemetry's own exporters (``OTEL_EXPORTER_OTLP_…``).
    """

    endpoint: str = ""
    """Address of the collector, such as ``http://127.0.0.1:4318``; ``/v1/traces`` and ``/v1/logs`` are added. Empty:
    the variables of OpenTelemetry, or else port 4318 of this machine."""

    headers: SecretStr = SecretStr("")
    """Headers of every request, ``name=value,name2=value2``, values percent-encoded: keys and tenants of backends."""

    timeout_s: Annotated[float, Field(gt=0, le=600)] | None = None
    """Seconds for one request. Unset: the variable of OpenTelemetry, or else 10."""

    compression: Literal["", "gzip", "none"] = ""
    """How bodies are packed. Empty: the variable of OpenTelemetry, or else gzip."""

    certificate: Path | None = None
    """Certificates, PEM, that the collector's is checked with. Unset: the variable of OpenTelemetry, or else the
    system's authorities."""

    client_certificate: Path | None = None
    """Certificate, PEM, that we show to the collector."""

    client_key: Path | None = None
    """Its private key, PEM."""

    semconv: str = ""
    """Version of the semantic conventions whose attribute names are used, such as ``1.37``. Empty: the latest that is
    known."""

    batch_items: Annotated[int, Field(ge=1, le=10_000)] = 512
    """Most spans or logs in one request."""

    batch_bytes: Annotated[int, Field(ge=1024)] = 2 * 1024 * 1024
    """About how many bytes a request may have before it is packed. Collectors refuse 4 MiB and more by default."""

    patience_s: Annotated[float, Field(ge=0)] = 120.0
    """How long a batch is sent again while the collector is away, in seconds. With ``--follow``: until it is back."""

    poll_s: Annotated[float, Field(gt=0, le=3600)] = 5.0
    """With ``--follow``: seconds between two looks at what has landed."""

    settle_s: Annotated[float, Field(ge=0, le=3600)] = 5.0
    """With ``--follow``: how long rows rest before they are exported, so that a span's parent has landed, too. On a
    cluster longer than replicas lag."""


class SloSettings(_Section):
    """The evaluator of service level objectives."""

    group_id: str = "tachograph-slo"
    """Consumer group that is the lock: of all evaluators, the one that holds its partition evaluates."""

    folder: Path | None = None
    """Folder of OpenSLO files. Unset: the objectives that are shipped."""

    every_s: Annotated[int, Field(ge=60, le=3600, multiple_of=60)] = 60
    """Seconds between evaluations, which are at whole multiples of it. Events are counted by whole minutes, so it is
    a number of minutes."""

    lateness_s: Annotated[int, Field(ge=0, le=86_400)] = 120
    """How long events may take to arrive. Evaluations look at the moment so long ago."""

    session_timeout_s: Annotated[float, Field(ge=1)] = 10.0
    """Silence after which another evaluator takes over."""

    http_port: Port = 0
    """Port of ``/metrics``, ``/healthz`` and ``/readyz``. 0: off."""

    http_host: str = "127.0.0.1"
    """Address they are served on, as for the worker."""


class ArtifactSettings(_Section):
    """The artifact store: where blobs are, where keys are, how long blobs are kept."""

    url: str = ""
    """``s3://bucket/prefix``, or ``file:///folder``. Empty: the folder ``artifacts`` of ``home``. Credentials and
    endpoint of S3 come from the usual ``AWS_…`` variables."""

    key_folder: Path | None = None
    """Folder of the tenants' keys, one file each. Unset: the folder ``keys/tenants`` of ``home``."""

    short_days: Annotated[int, Field(ge=1, le=89)] = 14
    """Days that blobs of class ``short`` are kept: snapshots are. Always fewer than the 90 days of manifests."""

    standard_days: Annotated[int, Field(ge=1)] = 90
    """Days that blobs of class ``standard`` are kept."""

    protected_days: Annotated[int, Field(ge=1)] = 730
    """Days that blobs of class ``protected`` are kept."""

    collect_every_s: Annotated[float, Field(ge=1)] = 3600.0
    """Seconds between two rounds of the snapshot step that delete what these days no longer keep."""


class SnapshotSettings(_Section):
    """The snapshot step: copies what a fault captured to the artifact store."""

    group_id: str = "tachograph-snapshots"
    """Consumer group."""

    instance_id: str = ""
    """Static group membership, as for the worker."""

    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Most messages handled between two commits."""

    session_timeout_s: Annotated[float, Field(ge=1)] = 10.0
    """Silence after which the broker gives a snapshot step's partitions to another."""

    lookback_s: Annotated[float, Field(gt=0)] = 900.0
    """How long before its failure record a capture may have reached the broker. Bounds what is read to find one."""

    grace_s: Annotated[float, Field(ge=0, le=120)] = 10.0
    """How long after its failure record a capture may reach the broker before it counts as missing."""

    index_entries: Annotated[int, Field(ge=1)] = 100_000
    """Captures whose place is remembered; the oldest are forgotten, and found again by reading."""

    copies_at_once: Annotated[int, Field(ge=1, le=256)] = 8
    """Captures that are copied side by side. Bounds memory: a capture has at most 16 MB."""

    keep_one_in: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Of the prompts that an agent's recorder offers as samples, how many are kept: 1 in N, by agent; 0 is none.
    ``*`` stands for every agent that is not named. Empty: every sample that is offered is kept."""

    http_port: Port = 0
    """Port of ``/metrics``, ``/healthz`` and ``/readyz``. 0: off."""

    http_host: str = "127.0.0.1"
    """Address they are served on, as for the worker."""


class SealerSettings(_Section):
    """The sealer: judges proposed records against the catalog, and seals them."""

    group_id: str = "tachograph-sealer"
    """Consumer group. What it commits says from where open runs are read again, and how far all is sealed."""

    instance_id: str = ""
    """Static group membership, as for the worker."""

    catalog: Path | None = None
    """Folder of the decision catalog. Unset: the example that ships with the package."""

    key_set: Path | None = None
    """YAML file of the public keys, with their windows. Unset: ``keys/sealing.yaml`` of ``home``."""

    key_file: Path | None = None
    """File of the private keys, mode 0600. Unset: ``keys/sealing.key`` of ``home``. ``tachograph up`` makes both."""

    create_keys: bool = False
    """Make a first key and its set at the start, where there is neither. For a machine that keeps its own key."""

    custody: str = "file"
    """Where the private keys are: ``file`` (``key_file``), ``socket`` (a ``tachograph signer`` at ``socket``), or the
    name of an entry point in ``tachograph.signers``, which is called with the settings and returns a signer."""

    socket: Path | None = None
    """Unix socket of the signing process. Unset: ``keys/signer.sock`` of ``home``."""

    signer_users: tuple[int, ...] = ()
    """Numbers of the users that the signing process answers, beside its own."""

    signer_owner: int | None = None
    """Number of the user that the signing process must run as. Unset: the sealer's own."""

    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Most messages handled between two checkpoints."""

    run_silence_s: Annotated[float, Field(gt=0)] = 86_400.0
    """How long the evidence of a run that has fallen silent is remembered, by the broker's clock. After that its
    references no longer resolve. A run that ends is forgotten at once."""

    session_timeout_s: Annotated[float, Field(ge=1)] = 10.0
    """Silence after which the broker gives a sealer's partitions to another."""

    http_port: Port = 0
    """Port of ``/metrics``, ``/healthz`` and ``/readyz``. 0: off."""

    http_host: str = "127.0.0.1"
    """Address they are served on, as for the worker."""


class AnchorSettings(_Section):
    """Heads of all logs, and who is told of them."""

    every_s: Annotated[int, Field(ge=1, le=3600)] = 60
    """Seconds between heads records of one tenant. Only what has changed is said again."""

    file: Path | None = None
    """File that every heads record is appended to: on another machine's disk it is an anchor, on this one a copy.
    Unset: ``anchors/heads.jsonl`` of ``home``."""

    rfc3161_url: str = ""
    """Time-stamping authority (RFC 3161), such as ``https://tsa.example/tsr``. Empty: none. Needs the extra
    ``anchor``. It sees a hash and nothing else."""

    rfc3161_root: Path | None = None
    """Certificate of the authority's root, PEM: what its tokens are checked against before they are kept. Unset: the
    token is checked for the hash and the nonce only."""

    plugins: tuple[str, ...] = ()
    """Names of entry points in ``tachograph.anchors``, each called with the settings, that anchor too."""

    timeout_s: Annotated[float, Field(gt=0, le=300)] = 10.0
    """Seconds that an anchor may take before it counts as down."""


class DoctorSettings(_Section):
    """When ``tachograph doctor`` calls something wrong."""

    min_free_mib: Annotated[int, Field(ge=1)] = 1024
    """Mebibytes that must be free where the state lies. Kafka stops for good when a write fails."""

    max_lag: Annotated[int, Field(ge=0)] = 10_000
    """Messages that worker, sink or snapshot step may be behind."""

    max_clock_skew_s: Annotated[float, Field(gt=0)] = 5.0
    """Seconds by which this machine's clock and ClickHouse's may disagree."""


class ConsoleSettings(_Section):
    """The web console. Without ``oidc_issuer`` it serves this machine only, behind a one-time token."""

    host: str = "127.0.0.1"
    """Address it listens on. Anything but a loopback address needs ``oidc_issuer``."""

    port: Port = 8642
    """Port it listens on. 0: any free one."""

    public_url: str = ""
    """Address under which browsers reach it, such as ``https://tachograph.example.com``, if that is not host and port.
    With ``https`` cookies are marked Secure."""

    local_role: Literal["viewer", "auditor", "operator"] = "operator"
    """Role of whoever signs in with the one-time token. Its tenant is ``tenant_id``."""

    session_hours: Annotated[float, Field(gt=0, le=168)] = 12.0
    """Hours after which a session ends and has to be signed in again."""

    oidc_issuer: str = ""
    """OpenID Connect issuer; its discovery document is read from ``/.well-known/openid-configuration`` below it.
    Set: people sign in there, and the one-time token is off."""

    oidc_client_id: str = ""
    """Client id of the console at the issuer."""

    oidc_client_secret: SecretStr = SecretStr("")
    """Its secret. Empty: a public client, protected by PKCE alone."""

    oidc_scopes: str = "openid profile"
    """Scopes that are asked for."""

    oidc_tenant_claim: str = "tachograph_tenant"
    """Claim of the id token that names the tenant. Without it nobody gets in."""

    oidc_role_claim: str = "tachograph_role"
    """Claim of the id token that holds the role, or a list of roles of which the strongest counts. Without one of
    viewer, auditor and operator nobody gets in."""


class LocalSettings(_Section):
    """The servers that ``tachograph up`` starts on this machine. A port of 0 means any free one."""

    kafka_port: Port = 0
    """Broker port."""

    controller_port: Port = 0
    """Port of the KRaft controller."""

    clickhouse_http_port: Port = 0
    """HTTP port."""

    clickhouse_tcp_port: Port = 0
    """Native protocol port."""


class Settings(BaseSettings):
    """All settings. Frozen: what a process started with is what it runs with."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",  # the environment may hold settings of a newer version
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        use_attribute_docstrings=True,
    )

    home: Path = Path(".tachograph")
    """State folder of the local stack: data, logs, generated passwords."""

    tenant_id: str = "default"
    """Tenant that records belong to when a producer names none."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Least severe level that is logged."""

    log_format: LogFormat = "text"
    """How worker and sink log: ``text`` for people, ``json`` for machines, one object per line."""

    kafka: KafkaSettings = KafkaSettings()
    clickhouse: ClickHouseSettings = ClickHouseSettings()
    schema_registry: SchemaRegistrySettings = SchemaRegistrySettings()
    worker: WorkerSettings = WorkerSettings()
    dlq: DeadLetterSettings = DeadLetterSettings()
    sink: SinkSettings = SinkSettings()
    evaluate: EvaluateSettings = EvaluateSettings()
    judge: JudgeSettings = JudgeSettings()
    alerts: AlertSettings = AlertSettings()
    slo: SloSettings = SloSettings()
    otlp: OtlpSettings = OtlpSettings()
    artifacts: ArtifactSettings = ArtifactSettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    sealer: SealerSettings = SealerSettings()
    anchors: AnchorSettings = AnchorSettings()
    doctor: DoctorSettings = DoctorSettings()
    console: ConsoleSettings = ConsoleSettings()
    local: LocalSettings = LocalSettings()


def load_settings(home: Path | None = None, **overrides: Any) -> Settings:
    """Settings of this process. ``home`` wins over ``TACHOGRAPH_HOME``; ``overrides`` win over everything."""
    folder = home if home is not None else Path(os.environ.get(f"{ENV_PREFIX}HOME", ".tachograph"))
    try:
        return Settings(_env_file=folder / STACK_ENV_FILE, home=folder, **overrides)
    except ValidationError as error:
        problems = "; ".join(f"{_env_name(item['loc'])}: {item['msg']}" for item in error.errors(include_input=False))
        raise ConfigError(f"settings are not usable: {problems}") from None


def _env_name(location: tuple[int | str, ...]) -> str:
    return ENV_PREFIX + "__".join(str(part) for part in location).upper()
