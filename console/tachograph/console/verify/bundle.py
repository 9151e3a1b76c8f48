"""Evidence bundles: a folder or zip that an auditor can check without us.

::

    bundle.json             format and ids of the logs, in order
    keys.json               key set, first key first
    logs/<n>.jsonl          records of log n: body, record_hash, signature
    logs/<n>.checkpoints    JSON list of its signed checkpoints
    proofs.jsonl            proofs of single records: see `proof`
    README.md, tachograph_verify.py   for the person who gets it
"""

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from tachograph.console.verify.anchors import Anchors
from tachograph.console.verify.log import Finding, FindingCode, LogReport, report_log
from tachograph.console.verify.proof import Proof, check_proof, checked_form
from tachograph.schemas.errors import TachographError
from tachograph.schemas.proofs.keys import KeyEntry, KeySet, KeySetError
from tachograph.schemas.proofs.sealed import SealedRecord

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
    proofs: Sequence[Proof] = ()
    """Records whose place is shown by a path of hashes, without the rest of their logs."""
    extras: Mapping[str, str] = field(default_factory=dict)
    """Other files, for people; nothing of them is believed."""

    def files(self) -> dict[str, str]:
        """Names and texts of the files."""
        files = {
            "bundle.json": json.dumps({"format": FORMAT, "logs": list(self.logs)}, indent=2) + "\n",
            "proofs.jsonl": "".join(json.dumps(proof) + "\n" for proof in self.proofs),
            "keys.json": json.dumps(_KEYS.dump_python(self.keys, mode="json"), indent=2) + "\n",
        }
        for number, (records, checkpoints) in enumerate(self.logs.values()):
            lines = [{"body": r.body, "record_hash": r.record_hash, "signature": r.signature} for r in records]
            files[f"logs/{number}.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines)
            files[f"logs/{number}.checkpoints"] = json.dumps(list(checkpoints), indent=2) + "\n"
        return files | dict(self.extras)


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
        if not zipfile.is_zipfile(source):
            return _proof_file(source.read_text(encoding="utf-8"))
        with zipfile.ZipFile(source) as archive:
            return _parsed(lambda name: archive.read(name).decode())
    except (OSError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, ValidationError):
        pass
    raise BundleError(f"{source} is not an evidence bundle or a proof, or is not whole")


@dataclass(slots=True)
class BundleReport:
    """What holds of a bundle, and on what basis."""

    records: int = 0
    findings: list[Finding] = field(default_factory=list)
    basis: Counter[str] = field(default_factory=Counter)
    """How many records stand on an anchor, on a checkpoint only, on their chain only."""
    keys: Counter[str] = field(default_factory=Counter)
    not_shown: list[str] = field(default_factory=list)
    """Logs that an anchor names; single records were shown of others, and no log as a whole."""

    def add(self, report: LogReport) -> None:
        """Count in a log."""
        self.records += report.records
        self.findings += report.findings
        self.basis.update(report.basis())
        self.keys.update(report.keys)

    def as_json(self) -> dict[str, object]:
        """In the words of the one-file verifier."""
        findings = [{"code": item.code.value, "log_id": item.log_id, "place": item.place} for item in self.findings]
        basis = {name: self.basis[name] for name in ("anchor", "checkpoint", "chain")}
        return {
            "records": self.records,
            "findings": findings,
            "basis": basis,
            "keys": dict(sorted(self.keys.items())),
            "not_shown": self.not_shown,
        }


def verify_bundle(bundle: Bundle, *, trusted_key: str | None = None, anchors: Iterable[str] = ()) -> list[Finding]:
    """Everything that does not hold. ``anchors`` are checkpoints that the auditor has from somewhere else."""
    return report_bundle(bundle, trusted_key=trusted_key, anchors=anchors).findings


def report_bundle(bundle: Bundle, *, trusted_key: str | None = None, anchors: Iterable[str] = ()) -> BundleReport:
    """The same with its basis."""
    report = BundleReport()
    try:
        keys = KeySet(bundle.keys)
    except KeySetError:
        keys = None
    if keys is None or (trusted_key is not None and bundle.keys[0].public_key != trusted_key):
        report.findings.append(Finding(FindingCode.KEYS_UNTRUSTED, ""))
        return report
    held = Anchors(anchors, keys)
    for log_id, (records, checkpoints) in bundle.logs.items():
        report.add(report_log(log_id, records, checkpoints, held.of(log_id), keys))
    for place, proof in enumerate(bundle.proofs):
        found = check_proof(proof, keys, held.of(proof["log_id"]))
        report.records += found.records
        report.findings += [Finding(code, found.log_id, place) for code in found.codes]
        report.basis.update(found.basis)
        report.keys.update(found.keys)
    shown = {*bundle.logs, *(proof["log_id"] for proof in bundle.proofs)}
    missing = [log_id for log_id in held.heads if log_id not in shown]
    # Single records say nothing of other logs; a bundle of whole logs has to show all that the auditor knows of.
    if bundle.logs or None in [head for log_id in missing for head in held.of(log_id)]:
        report.findings += [Finding(FindingCode.LOG_MISSING, log_id) for log_id in missing]
    else:
        report.not_shown = sorted(missing)
    return report


def _proof_file(text: str) -> Bundle:
    """The file of one proof, which carries its keys."""
    proof = checked_form(json.loads(text))
    return Bundle({}, _KEYS.validate_python(proof["keys"]), [proof])


def _parsed(read: Read) -> Bundle:
    described = json.loads(read("bundle.json"))
    if described["format"] != FORMAT or len(set(described["logs"])) != len(described["logs"]):
        raise ValueError("not this format")
    logs = {}
    for number, log_id in enumerate(described["logs"]):
        lines = [json.loads(line) for line in read(f"logs/{number}.jsonl").splitlines()]
        records = [SealedRecord(str(x["body"]), str(x["record_hash"]), str(x["signature"])) for x in lines]
        logs[str(log_id)] = records, [str(note) for note in json.loads(read(f"logs/{number}.checkpoints"))]
    try:
        proofs = [checked_form(json.loads(line)) for line in read("proofs.jsonl").splitlines()]
    except (FileNotFoundError, KeyError):  # a bundle of whole logs may have none
        proofs = []
    return Bundle(logs, _KEYS.validate_python(json.loads(read("keys.json"))), proofs)
