"""What is sent when: groups fill, become due, go out one at a time for each receiver, and come back if refused.

No threads, no sockets and no clock of its own. The shell tells it what was read and how each delivery ended, and asks
it what to send now.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tachograph.sinks.alerts.alert import Alert, Place
from tachograph.sinks.alerts.ledger import Ledger, Partition
from tachograph.sinks.alerts.pacing import Allowance, next_wait
from tachograph.sinks.alerts.routes import RoutingTable
from tachograph.sinks.alerts.routing import GroupId, targets

Entry = tuple[Place, Alert]


@dataclass(frozen=True, slots=True)
class Notification:
    """One message to one receiver."""

    receiver: str
    route: str
    entries: tuple[Entry, ...]

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """What it tells."""
        return tuple(alert for _, alert in self.entries)

    @property
    def id(self) -> str:
        """Same for the same violations, so that a receiver knows a repeat: a single one's own id, else a hash."""
        ids = sorted({alert.violation_id for alert in self.alerts})
        return ids[0] if len(ids) == 1 else hashlib.sha256("\n".join(ids).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a receiver did not take a message."""

    reason: str
    """What went wrong, without what was sent or answered."""
    final: bool = False
    """Trying again would give the same answer."""
    wait_s: float = 0.0
    """How long the receiver asked us to wait."""


@dataclass(slots=True)
class _Waiting:
    due_at: float
    entries: list[Entry] = field(default_factory=list)
    attempts: int = 0
    first_try_at: float = 0.0


class Dispatcher:
    """The state of alerting. Everything waits here until it is delivered or given up."""

    def __init__(self, table: RoutingTable, *, max_waiting: int) -> None:
        self._table = table
        self._max_waiting = max_waiting
        self._receivers = {receiver.name: receiver for receiver in table.receivers}
        self._allowances = {receiver.name: Allowance(receiver.rate) for receiver in table.receivers}
        self._groups: dict[GroupId, _Waiting] = {}
        self._refused: list[tuple[Notification, _Waiting]] = []
        self._flying: dict[str, tuple[Notification, _Waiting]] = {}
        self.ledger = Ledger()

    def receive(self, place: Place, alert: Alert, now: float) -> None:
        """A violation was read."""
        found = list(targets(self._table, alert, now))
        self.ledger.read(place, len(found))
        for group_id, route in found:
            due = max(now + route.group_wait_s, group_id.release_at)
            self._groups.setdefault(group_id, _Waiting(due)).entries.append((place, alert))

    def skip(self, place: Place) -> None:
        """A message was read that nobody is to hear of."""
        self.ledger.read(place, 0)

    @property
    def full(self) -> bool:
        """Whether to stop reading: what waits would not fit into memory for long."""
        return self.ledger.waiting >= self._max_waiting

    @property
    def idle(self) -> bool:
        """Whether nothing is being sent at this moment."""
        return not self._flying

    def take_due(self, now: float) -> list[Notification]:
        """What to send now. Each must be answered by :meth:`delivered` or :meth:`failed`."""
        if self.full:
            self._end_quiet_hours(now)
        taken = []
        for name in self._receivers:
            if name in self._flying or self._allowances[name].free_at(now) > now:
                continue
            chosen = self._next_for(name, now)
            if chosen is not None:
                self._allowances[name].take(now)
                self._flying[name] = chosen
                taken.append(chosen[0])
        return taken

    def delivered(self, notification: Notification) -> None:
        """The receiver has it."""
        self._flying.pop(notification.receiver)
        self._settle(notification.entries)

    def failed(self, notification: Notification, failure: Failure, now: float) -> Sequence[Entry]:
        """The receiver does not have it. Returns what to give up: write it as dead letters, then :meth:`give_up`."""
        _, waiting = self._flying.pop(notification.receiver)
        waiting.attempts += 1
        retry = self._receivers[notification.receiver].retry
        if failure.final or now - waiting.first_try_at >= retry.give_up_after_s:
            return notification.entries
        waiting.due_at = now + next_wait(retry, waiting.attempts, asked_s=failure.wait_s)
        self._refused.append((notification, waiting))
        return ()

    def give_up(self, entries: Sequence[Entry]) -> None:
        """The dead-letter topic has them."""
        self._settle(entries)

    def next_at(self, now: float) -> float:
        """When to ask :meth:`take_due` again, if nothing happens before; infinity if nothing waits."""
        moments = [
            max(due, self._allowances[receiver].free_at(now))
            for receiver, due in self._dues()
            if receiver not in self._flying
        ]
        return min(moments, default=float("inf"))

    def forget(self, partition: Partition) -> None:
        """Another member has the partition now, and will deliver what waits here."""
        self.ledger.forget(partition)
        for group_id, waiting in list(self._groups.items()):
            waiting.entries = _without(waiting.entries, partition)
            if not waiting.entries:
                del self._groups[group_id]
        kept = []
        for notification, waiting in self._refused:
            entries = tuple(_without(notification.entries, partition))
            if entries:
                kept.append((Notification(notification.receiver, notification.route, entries), waiting))
        self._refused = kept

    def _next_for(self, receiver: str, now: float) -> tuple[Notification, _Waiting] | None:
        """The longest due, of what was refused before and what was never sent."""
        refused = min(
            (item for item in self._refused if item[0].receiver == receiver and item[1].due_at <= now),
            key=lambda item: item[1].due_at,
            default=None,
        )
        group = min(
            (item for item in self._groups.items() if item[0].receiver == receiver and item[1].due_at <= now),
            key=lambda item: item[1].due_at,
            default=None,
        )
        if refused is not None and (group is None or refused[1].due_at <= group[1].due_at):
            self._refused.remove(refused)
            return refused
        if group is None:
            return None
        group_id, waiting = group
        largest = self._receivers[receiver].largest
        notification = Notification(receiver, group_id.route, tuple(waiting.entries[:largest]))
        waiting.entries = waiting.entries[largest:]
        if not waiting.entries:
            del self._groups[group_id]
        return notification, _Waiting(waiting.due_at, first_try_at=now)

    def _end_quiet_hours(self, now: float) -> None:
        """Memory is short: hold nothing back. Better too early than never."""
        for group_id, waiting in self._groups.items():
            if group_id.release_at > now:
                waiting.due_at = min(waiting.due_at, now)

    def _dues(self) -> Iterator[tuple[str, float]]:
        for group_id, waiting in self._groups.items():
            yield group_id.receiver, waiting.due_at
        for notification, waiting in self._refused:
            yield notification.receiver, waiting.due_at

    def _settle(self, entries: Sequence[Entry]) -> None:
        for place, _ in entries:
            self.ledger.settled(place)


def _without(entries: Sequence[Entry], partition: Partition) -> list[Entry]:
    return [entry for entry in entries if (entry[0].topic, entry[0].partition) != partition]
