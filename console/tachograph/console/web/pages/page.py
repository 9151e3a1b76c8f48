"""What a page is."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

from tachograph.console.web.asked import Asked
from tachograph.console.web.roles import Role


@dataclass(frozen=True, slots=True)
class Page:
    """A path, who may see it, and what answers. Answers run in a thread: they ask the database."""

    path: str
    answer: Callable[[Asked], Response]
    method: str = "GET"
    role: Role = Role.VIEWER
