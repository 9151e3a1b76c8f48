"""The pipeline: who is behind, what waits, what was lost, what could not be read, and sending that back."""

from datetime import timedelta

from starlette.responses import Response

from tachograph.console.web.asked import Asked, PageError
from tachograph.console.web.database import Row
from tachograph.console.web.dead_letters import Letter, LetterGoneError, read_letter, send_back
from tachograph.console.web.lag import BrokerAwayError, group_lags
from tachograph.console.web.queries import health as queries
from tachograph.console.web.roles import Role
from tachograph.producers.spool import inspect

DAY = timedelta(days=1)
NEEDED = ("worker", "sink")
"""Without these nothing that agents record can be read. The other parts are started by those who want them."""
DUMPED = 64 * 1024
"""Bytes of a dead letter that are shown; its size is beside them."""


def health(asked: Asked) -> Response:
    """One page for the whole of it."""
    settings, database = asked.services.settings, asked.database
    try:
        lags = group_lags(settings)
    except BrokerAwayError:
        lags = None
    completeness, landed, letters = database.together(
        lambda: queries.completeness(database, asked.now - DAY),
        lambda: queries.last_landed(database),
        lambda: queries.letters(database, settings.tenant_id),
    )
    spool = settings.home / "spool"
    return asked.page(
        "health.html",
        lags=lags,
        needed=NEEDED,
        most_behind=settings.doctor.max_lag,
        bootstrap=settings.kafka.bootstrap_servers,
        completeness=completeness,
        landed=landed,
        letters=letters[: queries.LETTERS],
        more=len(letters) > queries.LETTERS,
        spool=inspect(spool) if spool.is_dir() else None,
    )


def dead_letter(asked: Asked) -> Response:
    """What is known of a dead letter without reading it."""
    return _page(asked, _row(asked, asked.query("id")), None)


def content(asked: Asked) -> Response:
    """Its bytes. They are what an agent sent, so this is a view of content."""
    row = _row(asked, asked.form.get("id", ""))
    asked.show_content("dead_letter", target=row["dead_letter_id"])
    return _page(asked, row, _read(asked, row))


def redrive(asked: Asked) -> Response:
    """Send the original bytes back to the topic they came from."""
    row = _row(asked, asked.form.get("id", ""))
    asked.show_content("redrive", target=row["dead_letter_id"])
    letter = _read(asked, row)
    try:
        send_back(asked.services.settings, row, letter)
    except LetterGoneError as error:
        raise PageError(409, str(error)) from None
    return asked.go("/dead-letter", id=row["dead_letter_id"], sent="1")


def _row(asked: Asked, letter_id: str) -> Row:
    row = queries.letter(asked.database, asked.services.settings.tenant_id, letter_id[:2000])
    if row is None:
        raise PageError(404, "There is no such dead letter.")
    return row


def _read(asked: Asked, row: Row) -> Letter:
    try:
        return read_letter(asked.services.settings, row)
    except LetterGoneError as error:
        raise PageError(409, str(error)) from None


def _page(asked: Asked, row: Row, letter: Letter | None) -> Response:
    return asked.page(
        "dead_letter.html",
        letter=row,
        shown=letter,
        text=letter.value[:DUMPED].decode(errors="backslashreplace") if letter else "",
        dumped=DUMPED,
        sent=bool(asked.query("sent")),
        may_see=asked.may(Role.AUDITOR),
        may_send=asked.may(Role.OPERATOR),
    )
