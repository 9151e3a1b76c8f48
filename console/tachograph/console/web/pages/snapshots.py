"""Snapshots: a pointer for everybody; the bytes behind one more click, which is recorded."""

from starlette.responses import Response

from tachograph.console.web.asked import Asked, PageError
from tachograph.console.web.database import Row
from tachograph.console.web.roles import Role
from tachograph.console.web.snapshot_bytes import snapshot_bytes
from tachograph.sinks.artifacts.errors import ArtifactStoreError

PART = 256 * 1024
"""Characters shown at once. Every part is there; a page of sixteen megabytes would stop the browser."""


def ask(asked: Asked) -> Response:
    """What is stored, and the button that shows it."""
    return asked.page("snapshot.html", snapshot=_pointer(asked), shown=None, may_see=asked.may(Role.AUDITOR))


def show(asked: Asked) -> Response:
    """The bytes, as text."""
    pointer = _pointer(asked)
    asked.show_content("snapshot", run_id=pointer["run_id"], target=pointer["snapshot_id"])
    try:
        data = snapshot_bytes(asked.services.settings, asked.session.tenant_id, pointer["artifact_id"] or "")
    except ArtifactStoreError as error:
        raise PageError(409, f"The snapshot cannot be opened: {error}.") from None
    text = data.decode(errors="backslashreplace")
    asked_for = asked.form.get("part", "")
    parts = max(1, -(-len(text) // PART))
    part = min(int(asked_for), parts - 1) if asked_for.isdecimal() and len(asked_for) < 9 else 0  # noqa: PLR2004 - digits
    return asked.page(
        "snapshot.html",
        snapshot=pointer,
        shown=text[part * PART : (part + 1) * PART],
        size=len(data),
        part=part,
        parts=parts,
        may_see=True,
    )


def _pointer(asked: Asked) -> Row:
    given = asked.form or asked.request.query_params
    row = asked.database.one(
        "SELECT * FROM snapshot_pointers WHERE tenant_id = {tenant:String} AND run_id = {run:String} "
        "AND snapshot_id = {id:String}",
        run=given.get("run", "")[:2000],
        id=given.get("id", "")[:2000],
    )
    if row is None:
        raise PageError(404, "There is no such snapshot in this run.")
    return row
