"""Forms: small, from our own pages, with the session's secret in them."""

import hmac
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from tachograph.console.web.asked import PageError
from tachograph.console.web.sessions import Session

FIELD: Final = "csrf"
MOST_BYTES: Final = 64 * 1024
"""Largest form: a long query fits."""


async def checked_form(request: Request, session: Session) -> dict[str, str]:
    """Fields of a form that came from a page of this session. Raises PageError."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise PageError(403, "This form was sent from another site.")
    declared = request.headers.get("content-length", "")
    if not declared.isdecimal() or int(declared) > MOST_BYTES:
        raise PageError(413, f"This form is too large: at most {MOST_BYTES // 1024} KB are read.")
    async with request.form(max_files=0, max_fields=50) as form:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
    if not hmac.compare_digest(fields.pop(FIELD, "").encode(), session.csrf.encode()):
        raise PageError(403, "This form is not of your session, or is too old. Open the page again.")
    return fields
