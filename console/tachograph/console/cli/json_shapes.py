"""What ``--json`` prints, command by command. docs/cli.md shows it, and tests compare it with the real commands."""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Shape:
    """A document: one object, a list of objects, or an object on each line."""

    form: Literal["object", "list", "lines"]
    keys: tuple[str, ...] = ()
    """Of the object, or of each; empty if that depends on the question."""
    note: str = ""

    def __str__(self) -> str:
        start = {"object": "an object", "list": "a list of objects", "lines": "an object per line"}[self.form]
        listed = f" with {', '.join(f'`{key}`' for key in self.keys)}" if self.keys else ""
        return f"{start}{listed}{f'; {self.note}' if self.note else ''}."


_ARTIFACT: Final = (
    "artifact_id", "tenant_id", "state", "content", "kind", "trigger", "run_id", "path", "hash", "size_bytes",
    "created_at", "retention", "deleted_at", "reason",
)  # fmt: skip
_OBJECTIVE: Final = (
    "name", "description", "target", "period_s", "table", "bad", "total", "minimum_events", "minimum_bad",
    "no_data_after_s",
)  # fmt: skip

SHAPES: Final[dict[str, Shape]] = {
    "alerts": Shape("object", note="with `--check`: routes and receivers as in the file, without addresses"),
    "artifacts ls": Shape("list", _ARTIFACT),
    "artifacts gc": Shape("list", _ARTIFACT),
    "artifacts verify": Shape("list", ("artifact_id", "state", "result")),
    "artifacts erase": Shape("object", note="with `artifacts`, the ids and hashes of what was erased, and `erased_at`"),
    "catalog check": Shape("object", ("documents", "problems")),
    "config show": Shape("list", ("setting", "value", "variable", "meaning")),
    "diff": Shape(
        "object",
        ("schema_version", "left_run_id", "right_run_id", "differences", "counts"),
        "each difference has `kind`, `where`, `change`, `left` and `right`",
    ),
    "doctor": Shape("object", ("ok", "checks"), "each check has `check`, `state`, `detail` and `todo`"),
    "export": Shape("object", ("rows", "tables", "files"), "`tables` has rows by table; needs `-o`"),
    "export otlp": Shape(
        "object", ("spans", "logs", "requests"), "`spans` and `logs` have `accepted`, `rejected` and `retries`"
    ),
    "migrate": Shape("object", ("dry_run", "migrations")),
    "query": Shape("list", note="one object per row, with the query's columns"),
    "redact": Shape("object", ("text", "redactions", "dropped")),
    "report": Shape(
        "object", note="as [report.md](report.md) describes it; [report.schema.json](report.schema.json) is its schema"
    ),
    "rules check": Shape("object", ("packs", "problems")),
    "rules list": Shape("list", ("check", "family", "kind", "severity", "arguments", "meaning")),
    "runs": Shape(
        "list",
        (
            "run_id", "agent_id", "environment", "status", "completeness", "started_at", "duration_ms", "received",
            "emitted", "violations",
        ),
        "`violations` counts them by severity",
    ),
    "slo budget": Shape("list", note="one object per objective and tenant: counts, budget left, burn rates"),
    "slo list": Shape("list", _OBJECTIVE),
    "slo show": Shape("object", (*_OBJECTIVE, "alerts", "tenants")),
    "spool drain": Shape(
        "object", ("adopted", "finished", "alive", "acknowledged", "already_there", "rejected", "corrupt")
    ),
    "spool inspect": Shape("object", ("folder", "spools", "rejected", "waiting")),
    "status": Shape("object", ("home", "running", "started_at", "parts")),
    "topics apply": Shape("list", ("topic", "action", "config")),
    "topics list": Shape("list", ("topic", "key", "keeps", "table", "writer", "reader", "schemas", "description")),
    "verify": Shape(
        "object",
        ("records",),
        "of evidence also `findings`, `basis`, `keys` and `not_shown`; of what is stored `logs` and `runs`",
    ),
    "violations tail": Shape(
        "lines",
        (
            "tenant_id", "agent_id", "violation_id", "kind", "code", "severity", "message", "evidence", "constraint_id",
            "verdict", "action", "trace_id", "run_id", "event_id", "step_id", "tool_use_id", "occurred_at",
            "sample_event_ids",
        ),
    ),
}  # fmt: skip
