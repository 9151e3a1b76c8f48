"""One call with its content. Whoever asks has been recorded."""

from typing import Final

from tachograph.console.web.database import Row, TenantDatabase

_EVENT: Final = """
SELECT * EXCEPT (_ingested_at), arrayMap(c -> c.tool_call_id, tool_calls) AS tool_call_ids FROM decision_events
WHERE tenant_id = {tenant:String} AND run_id = {run:String} AND
"""


def model_call(database: TenantDatabase, run_id: str, event_id: str) -> Row | None:
    """An event with its prompt bundle and output."""
    return database.one(f"{_EVENT} event_id = {{event:String}} LIMIT 1", run=run_id, event=event_id)


def call_before(database: TenantDatabase, run_id: str, seq: int) -> Row | None:
    """The model call before that place in the run."""
    return database.one(f"{_EVENT} seq < {{seq:Int64}} AND model != '' ORDER BY seq DESC LIMIT 1", run=run_id, seq=seq)


def call_after(database: TenantDatabase, run_id: str, seq: int) -> str | None:
    """Id of the model call after that place."""
    row = database.one(
        "SELECT event_id FROM decision_events WHERE tenant_id = {tenant:String} AND run_id = {run:String} "
        "AND seq > {seq:Int64} AND model != '' ORDER BY seq LIMIT 1",
        run=run_id,
        seq=seq,
    )
    return row["event_id"] if row else None


def joined_tools(database: TenantDatabase, run_id: str, ids: list[str]) -> list[Row]:
    """Tool calls that the model asked for, as they were joined."""
    return database.ask(
        "SELECT tool_use_id, tool_name, phase, duration_ms, error_type, skipped, complete, missing, result_is_error "
        "FROM tool_calls WHERE tenant_id = {tenant:String} AND run_id = {run:String} "
        "AND tool_use_id IN {ids:Array(String)} AND leg = 'call'",
        run=run_id,
        ids=ids,
    )


def evaluation(database: TenantDatabase, run_id: str, event_id: str) -> Row | None:
    """What the stream made of an event."""
    return database.one(
        "SELECT * EXCEPT (_ingested_at) FROM evaluations WHERE tenant_id = {tenant:String} AND run_id = {run:String} "
        "AND event_id = {event:String} LIMIT 1",
        run=run_id,
        event=event_id,
    )


def tool_call(database: TenantDatabase, run_id: str, tool_use_id: str) -> list[Row]:
    """A tool call, and legs of it that could not be joined."""
    return database.ask(
        "SELECT * EXCEPT (_ingested_at) FROM tool_calls WHERE tenant_id = {tenant:String} AND run_id = {run:String} "
        "AND tool_use_id = {id:String} ORDER BY leg = 'call' DESC, seq LIMIT 20",
        run=run_id,
        id=tool_use_id,
    )
