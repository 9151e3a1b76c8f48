"""Sends batches to a collector, as the specification of OTLP wants it.

What may pass by itself (429, 502, 503, 504, no connection, no answer in time) is sent again after a while that grows,
or after the time that the collector asks for. Anything else is an error that a person has to look at. What a collector
takes and throws away (partial success) is counted and not sent again. A batch that is too large is sent in halves.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from tachograph.sinks.errors import CollectorRefusedError, CollectorUnreachableError
from tachograph.sinks.otlp.post import Answer, Post
from tachograph.sinks.otlp.requests import Exported, Item, rejected_of, request_of

RETRYABLE: Final = frozenset({429, 502, 503, 504})
"""Statuses that OTLP says may pass by themselves."""

_TOO_LARGE: Final = 413
_GOOD: Final = range(200, 300)
_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 30.0

Wait = Callable[[float], bool]
"""Waits for some seconds; true if that was cut short because everything is to end."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of items."""

    accepted: int = 0
    rejected: int = 0
    """Taken and thrown away by the collector."""
    retries: int = 0

    def __add__(self, other: "Delivered") -> "Delivered":
        return Delivered(self.accepted + other.accepted, self.rejected + other.rejected, self.retries + other.retries)


class StoppedError(CollectorUnreachableError):
    """The end was asked for while a collector was waited for. Nothing of the batch was acknowledged."""


class Delivery:
    """Sends items of both signals. Used from one thread."""

    def __init__(
        self,
        post: Post,
        *,
        version: str,
        schema_url: str,
        patience_s: float | None,
        wait: Wait,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        told: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """``patience_s`` is how long one batch is tried again; None: until it is taken."""
        self._post = post
        self._version = version
        self._schema_url = schema_url
        self._patience_s = patience_s
        self._wait = wait
        self._clock = clock
        self._chance = chance
        self._told = told

    def send(self, signal: Exported, items: Sequence[Item]) -> Delivered:
        """Deliver a batch. Raises CollectorUnreachableError or CollectorRefusedError if it was not taken."""
        if not items:
            return Delivered()
        body = request_of(signal, items, self._version, self._schema_url)
        retries, give_up = 0, None if self._patience_s is None else self._clock() + self._patience_s
        while True:
            answer = self._post(signal, body)
            if answer.status in _GOOD:
                return self._taken(signal, items, answer, retries)
            if answer.status == _TOO_LARGE:
                return self._halves(signal, items, answer) + Delivered(retries=retries)
            if answer.status is not None and answer.status not in RETRYABLE:
                raise CollectorRefusedError(_refusal(answer))
            pause = self._pause(retries, answer)
            if give_up is not None and self._clock() + pause > give_up:
                raise CollectorUnreachableError(
                    f"{answer.shown} {answer.reason}, and went on so for {self._patience_s:g} s. Start the collector, "
                    "or set TACHOGRAPH_OTLP__ENDPOINT to where it is; nothing is lost, run this again"
                )
            if retries == 0:
                self._told(f"{answer.shown} {answer.reason}: trying again until it takes this")
            if self._wait(pause):
                raise StoppedError(f"{answer.shown} {answer.reason}; what it did not take is sent again next time")
            retries += 1

    def _taken(self, signal: Exported, items: Sequence[Item], answer: Answer, retries: int) -> Delivered:
        try:
            rejected = min(max(rejected_of(signal, answer.body), 0), len(items)) if answer.is_protobuf else 0
        except DecodeError:
            # Some receivers answer 200 with a body of their own; the status is what counts.
            rejected = 0
        return Delivered(len(items) - rejected, rejected, retries)

    def _halves(self, signal: Exported, items: Sequence[Item], answer: Answer) -> Delivered:
        if len(items) == 1:
            self._told(f"{answer.shown} finds one of the {signal.value} too large by itself: it is left out")
            return Delivered(rejected=1)
        middle = len(items) // 2
        return self.send(signal, items[:middle]) + self.send(signal, items[middle:])

    def _pause(self, retries: int, answer: Answer) -> float:
        grown = min(_FIRST_WAIT_S * (1 << min(retries, 10)), _LONGEST_WAIT_S)
        # Between half and all of it, so that many exporters do not come back at once.
        return max(answer.asked_wait_s, grown * (0.5 + self._chance() / 2))


def _refusal(answer: Answer) -> str:
    todo = {
        400: "it cannot read what was sent; is it an OTLP receiver for http/protobuf?",
        401: "set TACHOGRAPH_OTLP__HEADERS to the key it wants, such as authorization=Bearer%20KEY",
        403: "it knows the key and forbids this: check TACHOGRAPH_OTLP__HEADERS",
        404: "there is nothing at this path. Many backends take traces only (--signal traces). Else give "
        "TACHOGRAPH_OTLP__ENDPOINT without /v1/…, or set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and …_LOGS_ENDPOINT",
        405: "there is something else at this address than a receiver of this signal: try --signal traces",
        415: "it does not take protobuf, or not with gzip: try TACHOGRAPH_OTLP__COMPRESSION=none",
    }.get(answer.status or 0, "its own log says why")
    return f"{answer.shown} {answer.reason}: {todo}"
