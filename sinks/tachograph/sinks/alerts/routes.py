"""The file of routes: who hears of what, how often, and when not. Checked whole before anything is read."""

from datetime import time
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tachograph.schemas.documents import read_documents
from tachograph.schemas.enums import Severity
from tachograph.schemas.errors import DocumentError
from tachograph.schemas.topics import ViolationKind

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Variable = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
GroupKey = Literal["tenant", "agent", "kind", "code", "severity", "run", "subject"]

DAYS: Final[tuple[Day, ...]] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Rate(_Part):
    """How much a receiver can bear. What exceeds it waits, and joins what is sent next."""

    messages: Annotated[int, Field(ge=1)] = 30
    """Messages in a row, and in ``per_s``."""
    per_s: Annotated[float, Field(gt=0)] = 60.0
    """Seconds after which as many may go again."""


class Retry(_Part):
    """What happens when a receiver does not take a message."""

    first_s: Annotated[float, Field(gt=0)] = 1.0
    """Wait before the second attempt; each later wait is twice as long."""
    longest_s: Annotated[float, Field(gt=0)] = 300.0
    """Longest wait between two attempts."""
    give_up_after_s: Annotated[float, Field(gt=0)] = 6 * 3600.0
    """Time after the first attempt from which a failure makes dead letters."""


class Receiver(_Part):
    """Somebody who hears of violations."""

    name: Name
    type: Literal["webhook", "alertmanager", "slack", "stdout"]
    url: str | None = None
    """Where to post. For Alertmanager its root, to which ``/api/v2/alerts`` is added."""
    url_env: Variable | None = None
    """Environment variable that holds the address, where the address is itself a secret."""
    secret_env: Variable | None = None
    """Environment variable that holds the key a webhook's body is signed with."""
    timeout_s: Annotated[float, Field(gt=0, le=120)] = 10.0
    """Time for the whole exchange, from connecting to the last byte of the answer."""
    largest: Annotated[int, Field(ge=1, le=1000)] = 50
    """Most alerts in one message."""
    rate: Rate = Rate()
    retry: Retry = Retry()

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url is not None:
            check_address(url)
        return url

    @model_validator(mode="after")
    def _is_whole(self) -> "Receiver":
        if self.type == "stdout":
            if self.url or self.url_env or self.secret_env:
                raise ValueError("stdout takes no url, url_env or secret_env")
        elif (self.url is None) == (self.url_env is None):
            raise ValueError(f"a {self.type} needs either url or url_env")
        if self.type == "webhook" and self.secret_env is None:
            raise ValueError("a webhook needs secret_env: its body is signed")
        if self.secret_env is not None and self.type != "webhook":
            raise ValueError("only a webhook is signed: leave secret_env out")
        return self


class QuietHours(_Part):
    """When a route holds its alerts back. They are delivered together when it ends."""

    timezone: str = "UTC"
    """Name of the time zone, such as ``Europe/Berlin``."""
    start: time
    """Local time at which it begins."""
    end: time
    """Local time at which it ends; before ``start``, it is that of the next day."""
    days: Annotated[tuple[Day, ...], Field(min_length=1)] = DAYS
    """Days on which it begins."""
    unless: Severity = Severity.CRITICAL
    """Alerts at least this severe are delivered at any hour."""

    @field_validator("timezone")
    @classmethod
    def _exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise ValueError("no such time zone here (is the tzdata package installed?)") from None
        return name

    @model_validator(mode="after")
    def _lasts(self) -> "QuietHours":
        if self.start == self.end:
            raise ValueError("start and end are the same")
        return self


class Match(_Part):
    """What a route is for. Everything named must hold; what is left out matches all."""

    kinds: tuple[ViolationKind, ...] = ()
    at_least: Severity = Severity.INFO
    """Least severity."""
    agents: tuple[str, ...] = ()
    """Names with ``*`` and ``?``."""
    tenants: tuple[str, ...] = ()
    """Names with ``*`` and ``?``."""
    codes: tuple[str, ...] = ()
    """Codes with ``*`` and ``?``."""


class Route(_Part):
    """One line of the routing table. The first that matches decides, unless it says to go on."""

    name: Name
    match: Match = Match()
    receivers: Annotated[tuple[Name, ...], Field(min_length=1)]
    group_by: tuple[GroupKey, ...] = ("tenant", "kind", "code")
    """Alerts equal in these go out as one message."""
    group_wait_s: Annotated[float, Field(ge=0, le=3600)] = 5.0
    """How long the first alert of a group waits for others."""
    quiet_hours: QuietHours | None = None
    go_on: bool = False
    """Look at the routes below as well."""


class RoutingTable(_Part):
    """The whole file."""

    receivers: Annotated[tuple[Receiver, ...], Field(min_length=1)]
    routes: Annotated[tuple[Route, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_fit(self) -> "RoutingTable":
        for what, names in (
            ("receivers", [receiver.name for receiver in self.receivers]),
            ("routes", [route.name for route in self.routes]),
        ):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"{what} of the same name: {', '.join(twice)}")
        known = {receiver.name for receiver in self.receivers}
        for route in self.routes:
            if unknown := sorted(set(route.receivers) - known):
                raise ValueError(f"route {route.name} names receivers that are not there: {', '.join(unknown)}")
        return self

    def receiver(self, name: str) -> Receiver:
        """The receiver of this name."""
        return next(receiver for receiver in self.receivers if receiver.name == name)


EVERYTHING_TO_STDOUT: Final = RoutingTable(
    receivers=(Receiver(name="stdout", type="stdout", rate=Rate(messages=10_000, per_s=1)),),
    routes=(Route(name="everything", receivers=("stdout",), group_wait_s=0),),
)
"""What holds where there is no file."""


def load_routes(path: Path | None) -> RoutingTable:
    """The routing table of the file. Raises DocumentError with every mistake and its line."""
    if path is None:
        return EVERYTHING_TO_STDOUT
    tables = read_documents(path, RoutingTable)
    if len(tables) != 1:
        raise DocumentError(f"{path}: {len(tables)} documents; a routing table is one")
    return tables[0]


def check_address(url: str) -> None:
    """Raise ValueError unless ``url`` is an address that can be posted to. Does not repeat it: it may be a secret."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("needs an address that begins with http:// or https://")
    if parts.username or parts.password:
        raise ValueError("a password in the address would end up in logs: use url_env and a token in the path")
