"""What the console's pages stand on. One of each per process."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from tachograph.console.web.database import Database
from tachograph.console.web.sessions import Sessions
from tachograph.console.web.tokens import OneTimeTokens
from tachograph.console.web.viewing import ViewLog
from tachograph.schemas.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts that outlive a request."""

    settings: Settings
    database: Database
    sessions: Sessions
    views: ViewLog
    tokens: OneTimeTokens | None
    """None where an identity provider signs people in."""
    now: Callable[[], datetime]

    def close(self) -> None:
        """Let go of broker and database."""
        self.views.close()
        self.database.close()
