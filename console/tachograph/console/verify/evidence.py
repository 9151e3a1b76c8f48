"""Evidence for someone else: the records of a run with their proofs, the keys, a verifier, and a page that explains."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tachograph.console.verify.bundle import Bundle
from tachograph.console.verify.proof import Proof, inclusion
from tachograph.console.verify.stored import StoredLogs, StoredRecord, size_of
from tachograph.schemas.proofs.keys import KeySet
from tachograph.schemas.proofs.sealed import SealedRecord, origin_of

VERIFIER: Final = Path(__file__).with_name("tachograph_verify.py")

_README: Final = """# Evidence

{count} of `{name}`, from {logs}.

```
pip install cryptography rfc8785
python tachograph_verify.py . --trust KEY --anchor NOTE
```

The check needs no network and nothing of Tachograph. `KEY` is the first public key of whoever sealed these records, and
must come from them by another way than this folder. `NOTE` is a checkpoint or heads record that you kept, or that
somebody else keeps. Without the two, the folder vouches for itself.

| file | is |
|---|---|
| `proofs.jsonl` | each record (`record.body` is what was hashed), its path to a root, and that root's checkpoint |
| `logs/` | whole logs, if they were exported |
| `keys.json` | the keys that may sign, each introduced by the one before |
| `tachograph_verify.py` | the check, one file to read |

What holds and what it proves: a record is unchanged since it was sealed, stands at its place in its log, and the log
was signed with it. What it does not prove: that the record is true, or that everything was recorded.
"""


def _counted(records: int) -> str:
    return "One sealed decision record" if records == 1 else f"{records} sealed decision records"


def evidence(
    logs: StoredLogs, name: str, keys: KeySet, *, anchors: Sequence[str] = (), whole_logs: bool = False
) -> Bundle:
    """A bundle for a run or a record. A proof is made against an anchor that covers the record, if one is given."""
    records = logs.named(name)
    names = sorted({record.log_id for record in records})
    trees = {log_id: logs.tree(log_id) for log_id in names}

    def proof(record: StoredRecord) -> Proof:
        origin = origin_of(record.log_id)
        held = [note for note in anchors if note.startswith(f"{origin}\n") and size_of(note) > record.log_seq]
        note = held[0] if held else logs.covering(record.log_id, record.log_seq)
        return inclusion(trees[record.log_id], record.log_id, record.log_seq, record.sealed, note)

    whole: dict[str, tuple[Sequence[SealedRecord], Sequence[str]]] = {}
    if whole_logs:
        # All of the tenant's: an auditor who holds its heads must not miss the logs that this run is not in.
        whole = {log_id: (logs.records(log_id), logs.checkpoints(log_id)) for log_id in logs.names()}
    listed = "log " + ", ".join(names) if len(names) == 1 else "logs " + ", ".join(names)
    return Bundle(
        whole,
        keys.keys,
        [proof(record) for record in records],
        {
            "README.md": _README.format(count=_counted(len(records)), name=name, logs=listed),
            VERIFIER.name: VERIFIER.read_text(encoding="utf-8"),
        },
    )
