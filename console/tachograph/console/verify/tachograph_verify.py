"""Check a Tachograph evidence bundle. One file; needs `cryptography` and `rfc8785`, no network, nothing of Tachograph.

    pip install cryptography rfc8785
    python tachograph_verify.py BUNDLE [--trust PUBLIC_KEY] [--anchor NOTE ...] [--json]

BUNDLE is a folder or zip. --trust is the first public key (base64), which you got from somewhere else than the bundle;
--anchor is a checkpoint that you kept or got from someone else. Without these two, a log that was wholly remade with
keys of its own would pass. Exit codes: 0 all holds, 1 something does not, 2 the bundle cannot be read.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
import zipfile
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

Place = tuple[str, int, str, datetime]
Finding = dict[str, Any]


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
        place = (audit["log_id"], audit["log_seq"], audit["prev_hash"], when)
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


def check_checkpoint(note: str, origin: str, leaves: list[bytes], keys: Keys) -> str | None:
    """What is wrong with a checkpoint over these leaves."""
    try:
        text, blank, lines = note.rpartition("\n\n")
        text += "\n"
        parts = text[:-1].split("\n")
        size, claimed = parts[1], unbase64(parts[2])
        if not blank or not lines.endswith("\n") or parts[0] != origin or not all(parts):
            return "note_invalid"
        if any(char < " " and char != "\n" for char in text) or not re.fullmatch("0|[1-9][0-9]{0,19}", size):
            return "note_invalid"
        good = False
        for line in lines[:-1].split("\n"):
            dash, name, encoded = line.split(" ")
            data = unbase64(encoded)
            if dash != "\u2014" or len(data) <= 4 or len(claimed) != 32:
                return "note_invalid"
            for key in keys.entries.values():
                public = unbase64(key["public_key"])
                key_id = hashlib.sha256(origin.encode() + b"\n\x01" + public).digest()[:4]
                if name == origin and data[:4] == key_id:
                    if not signed(key["public_key"], data[4:], text.encode()):
                        return "note_invalid"
                    good = True
    except (ValueError, IndexError):
        return "note_invalid"
    if not good:
        return "note_invalid"
    if int(size) > len(leaves):
        return "log_too_short"
    return None if root(leaves[: int(size)]) == claimed else "root_mismatch"


def check_log(log_id: str, records: list[dict[str, str]], checkpoints: list[str], keys: Keys) -> list[Finding]:
    """Everything that does not hold in one log."""
    findings: list[Finding] = []
    leaves: list[bytes] = []
    before, last = GENESIS, datetime.min.replace(tzinfo=UTC)
    for place, record in enumerate(records):
        problem, said = check_record(record, keys)
        if problem is None and said is not None and (said[:3] != (log_id, place, before) or said[3] < last):
            problem = "wrong_place"
        if problem is not None:
            findings.append({"code": problem, "log_id": log_id, "place": place})
        before, last = record["record_hash"], max(last, said[3]) if said else last
        known = HASH.fullmatch(before) is not None
        leaves.append(hashlib.sha256(b"\x00" + bytes.fromhex(before[7:])).digest() if known else bytes(32))
    for place, note in enumerate(checkpoints):
        problem = check_checkpoint(note, "tachograph/" + log_id, leaves, keys)
        if problem is not None:
            findings.append({"code": problem, "log_id": log_id, "place": place})
    return findings


def check_bundle(read: Callable[[str], str], trusted: str | None, anchors: list[str]) -> tuple[list[Finding], int]:
    """Everything that does not hold in a bundle, and how many records it has."""
    described = json.loads(read("bundle.json"))
    if described["format"] != "tachograph-evidence/1" or len(set(described["logs"])) != len(described["logs"]):
        raise ValueError("not this format")
    try:
        keys = Keys(json.loads(read("keys.json")), trusted)
    except Untrusted:
        return [{"code": "keys_untrusted", "log_id": "", "place": None}], 0
    held: dict[str, list[str]] = {}
    findings: list[Finding] = []
    count = 0
    for note in anchors:
        held.setdefault(note.partition("\n")[0], []).append(note)
    for number, log_id in enumerate(described["logs"]):
        records = [json.loads(line) for line in read(f"logs/{number}.jsonl").splitlines()]
        notes = json.loads(read(f"logs/{number}.checkpoints")) + held.pop("tachograph/" + log_id, [])
        findings += check_log(log_id, records, notes, keys)
        count += len(records)
    return findings + [{"code": "log_missing", "log_id": origin, "place": None} for origin in held], count


def main() -> int:
    """Check what the command line names."""
    parser = argparse.ArgumentParser(description="Check a Tachograph evidence bundle, offline.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--trust", help="first public key, base64, from elsewhere")
    parser.add_argument("--anchor", type=Path, action="append", default=[], help="a checkpoint from elsewhere")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        anchors = [path.read_text(encoding="utf-8") for path in given.anchor]
        if given.bundle.is_dir():
            findings, count = check_bundle(lambda name: (given.bundle / name).read_text("utf-8"), given.trust, anchors)
        else:
            with zipfile.ZipFile(given.bundle) as archive:
                findings, count = check_bundle(lambda name: archive.read(name).decode(), given.trust, anchors)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
        print("this is not an evidence bundle, or is not whole", file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps({"records": count, "findings": findings}, indent=2))
    else:
        for item in findings:
            print(f"{item['log_id']} {item['place']}: {item['code']}")
        print(f"{count} records, {len(findings)} findings", file=sys.stderr)
    if not given.trust:
        print("note: --trust was not given; the bundle vouches for its own keys", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
