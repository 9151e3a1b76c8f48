"""What each receiver is told, and what its answers mean. Receivers are real, on loopback."""

import base64
import hashlib
import hmac
import io
import json
from typing import Any

import pytest

from tachograph.schemas.errors import ConfigError
from tachograph.sinks.alerts.dispatch import Failure
from tachograph.sinks.alerts.receivers import open_receiver
from tachograph.sinks.alerts.receivers.payload import alertmanager_body, slack_body, webhook_body
from tachograph.sinks.alerts.routes import Receiver
from tests.sinks.alerts.receiver import loopback_receiver
from tests.sinks.alerts.samples import NOON, alert, notification

KEY = b"0123456789abcdef"
ENVIRONMENT = {"KEY": "whsec_" + base64.b64encode(KEY).decode(), "PLAIN": "swordfish"}


def receiver(kind: str, url: str | None, **changes: Any) -> Receiver:
    return Receiver.model_validate({"name": "ops", "type": kind, "url": url} | changes)


def test_a_webhook_is_signed() -> None:
    """Anyone with the key can check id, moment and body, by the Standard Webhooks specification."""
    with loopback_receiver() as remote:
        deliver = open_receiver(receiver("webhook", remote.url + "/in?x=1", secret_env="KEY"), ENVIRONMENT)
        assert deliver(notification(alert(1)), NOON) is None
    (heard,) = remote.heard
    assert heard.path == "/in?x=1"
    assert heard.headers["webhook-id"] == "v1"
    assert heard.headers["webhook-timestamp"] == str(int(NOON))
    signed = f"v1.{int(NOON)}.".encode() + heard.body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert heard.headers["webhook-signature"] == f"v1,{expected}"
    told = json.loads(heard.body)
    assert told["id"] == "v1"
    assert told["alerts"] == [
        {
            "violation_id": "v1",
            "tenant_id": "acme",
            "agent_id": "coder",
            "kind": "policy",
            "code": "policy.scope",
            "severity": "error",
            "status": "firing",
            "message": "a change touched CI files; ask the owner",
            "verdict": "fail",
            "action": "blocked",
            "subject": "c-1",
            "run_id": "r",
            "trace_id": "t",
            "event_ids": ["e"],
            "occurred_at": "2026-05-28T20:26:40Z",
        }
    ]


def test_evidence_never_leaves() -> None:
    """It may quote what an agent said; whoever needs it looks it up by the id."""
    told = notification(alert(1), alert(2))
    for body in (webhook_body(told), alertmanager_body(told), slack_body(told)):
        assert b"canary" not in body
        assert b"policy.scope" in body


def test_alertmanager_tells_violations_apart_by_their_labels() -> None:
    """Each violation is an alert of its own, at the address that Alertmanager has."""
    with loopback_receiver() as remote:
        deliver = open_receiver(receiver("alertmanager", remote.url + "/"), {})
        assert deliver(notification(alert(1), alert(2)), NOON) is None
    (heard,) = remote.heard
    assert heard.path == "/api/v2/alerts"
    first, second = json.loads(heard.body)
    assert first["labels"] == {
        "alertname": "policy.scope",
        "kind": "policy",
        "severity": "error",
        "tenant_id": "acme",
        "agent_id": "coder",
        "subject": "c-1",
        "violation_id": "v1",
        "run_id": "r",
    }
    assert second["labels"]["violation_id"] == "v2"
    assert first["startsAt"] == "2026-05-28T20:26:40Z"
    assert "endsAt" not in first


def test_the_end_of_an_objectives_alert_has_the_labels_of_its_beginning() -> None:
    """Otherwise Alertmanager would leave the first one burning."""
    slo = {"kind": "slo", "code": "slo.burn_rate", "agent_id": "", "run_id": "", "constraint_id": "tool-success"}
    began, ended = 1_780_000_000_000_000, 1_780_000_600_000_000
    firing = alert(1, **slo, verdict="firing", evidence=json.dumps({"starts_at_us": began}))
    resolved = alert(
        2, **slo, verdict="resolved", occurred_at=ended, evidence=json.dumps({"starts_at_us": began, "burn": 0.5})
    )
    first, second = json.loads(alertmanager_body(notification(firing, resolved)))
    assert first["labels"] == second["labels"]
    assert first["startsAt"] == second["startsAt"] == "2026-05-28T20:26:40Z"
    assert second["endsAt"] == "2026-05-28T20:36:40Z"


@pytest.mark.parametrize(
    "evidence",
    ["", None, "not json", "[]", '{"starts_at_us": "x"}', '{"starts_at_us": 9e99}', '{"starts_at_us": -1}'],
)
def test_an_objective_without_figures_began_when_it_was_seen(evidence: str | None) -> None:
    """A foreign evaluator's evidence may be anything."""
    found = alert(1, kind="slo", evidence=evidence)
    assert found.started_at_us == found.occurred_at_us


def test_slack_shows_a_line_for_each_and_escapes_it() -> None:
    """Nothing in a message becomes a link or a mention; long lines and long lists are cut, and say so."""
    told = [alert(number, message=f"<!channel> a & b {'x' * 500}") for number in range(25)]
    with loopback_receiver() as remote:
        assert open_receiver(receiver("slack", remote.url), {})(notification(*told), NOON) is None
    lines = json.loads(remote.heard[0].body)["text"].splitlines()
    assert lines[0] == "*25 violations* (policy)"
    assert len(lines) == 22
    assert lines[-1] == "and 5 more"
    assert "&lt;!channel&gt; a &amp; b" in lines[1]
    assert lines[1].endswith("…")


def test_stdout_has_a_line_for_each() -> None:
    """JSON lines, for whoever pipes them on; a closed pipe is a failure like any other."""
    out = io.BytesIO()
    assert open_receiver(receiver("stdout", None), {}, out)(notification(alert(1), alert(2)), NOON) is None
    assert [json.loads(line)["violation_id"] for line in out.getvalue().splitlines()] == ["v1", "v2"]

    class Closed(io.BytesIO):
        def write(self, *_: Any) -> int:
            raise BrokenPipeError

    failure = open_receiver(receiver("stdout", None), {}, Closed())(notification(alert(1)), NOON)
    assert failure == Failure("stdout is closed (BrokenPipeError)")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(204, None, id="taken"),
        pytest.param(500, Failure("answered 500"), id="fails"),
        pytest.param(503, Failure("answered 503"), id="overloaded"),
        pytest.param("retry:17", Failure("answered 429", wait_s=17.0), id="asks for a wait"),
        pytest.param("retry:canary", Failure("answered 429"), id="asks for nonsense"),
        pytest.param(302, Failure("answered 302", final=True), id="a redirect is not followed"),
        pytest.param(404, Failure("answered 404", final=True), id="nothing there"),
        pytest.param("drop", Failure("no connection (RemoteDisconnected)"), id="hangs up"),
        pytest.param("hang", Failure("no answer within 0.3 s"), id="never answers"),
        pytest.param("drip", Failure("no answer within 0.3 s"), id="answers without end"),
    ],
)
def test_what_an_answer_means(answer: str | int, expected: Failure | None) -> None:
    """Taken, later, or never; nothing that was sent or answered is in the reason."""
    with loopback_receiver(answer) as remote:
        assert open_receiver(receiver("slack", remote.url, timeout_s=0.3), {})(notification(alert()), NOON) == expected


def test_nobody_listens() -> None:
    """A refused connection is a failure that passes."""
    with loopback_receiver() as remote:
        url = remote.url
    failure = open_receiver(receiver("slack", url), {})(notification(alert()), NOON)
    assert failure == Failure("no connection (ConnectionRefusedError)")


@pytest.mark.parametrize(
    ("given", "environment", "sentence"),
    [
        pytest.param(
            {"type": "webhook", "url": "http://x", "secret_env": "KEY"},
            {},
            "set the environment variable KEY",
            id="no key",
        ),
        pytest.param(
            {"type": "webhook", "url": "http://x", "secret_env": "KEY"},
            {"KEY": "whsec_canary!"},
            "the key in KEY is not base64",
            id="a broken key",
        ),
        pytest.param(
            {"type": "slack", "url_env": "URL"}, {"URL": "canary"}, "URL needs an address", id="a broken address"
        ),
    ],
)
def test_variables_are_checked_before_anything_is_read(
    given: dict[str, Any], environment: dict[str, str], sentence: str
) -> None:
    """A sentence that names the variable, never its value."""
    with pytest.raises(ConfigError) as refused:
        open_receiver(Receiver.model_validate({"name": "ops"} | given), environment)
    assert sentence in str(refused.value)
    assert "canary" not in str(refused.value)
