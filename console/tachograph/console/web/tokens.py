"""The one-time token that is printed when the console starts. Each is good once; using it makes the next."""

import hmac
import secrets
import threading
from collections.abc import Callable


class OneTimeTokens:
    """One token at a time. ``announce`` is told each: it belongs on the operator's terminal and nowhere else."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._lock = threading.Lock()
        self._token = ""
        self._next()

    def redeem(self, offered: str) -> bool:
        """Whether the token is the current one. If so, it was."""
        with self._lock:
            if not hmac.compare_digest(offered.encode(), self._token.encode()):
                return False
            self._next()
            return True

    def _next(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._announce(self._token)
