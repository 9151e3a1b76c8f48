"""What each kind of receiver is told. Pure: bytes and headers out of a notification and a moment."""

import base64
import binascii
import hashlib
import hmac
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from tachograph.sinks.alerts.alert import Alert
from tachograph.sinks.alerts.dispatch import Notification

_SLACK_LINES: Final = 20
_SLACK_CHARACTERS: Final = 300
"""Of one line. Slack cuts a text at 40,000 characters; people stop reading long before."""
_KEY_PREFIX: Final = "whsec_"


def webhook_body(notification: Notification) -> bytes:
    """One JSON object, the same bytes for the same notification: the id is made of the violations in it."""
    return orjson.dumps(
        {
            "id": notification.id,
            "receiver": notification.receiver,
            "route": notification.route,
            "count": len(notification.alerts),
            "alerts": [described(alert) for alert in notification.alerts],
        }
    )


def webhook_headers(notification: Notification, body: bytes, secret: str, now: float) -> dict[str, str]:
    """Headers of the Standard Webhooks specification: any of its libraries can check them.

    Signed are the id, the moment and the body, so that none of them can be swapped or sent again much later.
    """
    moment = str(int(now))
    signed = b".".join((notification.id.encode(), moment.encode(), body))
    digest = hmac.new(signing_key(secret), signed, hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": notification.id,
        "webhook-timestamp": moment,
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


def signing_key(secret: str) -> bytes:
    """Bytes of the key: base64 after ``whsec_``, as the specification writes keys, else the text itself."""
    if secret.startswith(_KEY_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_KEY_PREFIX), validate=True)
        except binascii.Error:
            raise ValueError("is not base64 after whsec_") from None
    return secret.encode()


def alertmanager_body(notification: Notification) -> bytes:
    """The array that ``POST /api/v2/alerts`` takes.

    Alertmanager tells alerts apart by their labels. A violation has its id among them; an objective has not, because
    the end of its alert must carry the labels of the beginning.
    """
    return orjson.dumps([_alertmanager_alert(alert) for alert in notification.alerts])


def slack_body(notification: Notification) -> bytes:
    """A text that Slack, Mattermost and others show: a headline, and a line for each alert."""
    alerts = notification.alerts
    first = alerts[0]
    headline = f"*{len(alerts)} violations* ({first.kind})" if len(alerts) > 1 else f"*{first.kind} violation*"
    lines = [_slack_line(alert) for alert in alerts[:_SLACK_LINES]]
    more = len(alerts) - _SLACK_LINES
    if more > 0:
        lines.append(f"and {more} more")
    return orjson.dumps({"text": "\n".join([headline, *lines])})


def stdout_lines(notification: Notification) -> bytes:
    """One JSON object a line, one line an alert."""
    return b"".join(orjson.dumps(described(alert)) + b"\n" for alert in notification.alerts)


def described(alert: Alert) -> dict[str, Any]:
    """An alert as JSON."""
    return {
        "violation_id": alert.violation_id,
        "tenant_id": alert.tenant_id,
        "agent_id": alert.agent_id,
        "kind": alert.kind,
        "code": alert.code,
        "severity": alert.severity,
        "status": "resolved" if alert.resolved else "firing",
        "message": alert.message,
        "verdict": alert.verdict,
        "action": alert.action,
        "subject": alert.subject,
        "run_id": alert.run_id,
        "trace_id": alert.trace_id,
        "event_ids": list(alert.event_ids),
        "occurred_at": _rfc3339(alert.occurred_at_us),
    }


def _alertmanager_alert(alert: Alert) -> dict[str, Any]:
    labels = {
        "alertname": alert.code,
        "kind": alert.kind,
        "severity": alert.severity,
        "tenant_id": alert.tenant_id,
        "agent_id": alert.agent_id,
        "subject": alert.subject,
        **({} if alert.kind == "slo" else {"violation_id": alert.violation_id, "run_id": alert.run_id}),
    }
    found: dict[str, Any] = {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {"summary": alert.message, "violation_id": alert.violation_id, "action": alert.action},
        "startsAt": _rfc3339(alert.started_at_us),
    }
    if alert.resolved:
        found["endsAt"] = _rfc3339(alert.occurred_at_us)
    return found


def _slack_line(alert: Alert) -> str:
    state = "resolved" if alert.resolved else alert.severity
    who = "/".join(part for part in (alert.tenant_id, alert.agent_id) if part)
    text = f"[{state}] {alert.code} {who}: {alert.message}"
    flat = " ".join(text.split())
    # Cut before escaping: half an escape would show.
    cut = flat if len(flat) <= _SLACK_CHARACTERS else flat[: _SLACK_CHARACTERS - 1] + "…"
    return "• " + cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _rfc3339(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest).isoformat().replace("+00:00", "Z")
