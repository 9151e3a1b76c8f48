"""Bytes of runs that are kept for good: the artifact store keeps them as long as anything."""

from tachograph.console.database import Reader
from tachograph.schemas.enums import RetentionClass
from tachograph.sinks.artifacts import ArtifactStore, Entry, State

_KEPT_SQL = "SELECT DISTINCT tenant_id, run_id FROM kept_runs"


async def protect_kept(store: ArtifactStore, database: Reader, *, dry_run: bool = False) -> int:
    """Raise the class of what runs that are kept have in the store. How many there were to raise."""
    kept = {(tenant_id, run_id) for tenant_id, run_id in database.rows(_KEPT_SQL)}
    raised = 0
    async for entry in store.entries():
        if (entry.tenant_id, entry.record.get("run_id")) in kept and _would_go(entry):
            raised += dry_run or await store.protect(entry)
    return raised


def _would_go(entry: Entry) -> bool:
    return entry.state is State.STORED and entry.retention is not RetentionClass.PROTECTED
