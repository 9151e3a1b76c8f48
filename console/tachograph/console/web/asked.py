"""One request, as a page sees it: who asks, what for, and the means to answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tachograph.console.web.database import TenantDatabase
from tachograph.console.web.rendering import Templates, address
from tachograph.console.web.roles import Role
from tachograph.console.web.services import Services
from tachograph.console.web.sessions import Session

MANY_CHARACTERS = 2000
"""Longest value of an address that is looked at. Ids are shorter; a longer one finds nothing anyway."""


class PageError(Exception):
    """A page that cannot be shown: what a person reads instead, and its status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a signed-in person."""

    request: Request
    session: Session
    services: Services
    templates: Templates
    form: Mapping[str, str]

    @property
    def database(self) -> TenantDatabase:
        """Answers about the session's tenant, and no other."""
        return self.services.database.of(self.session.tenant_id)

    @property
    def now(self) -> datetime:
        """The moment that relative times are relative to."""
        return self.services.now()

    @property
    def theme(self) -> str:
        """Colours that the reader chose."""
        chosen = self.request.cookies.get("tachograph_theme", "")
        return chosen if chosen in {"light", "dark"} else "auto"

    def query(self, name: str) -> str:
        """A value of the address; empty if it is not there."""
        return self.request.query_params.get(name, "")[:MANY_CHARACTERS]

    def may(self, role: Role) -> bool:
        """Whether the session's role includes this one."""
        return self.session.role.may(role)

    def need(self, role: Role) -> None:
        """Refuse a session whose role does not include this one."""
        if not self.may(role):
            raise PageError(403, f"This page is for the role {role.value}. Yours is {self.session.role.value}.")

    def show_content(self, kind: str, *, run_id: str = "", target: str = "", detail: str = "") -> None:
        """Call this before captured content is read. Refuses viewers; records everybody else, or refuses."""
        if not self.may(Role.AUDITOR):
            raise PageError(403, "Captured content is for auditors and operators. Your role is viewer.")
        remote = self.request.client.host if self.request.client else ""
        self.services.views.record(self.session, kind=kind, run_id=run_id, target=target, detail=detail, remote=remote)

    def page(self, template: str, *, status: int = 200, **context: Any) -> Response:
        """A rendered page."""
        return self.templates.page(template, self, status=status, **context)

    def go(self, path: str, **parameters: Any) -> Response:
        """Send the browser elsewhere within the console, after a form."""
        return RedirectResponse(address(path, **parameters), status_code=303)
