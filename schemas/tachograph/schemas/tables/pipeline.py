"""Tables of what the pipeline found wrong, and of who looked at content."""

from typing import Final

from tachograph.schemas.models.derived import ContentView, DeadLetter, Violation
from tachograph.schemas.tables.kinds import Table, columns_of

VIOLATIONS: Final = Table(
    "violations",
    "Broken promises of every kind.",
    columns_of(Violation, words=frozenset({"tenant_id", "agent_id", "code", "verdict", "action"})),
)

DEAD_LETTERS: Final = Table(
    "dead_letters",
    "Messages that could not be processed. Their bytes stay in the dead-letter topic.",
    columns_of(DeadLetter, words=frozenset({"tenant_id", "source_topic", "stage", "component", "error_type"})),
)

CONTENT_VIEWS: Final = Table(
    "content_views",
    "Who asked the console for captured content, and for which.",
    columns_of(ContentView, words=frozenset({"tenant_id", "viewer", "role", "kind"})),
)
