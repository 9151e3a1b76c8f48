"""Who may do what in ClickHouse. The one source of both stacks' ``users.xml``.

The local stack renders it with hashes of generated passwords, ``docker_files.py`` with references to the environment.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

DATABASE = "tachograph"

# No Kafka, no file and no remote engines: they would let migrations reach outside the database, and a Kafka table
# stops chdb's data folder from opening again.
_ENGINES = (
    "MergeTree",
    "AggregatingMergeTree",
    "ReplacingMergeTree",
    "SummingMergeTree",
    "ReplicatedMergeTree",
    "ReplicatedAggregatingMergeTree",
    "ReplicatedReplacingMergeTree",
    "ReplicatedSummingMergeTree",
    "Null",
)

# What making replicated tables and their fronts takes, on every server of a cluster at once.
_CLUSTER_GRANTS = (
    "GRANT CLUSTER ON *.*",
    "GRANT TABLE ENGINE ON Distributed",
    "GRANT READ, WRITE ON REMOTE",
)

# One person's query may not take the machine away from the sink. Each is also the most that a query may ask for; the
# least is 1, because 0 would mean no limit.
CONSOLE_LIMITS: Mapping[str, int] = {
    "max_execution_time": 30,
    "max_memory_usage": 2 << 30,
    "max_result_rows": 1_000_000,
}

_WRITES_COMPUTED = "insert_allow_materialized_columns"


@dataclass(frozen=True)
class Account:
    """One role's login."""

    role: str
    grants: Sequence[str]
    profile: str = "default"
    quota: str = "default"

    @property
    def user(self) -> str:
        """Login name."""
        return f"tachograph_{self.role}"

    @property
    def password_variable(self) -> str:
        """Environment variable that holds the password."""
        # With two underscores it would be one of our settings, and the administrator is none of our commands' business.
        separator = "_" if self.role == "admin" else "__"
        return f"TACHOGRAPH_CLICKHOUSE{separator}{self.role.upper()}_PASSWORD"


ACCOUNTS = (
    Account(
        "migrate",
        (f"GRANT ALL ON {DATABASE}.*", *(f"GRANT TABLE ENGINE ON {engine}" for engine in _ENGINES)),
    ),
    Account("sink", (f"GRANT INSERT ON {DATABASE}.*",)),
    Account("console", (f"GRANT SELECT ON {DATABASE}.*",), profile="console"),
    Account(
        "admin",
        ("GRANT KILL QUERY ON *.*", "GRANT SYSTEM SHUTDOWN ON *.*", "GRANT SELECT ON system.processes"),
    ),
)

# The account that the engine itself runs under cannot be removed and can have no password. So it may only do what
# starting the listeners takes, from this machine, a hundred times an hour: the engine needs three.
_DEFAULT_GRANTS = ("GRANT SYSTEM LISTEN ON *.*", "GRANT SELECT ON system.numbers")
_ENGINE_QUERIES_PER_HOUR = 100
LOOPBACK_ONLY = ("127.0.0.1", "::1")
ANYWHERE = ("::/0",)

Secret = Callable[[Account], ET.Element]
"""Gives the element of ``users.xml`` by which an account's password is checked."""


def new_passwords() -> dict[str, str]:
    """A fresh password for each role."""
    return {account.role: secrets.token_urlsafe(24) for account in ACCOUNTS}


def hashed(passwords: Mapping[str, str]) -> Secret:
    """Passwords that are known now: the file holds their hashes only."""

    def element(account: Account) -> ET.Element:
        found = ET.Element("password_sha256_hex")
        found.text = hashlib.sha256(passwords[account.role].encode()).hexdigest()
        return found

    return element


def from_environment(account: Account) -> ET.Element:
    """Find the password in the server's environment."""
    return ET.Element("password", {"from_env": account.password_variable})


def users_xml(secret: Secret, networks: Sequence[str] = LOOPBACK_ONLY, *, cluster: bool = False) -> str:
    """The whole file. Only ``networks`` may log in. ``cluster`` is for servers that are several."""
    root = ET.Element("clickhouse")
    profiles = ET.SubElement(root, "profiles")
    _default_profile(ET.SubElement(profiles, "default"))
    _console_profile(ET.SubElement(profiles, "console"), cluster=cluster)
    quotas = ET.SubElement(root, "quotas")
    ET.SubElement(quotas, "default")
    interval = ET.SubElement(ET.SubElement(quotas, "engine"), "interval")
    ET.SubElement(interval, "duration").text = "3600"
    ET.SubElement(interval, "queries").text = str(_ENGINE_QUERIES_PER_HOUR)
    users = ET.SubElement(root, "users")
    engine = Account("engine", _DEFAULT_GRANTS, quota="engine")
    _add_user(users, "default", engine, ET.Element("password"), LOOPBACK_ONLY)
    for account in ACCOUNTS:
        _add_user(users, account.user, account, secret(account), networks)
        if cluster and account.role == "migrate":
            _grant(users[-1], _CLUSTER_GRANTS)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _default_profile(profile: ET.Element) -> None:
    # Guards check columns that the server computes. Whoever may write those can write anything past the guards. It is
    # forbidden to all, because an account could leave a profile of its own.
    ET.SubElement(profile, _WRITES_COMPUTED).text = "0"
    constraints = ET.SubElement(profile, "constraints")
    ET.SubElement(ET.SubElement(constraints, _WRITES_COMPUTED), "const")


def _console_profile(profile: ET.Element, *, cluster: bool) -> None:
    # 2: reads only, but may lower its own limits, which drivers do by themselves.
    ET.SubElement(profile, "readonly").text = "2"
    if cluster:  # a question about two tables of several shards asks the other table of all shards
        ET.SubElement(profile, "distributed_product_mode").text = "global"
    constraints = ET.Element("constraints")
    for name, most in CONSOLE_LIMITS.items():
        ET.SubElement(profile, name).text = str(most)
        constraint = ET.SubElement(constraints, name)
        # Servers ask each other without a limit of rows, which a least of one would make a limit of one.
        if not (cluster and name == "max_result_rows"):
            ET.SubElement(constraint, "min").text = "1"
        ET.SubElement(constraint, "max").text = str(most)
    profile.append(constraints)


def _add_user(users: ET.Element, name: str, account: Account, secret: ET.Element, networks: Sequence[str]) -> None:
    user = ET.SubElement(users, name)
    user.append(secret)
    allowed = ET.SubElement(user, "networks")
    for network in networks:
        ET.SubElement(allowed, "ip").text = network
    ET.SubElement(user, "profile").text = account.profile
    ET.SubElement(user, "quota").text = account.quota
    ET.SubElement(user, "grants")
    _grant(user, account.grants)


def _grant(user: ET.Element, grants: Sequence[str]) -> None:
    granted = user.find("grants")
    assert granted is not None
    for grant in grants:
        ET.SubElement(granted, "query").text = grant
