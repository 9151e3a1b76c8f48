"""Writes the ``.avsc`` files from the models and tables: ``python -m tachograph.schemas.publish``.

A version, once published, never changes. If a model's schema differs from its newest version, the next version is
written beside it; the newest file of an unreleased version may be overwritten with ``--amend``.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from tachograph.schemas import models, tables
from tachograph.schemas.avro import AvroSchema, record_schema
from tachograph.schemas.wire.catalogue import AVSC_FOLDER, INDEX_FILE, fingerprint

FOLDER: Final = Path(__file__).parent / AVSC_FOLDER

WIRE_MODELS: Final = (
    models.RunStarted,
    models.StepStarted,
    models.DecisionEvent,
    models.ToolCallRecord,
    models.AgentDecision,
    models.AgentQualitySignal,
    models.ContextManifest,
    models.RecordProposal,
    models.AgentFailure,
    models.StepEnded,
    models.RunEnded,
    models.EventsDropped,
    models.DecisionRecord,
)
"""Models that travel as themselves. What the pipeline derives (``models/derived.py``) travels as rows of its tables."""


def current() -> dict[str, AvroSchema]:
    """Schemas as the models and tables are now."""
    schemas = {model.__name__: record_schema(model) for model in WIRE_MODELS}
    return schemas | {f"rows.{table.name}": table.schema for table in tables.TABLES}


def text_of(schema: AvroSchema) -> str:
    """File content of a schema."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def published(folder: Path = FOLDER) -> dict[str, dict[int, AvroSchema]]:
    """Every version on disk, by name."""
    found: dict[str, dict[int, AvroSchema]] = {}
    for path in sorted(folder.glob("*.avsc")):
        name, _, version = path.stem.rpartition(".v")
        found.setdefault(name, {})[int(version)] = json.loads(path.read_text(encoding="utf-8"))
    return found


def index_of(versions: dict[str, dict[int, AvroSchema]]) -> str:
    """Content of the index file."""
    entries = [
        {"name": name, "version": version, "fingerprint": fingerprint(schema)}
        for name, by_version in sorted(versions.items())
        for version, schema in sorted(by_version.items())
    ]
    return json.dumps(entries, indent=1) + "\n"


def publish(folder: Path = FOLDER, *, amend: bool = False) -> list[Path]:
    """Write what is new. Returns the files written."""
    folder.mkdir(exist_ok=True)
    on_disk, written = published(folder), []
    for name, schema in current().items():
        versions = on_disk.get(name, {})
        newest = max(versions, default=0)
        if versions.get(newest) == json.loads(text_of(schema)):
            continue
        target = folder / f"{name}.v{newest if amend and newest else newest + 1}.avsc"
        target.write_text(text_of(schema), encoding="utf-8")
        written.append(target)
    (folder / INDEX_FILE).write_text(index_of(published(folder)), encoding="utf-8")
    return written


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--amend", action="store_true", help="overwrite the newest, unreleased version")
    written = publish(amend=parser.parse_args().amend)
    sys.stdout.write("".join(f"wrote {path.name}\n" for path in written) or "nothing changed\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
