"""Sealed records, proposals and checkpoints."""

from tachograph.console.web.database import Row, TenantDatabase


def record(database: TenantDatabase, run_id: str, record_id: str) -> Row | None:
    """A sealed record with all it says."""
    return database.one(
        "SELECT * EXCEPT (_ingested_at) FROM decision_records WHERE tenant_id = {tenant:String} "
        "AND run_id = {run:String} AND record_id = {record:String} ORDER BY log_seq DESC LIMIT 1",
        run=run_id,
        record=record_id,
    )


def proposal(database: TenantDatabase, run_id: str, record_id: str) -> Row | None:
    """A record as its agent proposed it."""
    return database.one(
        "SELECT * EXCEPT (_ingested_at) FROM record_proposals WHERE tenant_id = {tenant:String} "
        "AND run_id = {run:String} AND record_id = {record:String} ORDER BY seq DESC LIMIT 1",
        run=run_id,
        record=record_id,
    )


def neighbours(database: TenantDatabase, log_id: str, log_seq: int) -> tuple[str | None, str | None]:
    """Hash of the record before, and the previous hash that the record after names."""
    rows = {
        row["log_seq"]: row
        for row in database.ask(
            "SELECT log_seq, record_hash, prev_hash FROM decision_records WHERE tenant_id = {tenant:String} "
            "AND log_id = {log:String} AND log_seq IN ({before:Int64}, {after:Int64}) LIMIT 1 BY log_seq",
            log=log_id,
            before=log_seq - 1,
            after=log_seq + 1,
        )
    }
    before, after = rows.get(log_seq - 1), rows.get(log_seq + 1)
    return before["record_hash"] if before else None, after["prev_hash"] if after else None


def checkpoint(database: TenantDatabase, log_id: str, log_seq: int) -> Row | None:
    """The latest checkpoint that covers a place."""
    return database.one(
        "SELECT tree_size, root_hash, note, signed_by, occurred_at, anchor FROM checkpoints "
        "WHERE tenant_id = {tenant:String} AND log_id = {log:String} AND tree_size > {place:Int64} "
        "ORDER BY tree_size DESC LIMIT 1",
        log=log_id,
        place=log_seq,
    )


def hashes(database: TenantDatabase, log_id: str, size: int) -> list[str]:
    """Hashes of a log's first records, in order, in one row: a log may be long."""
    row = database.one(
        "SELECT groupArray(record_hash) AS hashes FROM (SELECT log_seq, any(record_hash) AS record_hash "
        "FROM decision_records WHERE tenant_id = {tenant:String} AND log_id = {log:String} AND log_seq < {size:Int64} "
        "GROUP BY log_seq ORDER BY log_seq)",
        log=log_id,
        size=size,
    )
    return list(row["hashes"]) if row else []
