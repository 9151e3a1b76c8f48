"""Stored logs, each against itself, its checkpoints, the heads records, and what was kept elsewhere."""

from collections.abc import Iterable, Sequence

from tachograph.console.verify.anchors import Anchors
from tachograph.console.verify.log import Finding, FindingCode, LogReport, report_log
from tachograph.console.verify.stored import StoredLogs
from tachograph.schemas.proofs.keys import KeySet


def check_logs(
    logs: StoredLogs, names: Iterable[str], keys: KeySet, trusted_key: str | None, anchors: Sequence[str]
) -> dict[str, LogReport]:
    """A report on each log. One that an anchor or a heads record names, and that is not there, is a finding."""
    if trusted_key is not None and keys.keys[0].public_key != trusted_key:
        return {"": LogReport(findings=[Finding(FindingCode.KEYS_UNTRUSTED, "")])}
    held, told = Anchors(anchors, keys), Anchors(logs.heads(), keys)
    checked = {
        name: report_log(name, logs.records(name), logs.checkpoints(name), held.of(name), keys, heads=told.of(name))
        for name in names
    }
    there = set(logs.names())
    for name in (*held.heads, *told.heads):
        if name not in there:
            checked[name] = LogReport(findings=[Finding(FindingCode.LOG_MISSING, name)])
    return checked
