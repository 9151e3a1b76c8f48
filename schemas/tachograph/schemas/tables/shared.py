"""Columns that several tables share."""

from typing import Final

from tachograph.schemas.tables.kinds import MAYBE_TEXT, METADATA, NUMBER, TEXT, TIME, WORD, Column, rows_of

IDENTITY: Final = (
    Column("tenant_id", WORD, "Whose data this is."),
    Column("agent_id", WORD, "Agent that emitted the record."),
    Column("run_id", TEXT, "Run it belongs to; empty if the producer named none."),
    Column("trace_id", TEXT, "Trace of the run; empty if the producer named none."),
    Column("event_id", TEXT, "Id of the record this row was made from."),
    Column("seq", NUMBER, "Place of the record in its run, from 0."),
    Column("occurred_at", TIME, "When it happened, by the producer's clock."),
    Column("received_at", TIME, "When the broker appended the record."),
)

METADATA_COLUMN: Final = Column("metadata", METADATA, "Primitive annotations, as text.")

_CONSTRAINTS: Final = Column(
    "constraints",
    rows_of(
        "Constraint",
        Column("id", TEXT, "Constraint id."),
        Column("type", WORD, "style, safety, format, scope or other."),
        Column("rule", TEXT, "Named check, CEL expression or sentence."),
    ),
    "Explicit constraints on the request.",
)

REQUEST: Final = (
    Column("request_id", TEXT, "Id of the user's request."),
    Column("user_request_raw", TEXT, "The request in its capture mode."),
    _CONSTRAINTS,
    Column("channel", WORD, "Where the request came from."),
    Column("repo", MAYBE_TEXT, "Repository it is about."),
    Column("branch", MAYBE_TEXT, "Branch it is about."),
    Column("ticket_id", MAYBE_TEXT, "Ticket it is about."),
)
