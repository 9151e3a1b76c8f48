"""What comes of one record: rows and violations, in the order in which they are written."""

from typing import Any, Final, NamedTuple

from tachograph.processors.failures import Failure
from tachograph.processors.rows.shared import Row, Rows
from tachograph.processors.violations import Subject, violation
from tachograph.schemas.topics import ViolationKind, row_topic, violation_topic

_VIOLATION_TOPICS: Final = {kind.value: violation_topic(kind) for kind in ViolationKind}


class Output(NamedTuple):
    """A message to write."""

    topic: str
    key: str
    """The run's trace id; empty if the producer named none."""
    schema: str
    row: dict[str, Any]


class Report:
    """Collects outputs about one subject."""

    __slots__ = ("outputs", "subject")

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.outputs: list[Output] = []

    def rows(self, rows: Rows) -> None:
        """Add rows of tables."""
        key = self.subject.trace_id
        self.outputs += [Output(row_topic(table), key, f"rows.{table}", row) for table, row in rows]

    def violation(self, row: Row) -> None:
        """Add a violation, for the topic of its kind."""
        self.outputs.append(Output(_VIOLATION_TOPICS[row["kind"]], self.subject.trace_id, "rows.violations", row))

    def fail(self, failure: Failure, detail: str = "", **about: Any) -> None:
        """Add an observability failure. ``detail`` must hold no captured content."""
        message = f"{failure.meaning}: {detail}" if detail else failure.meaning
        self.violation(
            violation(
                self.subject,
                ViolationKind.OBSERVABILITY,
                failure.code,
                message,
                severity=failure.severity,
                **about,
            )
        )
