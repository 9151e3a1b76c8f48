"""From a receiver of the routing table to something that takes notifications."""

import sys
from collections.abc import Callable, Mapping
from typing import BinaryIO

from tachograph.schemas.errors import ConfigError
from tachograph.sinks.alerts.dispatch import Failure, Notification
from tachograph.sinks.alerts.receivers.http import post
from tachograph.sinks.alerts.receivers.payload import (
    alertmanager_body,
    signing_key,
    slack_body,
    stdout_lines,
    webhook_body,
    webhook_headers,
)
from tachograph.sinks.alerts.routes import Receiver, check_address

Receive = Callable[[Notification, float], Failure | None]
"""Takes a notification at a moment. Returns None if it arrived, else why not. Never raises for a receiver's fault."""

_JSON = {"content-type": "application/json"}
_ALERTMANAGER_PATH = "/api/v2/alerts"


def open_receiver(receiver: Receiver, environment: Mapping[str, str], out: BinaryIO | None = None) -> Receive:
    """What delivers to this receiver. Raises ConfigError if a variable it names is not usable."""
    if receiver.type == "stdout":
        return _stdout(out or sys.stdout.buffer)
    url, timeout_s = _address(receiver, environment), receiver.timeout_s
    if receiver.type == "alertmanager":
        target = url.rstrip("/") + _ALERTMANAGER_PATH
        return lambda notification, _now: post(target, alertmanager_body(notification), _JSON, timeout_s)
    if receiver.type == "slack":
        return lambda notification, _now: post(url, slack_body(notification), _JSON, timeout_s)
    return _webhook(receiver, url, environment)


def _webhook(receiver: Receiver, url: str, environment: Mapping[str, str]) -> Receive:
    variable = receiver.secret_env or ""
    secret = _variable(receiver, variable, environment)
    try:
        signing_key(secret)
    except ValueError as error:
        raise ConfigError(f"receiver {receiver.name}: the key in {variable} {error}") from None

    def deliver(notification: Notification, now: float) -> Failure | None:
        body = webhook_body(notification)
        return post(url, body, webhook_headers(notification, body, secret, now), receiver.timeout_s)

    return deliver


def _stdout(out: BinaryIO) -> Receive:
    def deliver(notification: Notification, _now: float) -> Failure | None:
        try:
            out.write(stdout_lines(notification))
            out.flush()
        except OSError as error:
            return Failure(f"stdout is closed ({type(error).__name__})")
        return None

    return deliver


def _address(receiver: Receiver, environment: Mapping[str, str]) -> str:
    if receiver.url is not None:
        return receiver.url
    variable = receiver.url_env or ""
    url = _variable(receiver, variable, environment)
    try:
        check_address(url)
    except ValueError as error:
        raise ConfigError(f"receiver {receiver.name}: {variable} {error}") from None
    return url


def _variable(receiver: Receiver, name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "")
    if not value:
        raise ConfigError(f"receiver {receiver.name}: set the environment variable {name}; it is empty")
    return value
