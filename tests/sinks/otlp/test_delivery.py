"""What OTLP says about answers, against a real receiver that fails in every way."""

import socket
from dataclasses import dataclass, field

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tachograph.schemas.settings import OtlpSettings
from tachograph.sinks.errors import CollectorRefusedError, CollectorUnreachableError
from tachograph.sinks.otlp import Delivered, Delivery, targets
from tachograph.sinks.otlp.delivery import StoppedError
from tachograph.sinks.otlp.post import HttpPost
from tachograph.sinks.otlp.requests import Exported, Item
from tests.sinks.otlp.collector import Answer, collector

ITEMS = [Item((("service.name", "a"),), Span(name=str(number))) for number in range(5)]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached directly."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@dataclass
class Clock:
    """Time that passes when it is waited for, and only then."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)
    stopped: bool = False

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return self.stopped


def delivered(
    url: str,
    clock: Clock | None = None,
    *,
    patience_s: float | None = 60,
    timeout_s: float = 20,
    signal: Exported = Exported.TRACES,
    items: list[Item] = ITEMS,
) -> Delivered:
    clock = clock or Clock()
    with HttpPost(targets(OtlpSettings(endpoint=url, timeout_s=timeout_s), {})) as post:
        delivery = Delivery(
            post, version="1", schema_url="", patience_s=patience_s, wait=clock.wait, clock=lambda: clock.now,
            chance=lambda: 1.0,
        )  # fmt: skip
        return delivery.send(signal, items)


@pytest.mark.parametrize("answer", [429, 502, 503, 504, "drop"])
def test_what_passes_by_itself_is_sent_again(answer: Answer) -> None:
    """The same bytes, after a time that grows, until they are taken."""
    clock = Clock()
    with collector(answer, answer, answer) as receiver:
        assert delivered(receiver.url, clock) == Delivered(accepted=5, retries=3)
    assert clock.waits == [1, 2, 4]
    assert len(receiver.bodies) == 4
    assert len(set(receiver.bodies)) == 1
    assert [span.name for span in receiver.spans] == ["0", "1", "2", "3", "4"]


def test_a_collector_says_when_to_come_back() -> None:
    """Retry-After counts, where it is longer than what we would wait."""
    clock = Clock()
    with collector("429:17", "503:0") as receiver:
        assert delivered(receiver.url, clock).accepted == 5
    assert clock.waits == [17, 2]


def test_a_collector_that_hangs_is_given_up_and_asked_again() -> None:
    """After the timeout of one request."""
    with collector("hang") as receiver:
        assert delivered(receiver.url, timeout_s=0.2) == Delivered(accepted=5, retries=1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 415, 500, 501, 301, 307])
def test_anything_else_is_an_error(status: int) -> None:
    """At once, with the address and what to do, and without the collector's text. Redirects are not followed."""
    with collector(status) as receiver:
        with pytest.raises(CollectorRefusedError, match=rf"/v1/traces answered {status}: ") as raised:
            delivered(receiver.url)
        assert len(receiver.paths) == 1
    assert "the body said" not in str(raised.value)


def test_patience_ends() -> None:
    """With what to do; and before the time that is asked for would be too long."""
    clock = Clock()
    with collector(*[503] * 50) as receiver:
        with pytest.raises(CollectorUnreachableError, match="TACHOGRAPH_OTLP__ENDPOINT"):
            delivered(receiver.url, clock, patience_s=10)
        assert sum(clock.waits) <= 10
        with pytest.raises(CollectorUnreachableError):
            delivered(receiver.url, patience_s=0)
    with collector("429:3600") as receiver, pytest.raises(CollectorUnreachableError):
        delivered(receiver.url, patience_s=60)


def test_whoever_follows_has_no_end_of_patience() -> None:
    """Waits grow to half a minute and no further."""
    clock = Clock()
    with collector(*[503] * 30) as receiver:
        assert delivered(receiver.url, clock, patience_s=None).retries == 30
    assert max(clock.waits) == 30


def test_the_end_is_heeded_while_waiting() -> None:
    """Nothing of the batch was acknowledged, and nobody is told that it was."""
    with collector(503) as receiver, pytest.raises(StoppedError):
        delivered(receiver.url, Clock(stopped=True), patience_s=None)


def test_nobody_is_there() -> None:
    """Connection refused: tried again, then said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(CollectorUnreachableError, match="cannot be reached"):
        delivered(f"http://127.0.0.1:{port}", patience_s=5)


@pytest.mark.parametrize(
    ("signal", "told"), [(Exported.TRACES, Span(name="x")), (Exported.LOGS, LogRecord(severity_text="x"))]
)
def test_what_is_thrown_away_is_counted(signal: Exported, told: Span | LogRecord) -> None:
    """Partial success is success: it is not sent again."""
    with collector("partial:2") as receiver:
        assert delivered(receiver.url, signal=signal, items=[Item((), told)] * 5) == Delivered(accepted=3, rejected=2)
        assert len(receiver.paths) == 1
    with collector("partial:99") as receiver:
        assert delivered(receiver.url, signal=signal, items=[Item((), told)]) == Delivered(accepted=0, rejected=1)


def test_an_odd_body_of_a_good_answer_is_ignored() -> None:
    """Some receivers say something of their own; the status counts."""
    with collector("nonsense") as receiver:
        assert delivered(receiver.url) == Delivered(accepted=5)


def test_what_is_too_large_is_sent_in_halves() -> None:
    """Down to one item that is too large by itself, which is counted as thrown away."""
    with collector(413, 413, 413, 200) as receiver:
        assert delivered(receiver.url) == Delivered(accepted=4, rejected=1)
    assert [span.name for span in receiver.spans] == ["1", "2", "3", "4"]


def test_nothing_is_no_request() -> None:
    """An empty batch costs nothing."""
    with collector() as receiver:
        assert delivered(receiver.url, items=[]) == Delivered()
        assert receiver.paths == []
