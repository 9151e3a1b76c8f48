"""Sessions live in this process: a cookie holds a random id and nothing else, and signing out ends it for good."""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tachograph.console.web.roles import Role

MOST: Final = 10_000
"""Sessions kept at once; past it the oldest ends. A bound on memory, not a promise."""


@dataclass(frozen=True, slots=True)
class Session:
    """Who is signed in. The tenant is never taken from anywhere else."""

    id: str
    viewer: str
    tenant_id: str
    role: Role
    csrf: str
    """Every form carries it back."""
    ends_at: float

    def __repr__(self) -> str:
        return f"Session(viewer={self.viewer!r}, tenant_id={self.tenant_id!r}, role={self.role.value})"


class Sessions:
    """Sessions by id."""

    def __init__(self, *, lifetime_s: float, clock: Callable[[], float]) -> None:
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, Session] = {}

    def begin(self, viewer: str, tenant_id: str, role: Role) -> Session:
        """A new session."""
        session = Session(
            secrets.token_urlsafe(32),
            viewer,
            tenant_id,
            role,
            secrets.token_urlsafe(32),
            self._clock() + self._lifetime_s,
        )
        with self._lock:
            while len(self._open) >= MOST:
                del self._open[next(iter(self._open))]
            self._open[session.id] = session
        return session

    def get(self, session_id: str | None) -> Session | None:
        """The session of a cookie, unless it has ended."""
        with self._lock:
            session = self._open.get(session_id or "")
            if session is not None and session.ends_at <= self._clock():
                del self._open[session.id]
                session = None
        return session

    def end(self, session: Session) -> None:
        """Sign out."""
        with self._lock:
            self._open.pop(session.id, None)
