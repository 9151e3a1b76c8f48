"""Check Tachograph evidence. One file; needs `cryptography` and `rfc8785`, no network, nothing of Tachograph.

    pip install cryptography rfc8785
    python tachograph_verify.py EVIDENCE [--trust PUBLIC_KEY] [--anchor NOTE ...] [--json]

EVIDENCE is a bundle (folder or zip) or the file of one proof. --trust is the first public key (base64), which must not
come with the evidence. --anchor is what you kept or got elsewhere: a checkpoint, a heads record, or a file of such
records, one JSON object a line with the member "note". Without these two, a log that was wholly remade with keys of its
own would pass. The basis says on what each record stands: an anchor, a checkpoint of the evidence only, or only the
chain of hashes and signatures.
Exit codes: 0 all holds, 1 something does not, 2 the evidence cannot be read.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

GENESIS = "sha256:" + "0" * 64
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
HASH = re.compile(r"sha256:[0-9a-f]{64}")

Place = tuple[str, int, str, datetime, str]
Finding = dict[str, Any]
Head = tuple[int, bytes]


class Untrusted(Exception):  # noqa: N818 - a state, not a bug
    """The keys do not hold together, or do not begin with the trusted one."""


def unbase64(text: str) -> bytes:
    """Decode base64 in its one canonical spelling."""
    data = base64.b64decode(text.encode("ascii"), validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not the canonical spelling")
    return data


def signed(public: str, signature: bytes, message: bytes) -> bool:
    """Tell whether a key made a signature."""
    try:
        Ed25519PublicKey.from_public_bytes(unbase64(public)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Members of an object that names no key twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def refuse(_literal: str) -> NoReturn:
    """Numbers that readers disagree about."""
    raise ValueError("not a value that a record may hold")


def strict(text: str) -> Any:
    """Parse JSON in the only way that it can be meant."""
    return json.loads(text, object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse)


def moment(text: str) -> datetime:
    """A moment, UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


def maybe(text: str | None) -> datetime | None:
    """A moment that may be missing."""
    return None if text is None else moment(text)


class Keys:
    """The key set: each key but the first signed by the one before it, whose window ends where the next begins."""

    def __init__(self, entries: list[Any], trusted: str | None) -> None:
        self.entries = {entry["key_id"]: entry for entry in entries}
        if not entries or len(self.entries) != len(entries) or (trusted and entries[0]["public_key"] != trusted):
            raise Untrusted
        if len({entry["public_key"] for entry in entries}) != len(entries) or entries[0]["introduced_by"] is not None:
            raise Untrusted
        for before, entry in pairwise(entries):
            start, end = moment(entry["effective_from"]), maybe(before["effective_until"])
            revoked = maybe(before["revoked_at"])
            said = {name: entry[name] for name in ("key_id", "public_key", "introduced_by")}
            said["effective_from"] = start.isoformat()
            message = b"tachograph.key.v1\x00" + rfc8785.dumps(said)
            if entry["introduced_by"] != before["key_id"] or start != end or (revoked and revoked <= start):
                raise Untrusted
            if not signed(before["public_key"], unbase64(entry["introduction"] or ""), message):
                raise Untrusted

    def basis(self, entry: dict[str, Any]) -> str:
        """Why a signature by a key that was effective counts, as of now."""
        if entry["revoked_at"] is not None:
            return "key_revoked_since"
        return "key_effective" if entry["effective_until"] is None else "key_retired_since"

    def effective(self, entry: dict[str, Any], when: datetime) -> bool:
        """Tell whether a key may sign at a moment."""
        end, revoked = maybe(entry["effective_until"]), maybe(entry["revoked_at"])
        return (
            moment(entry["effective_from"]) <= when
            and (end is None or when < end)
            and (revoked is None or when < revoked)
        )


def node(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaves: list[bytes]) -> bytes:
    """Merkle root of RFC 6962, by merging complete subtrees from the left."""
    if not leaves:
        return hashlib.sha256().digest()
    edge: list[bytes] = []
    for number, leaf in enumerate(leaves):
        merged, completed = leaf, number
        while completed & 1:
            merged, completed = node(edge.pop(), merged), completed >> 1
        edge.append(merged)
    found = edge.pop()
    while edge:
        found = node(edge.pop(), found)
    return found


def check_record(record: dict[str, str], keys: Keys) -> tuple[str | None, Place | None]:
    """What is wrong with a record by itself, and what it says of its place."""
    try:
        body = record["body"].encode()
        content = strict(record["body"])
        audit = content["audit"]
        if rfc8785.dumps(content) != body or content["format"] != "tachograph.record/1":
            return "body_malformed", None
        if MOMENT.fullmatch(audit["sealed_at"]) is None:
            return "body_malformed", None
        when = moment(audit["sealed_at"])
        place = (audit["log_id"], audit["log_seq"], audit["prev_hash"], when, audit["signed_by"])
        key = keys.entries.get(audit["signed_by"])
    except (ValueError, KeyError, TypeError, RecursionError, rfc8785.CanonicalizationError):
        return "body_malformed", None
    if "sha256:" + hashlib.sha256(body).hexdigest() != record["record_hash"]:
        return "hash_mismatch", place
    if key is None:
        return "unknown_key", place
    if not keys.effective(key, when):
        return "key_not_effective", place
    try:
        signature = unbase64(record["signature"])
    except ValueError:
        return "signature_invalid", place
    message = b"tachograph.record.v1\x00" + bytes.fromhex(record["record_hash"][7:])
    return (None if signed(key["public_key"], signature, message) else "signature_invalid"), place


def leaf(record_hash: str) -> bytes:
    """Leaf of a record; of what is no hash, one that fits nowhere."""
    known = HASH.fullmatch(record_hash) is not None
    return hashlib.sha256(b"\x00" + bytes.fromhex(record_hash[7:])).digest() if known else bytes(32)


def open_note(note: str, origin: str, keys: Keys) -> Head | None:
    """Size and root of a checkpoint of a log, if a key of the set has signed it."""
    try:
        text, blank, lines = note.rpartition("\n\n")
        text += "\n"
        parts = text[:-1].split("\n")
        size, claimed = parts[1], unbase64(parts[2])
        if not blank or not lines.endswith("\n") or parts[0] != origin or not all(parts):
            return None
        if any(char < " " and char != "\n" for char in text) or not re.fullmatch("0|[1-9][0-9]{0,19}", size):
            return None
        good = False
        for line in lines[:-1].split("\n"):
            dash, name, encoded = line.split(" ")
            data = unbase64(encoded)
            if dash != "\u2014" or len(data) <= 4 or len(claimed) != 32:
                return None
            for key in keys.entries.values():
                public = unbase64(key["public_key"])
                key_id = hashlib.sha256(origin.encode() + b"\n\x01" + public).digest()[:4]
                if name == origin and data[:4] == key_id:
                    if not signed(key["public_key"], data[4:], text.encode()):
                        return None
                    good = True
    except (ValueError, IndexError):
        return None
    return (int(size), claimed) if good else None


def heads_of(note: str, keys: Keys) -> list[tuple[str, int, bytes]] | None:
    """Every log of a signed heads record with its size and root; None if it does not hold."""
    lines = note.partition("\n\n")[0].split("\n")
    head = open_note(note, lines[0], keys)
    logs, leaves = [], []
    try:
        for line in lines[4:]:
            word, log_id, size, claimed = line.split(" ")
            if word != "log" or not re.fullmatch("0|[1-9][0-9]{0,19}", size) or len(unbase64(claimed)) != 32:
                return None
            logs.append((log_id, int(size), unbase64(claimed)))
            leaves.append(hashlib.sha256(b"\x00" + line.encode()).digest())
    except ValueError:
        return None
    return logs if head is not None and logs and head == (len(leaves), root(leaves)) else None


class Held:
    """What the auditor brought: heads of logs that are not the evidence's own."""

    def __init__(self, texts: list[str], keys: Keys) -> None:
        self.heads: dict[str, list[Head | None]] = {}
        """By log; None for something that claims to be of that log and does not hold."""
        for note in [note for text in texts for note in notes_in(text)]:
            origin = note.partition("\n")[0]
            if not origin.endswith("/heads"):
                self.heads.setdefault(origin.removeprefix("tachograph/"), []).append(open_note(note, origin, keys))
                continue
            found = heads_of(note, keys)
            for log_id, size, claimed in found or ():
                self.heads.setdefault(log_id, []).append((size, claimed))
            if found is None:
                self.heads.setdefault(origin.removeprefix("tachograph/"), []).append(None)

    def of(self, log_id: str) -> list[Head | None]:
        """Those of one log."""
        return self.heads.get(log_id, [])


def notes_in(text: str) -> list[str]:
    """Notes of an anchor's file: the file itself, or one on each line."""
    return [json.loads(line)["note"] for line in text.splitlines() if line] if text.startswith("{") else [text]


def follow(found: bytes, index: int, size: int, path: list[bytes]) -> bytes | None:
    """Root that a path leads to from a leaf at a place under a tree of a size (RFC 9162, 2.1.3.2)."""
    place, last = index, size - 1
    if not 0 <= index < size or any(len(item) != 32 for item in (found, *path)):
        return None
    for item in path:
        if last == 0:
            return None
        if place & 1 or place == last:
            found = node(item, found)
            while place & 1 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node(found, item)
        place, last = place >> 1, last >> 1
    return found if last == 0 else None


def grew(old: Head, new: Head, path: list[bytes]) -> bool:
    """Tell whether the new tree begins with the old one (RFC 9162, 2.1.4.2)."""
    if not 0 <= old[0] <= new[0]:
        return False
    if 0 < old[0] == new[0]:
        return not path and old[1] == new[1]
    if any(len(item) != 32 for item in (old[1], new[1], *path)):
        return False
    if old[0] == 0:
        empty = hashlib.sha256().digest()
        return not path and old[1] == empty and (new[0] > 0 or new[1] == empty)
    nodes = [old[1], *path] if old[0] & (old[0] - 1) == 0 else path
    if not nodes:
        return False
    place, last = old[0] - 1, new[0] - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    before = after = nodes[0]
    for item in nodes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            before, after = node(item, before), node(item, after)
            while place & 1 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            after = node(after, item)
        place, last = place >> 1, last >> 1
    return last == 0 and (before, after) == (old[1], new[1])


MEANINGS = {
    "body_malformed": "this is no record, or not in the exact form in which it was hashed",
    "hash_mismatch": "the record was changed after it was hashed",
    "unknown_key": "the record was signed by a key that is not in the key set",
    "key_not_effective": "the key was not yet, or no longer, in force when the record says it was sealed",
    "signature_invalid": "the signature is not one of this key over this record",
    "wrong_place": "a record does not follow the one before: one was dropped, swapped, repeated or inserted",
    "note_invalid": "a checkpoint that no key of the set has signed, or one of another log",
    "log_too_short": "a checkpoint counts more records than are shown: the end was cut off",
    "root_mismatch": "a checkpoint was signed over other records than are shown",
    "log_missing": "a checkpoint or heads record names this log, and it is not shown",
    "proof_invalid": "the path of hashes does not lead to the root of its checkpoint",
    "keys_untrusted": "the key set does not hold together, or does not begin with the key that is trusted",
}
"""What each finding says."""


class Report:
    """What was found, over all of the evidence."""

    def __init__(self) -> None:
        self.records = 0
        self.not_shown: list[str] = []
        """Logs that an anchor names; single records were shown of others, and no log as a whole."""
        self.findings: list[Finding] = []
        self.basis = Counter({"anchor": 0, "checkpoint": 0, "chain": 0})
        self.keys: Counter[str] = Counter()

    def said(self) -> dict[str, Any]:
        """As JSON."""
        keys = dict(sorted(self.keys.items()))
        said: dict[str, Any] = {"records": self.records, "findings": self.findings, "basis": dict(self.basis)}
        return said | {"keys": keys, "not_shown": self.not_shown}

    def add(self, code: str, log_id: str, place: int | None = None) -> None:
        """Something does not hold."""
        self.findings.append({"code": code, "log_id": log_id, "place": place})

    def log(
        self, log_id: str, records: list[dict[str, str]], notes: list[str], held: list[Head | None], keys: Keys
    ) -> None:
        """Check one whole log: every record, then every checkpoint over them."""
        leaves: list[bytes] = []
        before, last = GENESIS, datetime.min.replace(tzinfo=UTC)
        for place, record in enumerate(records):
            problem, said = check_record(record, keys)
            if problem is None and said is not None:
                if said[:3] != (log_id, place, before) or said[3] < last:
                    problem = "wrong_place"
                else:
                    self.keys[keys.basis(keys.entries[said[4]])] += 1
            if problem is not None:
                self.add(problem, log_id, place)
            before, last = record["record_hash"], max(last, said[3]) if said else last
            leaves.append(leaf(before))
        covered = {"checkpoint": 0, "anchor": 0}
        shown = [open_note(note, "tachograph/" + log_id, keys) for note in notes]
        for place, head in enumerate([*shown, *held]):
            if head is None:
                self.add("note_invalid", log_id, place)
            elif head[0] > len(leaves):
                self.add("log_too_short", log_id, place)
            elif root(leaves[: head[0]]) != head[1]:
                self.add("root_mismatch", log_id, place)
            else:
                kind = "checkpoint" if place < len(notes) else "anchor"
                covered[kind] = max(covered[kind], head[0])
        most = max(covered.values())
        self.records += len(records)
        self.basis.update(anchor=covered["anchor"], checkpoint=most - covered["anchor"], chain=len(records) - most)

    def proof(self, proof: dict[str, Any], anchors: list[Head | None], keys: Keys, number: int) -> None:
        """Check the proof of one record, or that a log only grew."""
        log_id = proof["log_id"]
        origin = "tachograph/" + log_id
        if proof["kind"] == "consistency":
            heads = [open_note(proof[name], origin, keys) for name in ("old", "new")]
            old, new = heads
            if old is None or new is None:
                self.add("note_invalid", log_id, number)
            elif not grew(old, new, path_of(proof)):
                self.add("proof_invalid", log_id, number)
            return
        self.records += 1
        record = proof["record"]
        problem, said = check_record(record, keys)
        if problem is None and said is not None:
            if said[:2] != (log_id, proof["log_seq"]):
                problem = "wrong_place"
            else:
                self.keys[keys.basis(keys.entries[said[4]])] += 1
        if problem is not None:
            self.add(problem, log_id, number)
        head = open_note(proof["checkpoint"], origin, keys)
        if head is None:
            self.add("note_invalid", log_id, number)
            return
        if follow(leaf(record["record_hash"]), proof["log_seq"], head[0], path_of(proof)) != head[1]:
            self.add("proof_invalid", log_id, number)
        if None in anchors:
            self.add("note_invalid", log_id, number)
        of_size = [anchor for anchor in anchors if anchor is not None and anchor[0] == head[0]]
        if any(anchor[1] != head[1] for anchor in of_size):
            self.add("root_mismatch", log_id, number)
        self.basis["anchor" if of_size else "checkpoint"] += 1


def path_of(proof: dict[str, Any]) -> list[bytes]:
    """Hashes of a proof; one that no path has where they cannot be read."""
    try:
        return [unbase64(item) for item in proof["path"]]
    except ValueError:
        return [b""]


def check(read: Callable[[str], str], trusted: str | None, anchors: list[str]) -> Report:
    """Everything that does not hold in a bundle."""
    report = Report()
    described = json.loads(read("bundle.json"))
    if described["format"] != "tachograph-evidence/1" or len(set(described["logs"])) != len(described["logs"]):
        raise ValueError("not this format")
    try:
        keys = Keys(json.loads(read("keys.json")), trusted)
    except Untrusted:
        report.add("keys_untrusted", "")
        return report
    held = Held(anchors, keys)
    for number, log_id in enumerate(described["logs"]):
        records = [json.loads(line) for line in read(f"logs/{number}.jsonl").splitlines()]
        notes = json.loads(read(f"logs/{number}.checkpoints"))
        report.log(log_id, records, notes, held.of(log_id), keys)
    try:
        proofs = [json.loads(line) for line in read("proofs.jsonl").splitlines()]
    except (FileNotFoundError, KeyError):
        proofs = []
    for number, proof in enumerate(proofs):
        report.proof(proof, held.of(proof["log_id"]), keys, number)
    shown = {*described["logs"], *(proof["log_id"] for proof in proofs)}
    missing = [log_id for log_id in held.heads if log_id not in shown]
    if described["logs"] or None in [head for log_id in missing for head in held.of(log_id)]:
        for log_id in missing:
            report.add("log_missing", log_id)
    else:
        report.not_shown = sorted(missing)
    return report


def check_file(text: str, trusted: str | None, anchors: list[str]) -> Report:
    """The same for the file of one proof, which carries its keys: as a bundle that holds nothing else."""
    proof = json.loads(text)
    if proof["format"] != "tachograph-proof/1":
        raise ValueError("not this format")
    bundle = {
        "bundle.json": json.dumps({"format": "tachograph-evidence/1", "logs": []}),
        "keys.json": json.dumps(proof["keys"]),
        "proofs.jsonl": json.dumps(proof),
    }
    return check(bundle.__getitem__, trusted, anchors)


def where(item: Finding) -> str:
    """The place of a finding, for people."""
    log = f"log {item['log_id']}" if item["log_id"] else "the keys"
    return log if item["place"] is None else f"{log}, number {item['place']}"


def many(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def main() -> int:
    """Check what the command line names."""
    parser = argparse.ArgumentParser(description="Check Tachograph evidence, offline.")
    parser.add_argument("evidence", type=Path)
    parser.add_argument("--trust", help="first public key, base64, from elsewhere")
    parser.add_argument("--anchor", type=Path, action="append", default=[], help="a checkpoint from elsewhere")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        anchors = [path.read_text(encoding="utf-8") for path in given.anchor]
        if given.evidence.is_dir():
            report = check(lambda name: (given.evidence / name).read_text("utf-8"), given.trust, anchors)
        elif zipfile.is_zipfile(given.evidence):
            with zipfile.ZipFile(given.evidence) as archive:
                report = check(lambda name: archive.read(name).decode(), given.trust, anchors)
        else:
            report = check_file(given.evidence.read_text("utf-8"), given.trust, anchors)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
        print("this is not Tachograph evidence, or is not whole", file=sys.stderr)
        return 2
    basis, keys = dict(report.basis), dict(sorted(report.keys.items()))
    if given.json:
        print(json.dumps(report.said(), indent=2))
    else:
        for item in report.findings:
            print(f"{where(item)}: {item['code']}: {MEANINGS[item['code']]}")
        found = f"{many(len(report.findings), 'finding')}" if report.findings else "all holds"
        print(f"{many(report.records, 'record')}: {found}", file=sys.stderr)
        print("basis: " + ", ".join(f"{name} {count}" for name, count in basis.items()), file=sys.stderr)
        print("signed by: " + (", ".join(f"{name} {count}" for name, count in keys.items()) or "-"), file=sys.stderr)
    if report.not_shown:
        print(
            f"note: of {many(len(report.not_shown), 'more log')} that the anchor names nothing is shown",
            file=sys.stderr,
        )
    if not given.trust:
        print("note: --trust was not given; the bundle vouches for its own keys", file=sys.stderr)
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
