"""What a person does with the console itself: come in, go out, choose colours."""

from starlette.responses import RedirectResponse, Response

from tachograph.console.web import login
from tachograph.console.web.asked import Asked

YEAR_S = 365 * 86_400


def home(_asked: Asked) -> Response:
    """Runs are what people come for."""
    return RedirectResponse("/runs", status_code=303)


def sign_out(asked: Asked) -> Response:
    """End the session, here and in the browser."""
    asked.services.sessions.end(asked.session)
    https = asked.services.settings.console.public_url.startswith("https:")
    return login.without_session(RedirectResponse("/", status_code=303), https=https)


def theme(asked: Asked) -> Response:
    """Keep the choice of colours in a cookie, and come back to where it was made."""
    chosen, back = asked.form.get("theme", ""), asked.form.get("back", "")
    # Only ever a path of ours: two slashes, or a backslash, would be another host.
    inside = back.startswith("/") and not back.startswith(("//", "/\\"))
    response = RedirectResponse(back if inside else "/runs", status_code=303)
    if chosen in {"light", "dark"}:
        response.set_cookie("tachograph_theme", chosen, max_age=YEAR_S, path="/", httponly=True, samesite="lax")
    else:
        response.delete_cookie("tachograph_theme", path="/")
    return response
