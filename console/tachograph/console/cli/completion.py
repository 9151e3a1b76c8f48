"""Shell completion of run ids: from ClickHouse if it answers at once, and silence otherwise."""

from typing import Final

QUICK_S: Final = 1.0
"""A person waits at the prompt: a database that takes longer to answer the door completes nothing. The driver takes
whole seconds."""


def complete_run(incomplete: str) -> list[str]:
    """Ids of recent runs that begin so. Never raises and never prints: it runs inside somebody's shell."""
    try:
        from tachograph.console.database import reader  # noqa: PLC0415 - completion must not slow other commands
        from tachograph.console.report.find import LATEST, recent_runs  # noqa: PLC0415
        from tachograph.schemas.settings import load_settings  # noqa: PLC0415

        settings = load_settings()
        clickhouse = settings.clickhouse.model_copy(update={"connect_timeout_s": QUICK_S})
        with reader(settings.model_copy(update={"clickhouse": clickhouse})) as database:
            found = recent_runs(database, incomplete)
        return [*([LATEST] if LATEST.startswith(incomplete) else []), *found]
    except Exception:  # noqa: BLE001 - an unfinished word is no place for an error
        return []
