"""Evidence bundles: a folder or zip that an auditor can check without us.

::

    bundle.json             format and ids of the logs, in order
    keys.json               key set, first key first
    logs/<n>.jsonl          records of log n: body, record_hash, signature
    logs/<n>.checkpoints    JSON list of its signed checkpoints
"""

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from tachograph.console.verify.log import Finding, FindingCode, verify_log
from tachograph.schemas.errors import TachographError
from tachograph.schemas.proofs.keys import KeyEntry, KeySet, KeySetError
from tachograph.schemas.proofs.sealed import SealedRecord, origin_of

FORMAT: Final = "tachograph-evidence/1"

Read = Callable[[str], str]
"""Text of a file of the bundle, by name."""

_KEYS: Final = TypeAdapter(tuple[KeyEntry, ...])


class BundleError(TachographError):
    """Not an evidence bundle. Ask for another copy."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Logs, their checkpoints, and the keys that they claim."""

    logs: Mapping[str, tuple[Sequence[SealedRecord], Sequence[str]]]
    keys: tuple[KeyEntry, ...]

    def files(self) -> dict[str, str]:
        """Names and texts of the files."""
        files = {
            "bundle.json": json.dumps({"format": FORMAT, "logs": list(self.logs)}, indent=2) + "\n",
            "keys.json": json.dumps(_KEYS.dump_python(self.keys, mode="json"), indent=2) + "\n",
        }
        for number, (records, checkpoints) in enumerate(self.logs.values()):
            lines = [{"body": r.body, "record_hash": r.record_hash, "signature": r.signature} for r in records]
            files[f"logs/{number}.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines)
            files[f"logs/{number}.checkpoints"] = json.dumps(list(checkpoints), indent=2) + "\n"
        return files


def write_bundle(bundle: Bundle, target: Path) -> None:
    """Write a folder, or a zip if the name ends so. The same bundle gives the same bytes."""
    if target.suffix == ".zip":
        with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as archive:
            for name, text in bundle.files().items():
                archive.writestr(zipfile.ZipInfo(name), text)
        return
    (target / "logs").mkdir(parents=True)
    for name, text in bundle.files().items():
        (target / name).write_text(text, encoding="utf-8")


def read_bundle(source: Path) -> Bundle:
    """Read what `write_bundle` wrote. Only the files that the format names are opened."""
    try:
        if source.is_dir():
            return _parsed(lambda name: (source / name).read_text(encoding="utf-8"))
        with zipfile.ZipFile(source) as archive:
            return _parsed(lambda name: archive.read(name).decode())
    except (OSError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, ValidationError):
        pass
    raise BundleError(f"{source} is not an evidence bundle, or is not whole")


def verify_bundle(bundle: Bundle, *, trusted_key: str | None = None, anchors: Iterable[str] = ()) -> list[Finding]:
    """Everything that does not hold. ``anchors`` are checkpoints that the auditor has from somewhere else."""
    try:
        keys = KeySet(bundle.keys)
    except KeySetError:
        return [Finding(FindingCode.KEYS_UNTRUSTED, "")]
    if trusted_key is not None and bundle.keys[0].public_key != trusted_key:
        return [Finding(FindingCode.KEYS_UNTRUSTED, "")]
    held: dict[str, list[str]] = {}
    for note in anchors:
        held.setdefault(note.partition("\n")[0], []).append(note)
    findings = []
    for log_id, (records, checkpoints) in bundle.logs.items():
        findings += verify_log(log_id, records, [*checkpoints, *held.pop(origin_of(log_id), [])], keys)
    findings += [Finding(FindingCode.LOG_MISSING, origin) for origin in held]
    return findings


def _parsed(read: Read) -> Bundle:
    described = json.loads(read("bundle.json"))
    if described["format"] != FORMAT or len(set(described["logs"])) != len(described["logs"]):
        raise ValueError("not this format")
    logs = {}
    for number, log_id in enumerate(described["logs"]):
        lines = [json.loads(line) for line in read(f"logs/{number}.jsonl").splitlines()]
        records = [SealedRecord(str(x["body"]), str(x["record_hash"]), str(x["signature"])) for x in lines]
        logs[str(log_id)] = records, [str(note) for note in json.loads(read(f"logs/{number}.checkpoints"))]
    return Bundle(logs, _KEYS.validate_python(json.loads(read("keys.json"))))
