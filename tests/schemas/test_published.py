"""The published schemas are the models, stay readable for ever, and are indexed."""

import io
import itertools
import json
from pathlib import Path

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tachograph.schemas import models, tables
from tachograph.schemas.avro import record_schema
from tachograph.schemas.publish import FOLDER, current, index_of, publish, published, text_of
from tachograph.schemas.topics import RECORD_TYPES, TOPICS
from tachograph.schemas.wire import SchemaVersion, load_catalogue, to_avro
from tachograph.schemas.wire.catalogue import INDEX_FILE, without_logical_types
from tests.schemas import samples
from tests.schemas.strategies import avro_values

PAIRS = [
    pytest.param(older, newer, id=f"{name} v{older.version} by v{newer.version}")
    for name in load_catalogue().names
    for older, newer in itertools.combinations_with_replacement(load_catalogue().versions(name), 2)
]


@pytest.mark.parametrize("name", current())
def test_models_and_files_do_not_drift(name: str) -> None:
    """If this fails: `python -m tachograph.schemas.publish` writes the next version."""
    newest = load_catalogue().latest(name)
    assert (FOLDER / newest.file_name).read_text(encoding="utf-8") == text_of(current()[name])


def test_the_index_names_every_file_by_its_fingerprint() -> None:
    """Fingerprints are computed once, when a schema is published."""
    assert (FOLDER / INDEX_FILE).read_text(encoding="utf-8") == index_of(published())


@pytest.mark.parametrize(("older", "newer"), PAIRS)
@settings(max_examples=10)
@given(data=st.data())
def test_every_version_is_read_by_every_later_one(
    older: SchemaVersion, newer: SchemaVersion, data: st.DataObject
) -> None:
    """BACKWARD_TRANSITIVE: no published record ever becomes unreadable."""
    record = data.draw(avro_values(older.schema))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, older.plain, record)
    out.seek(0)
    fastavro.schemaless_reader(out, older.plain, newer.plain)


def test_a_changed_model_gets_a_new_version_beside_the_old(tmp_path: Path) -> None:
    """Publishing never rewrites a version."""
    publish(tmp_path)
    path = tmp_path / "RunEnded.v1.avsc"
    older = json.loads(path.read_text())
    older["fields"] = older["fields"][:-1]
    path.write_text(json.dumps(older))
    written = publish(tmp_path)
    assert [item.name for item in written] == ["RunEnded.v2.avsc"]
    assert json.loads(path.read_text()) == older
    assert publish(tmp_path) == []


def test_every_topic_names_published_schemas() -> None:
    """What a topic says it carries can be decoded."""
    assert {name for topic in TOPICS for name in topic.schemas} <= set(load_catalogue().names)


def test_every_record_type_is_a_model() -> None:
    """What an agent emits is described by a model of that name."""
    assert set(RECORD_TYPES) <= set(models.__all__)


def test_every_table_has_a_topic_that_feeds_it() -> None:
    """No table without a source."""
    assert {topic.table for topic in TOPICS if topic.table} == set(tables.BY_NAME)


@pytest.mark.parametrize("sample", samples.DERIVED, ids=lambda sample: type(sample).__name__)
def test_derived_models_are_rows_of_their_tables(sample: BaseModel) -> None:
    """A Violation, Snapshot, Checkpoint, ReplayResult or DeadLetter is written as it is."""
    table = {
        "Violation": "violations",
        "Snapshot": "snapshots",
        "Checkpoint": "checkpoints",
        "ReplayResult": "replays",
        "DeadLetter": "dead_letters",
    }
    row = to_avro(sample)
    schema = tables.BY_NAME[table[type(sample).__name__]].schema
    assert list(row) == [field["name"] for field in schema["fields"]]
    fastavro.schemaless_writer(io.BytesIO(), fastavro.parse_schema(without_logical_types(schema)), row)


def test_every_column_is_explained() -> None:
    """Comments of the tables come from here."""
    for table in tables.TABLES:
        assert all(column.comment.endswith((".", "?")) for column in table.columns), table.name


def test_the_schema_of_a_model_is_deterministic() -> None:
    """The same model gives the same text, or fingerprints would wander."""
    assert text_of(record_schema(models.DecisionEvent)) == text_of(record_schema(models.DecisionEvent))
