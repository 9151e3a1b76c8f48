"""Stored logs, each against itself, its checkpoints, and what was kept elsewhere."""

from collections.abc import Iterable, Sequence

from tachograph.console.verify.anchors import Anchors
from tachograph.console.verify.log import Finding, FindingCode, LogReport, report_log
from tachograph.console.verify.stored import StoredLogs
from tachograph.processors.sealing.key_set import key_set_of, read_key_set
from tachograph.schemas.settings import Settings


def check_logs(
    logs: StoredLogs, names: Iterable[str], settings: Settings, trusted_key: str | None, anchors: Sequence[str]
) -> dict[str, LogReport]:
    """A report on each log. An anchor of a log that is not there at all is a finding of its own."""
    keys = read_key_set(key_set_of(settings))
    if trusted_key is not None and keys.keys[0].public_key != trusted_key:
        return {"": LogReport(findings=[Finding(FindingCode.KEYS_UNTRUSTED, "")])}
    held = Anchors(anchors, keys)
    checked = {
        name: report_log(name, logs.records(name), logs.checkpoints(name), held.of(name), keys) for name in names
    }
    there = set(logs.names())
    for name in held.heads:
        if name not in there:
            checked[name] = LogReport(findings=[Finding(FindingCode.LOG_MISSING, name)])
    return checked
