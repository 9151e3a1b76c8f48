"""Whatever a foreign producer puts into a row: it is exported, and so is everything beside it."""

import json
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow.parquet
import pytest

from tachograph.console.database import reader
from tachograph.console.export.files import FileExport
from tachograph.console.export.otlp import OtlpExport
from tachograph.console.export.selection import Selection
from tachograph.console.export.sources import SOURCES
from tachograph.schemas.settings import OtlpSettings, Settings
from tachograph.sinks.otlp.vocabulary import Vocabulary
from tests.console.export.landing import Landing
from tests.console.export.takes import Takes
from tests.sinks.rows import NOW_US, random_row, sample_row

pytestmark = [pytest.mark.stack]

EACH = 40
WILD = (0, -(2**62), 2**62, 2**63 - 1, NOW_US * 2, -NOW_US)
LONG = "\x00🙂" * 12_000


@pytest.fixture(scope="module")
def hostile(stack: Settings) -> str:
    """A tenant with rows of any value, of every clock, and of long texts. Their ends are ends, so that all are told."""
    tenant, rows = f"h{uuid4().hex[:10]}", dict[str, list[dict[str, Any]]]()
    chance = Random(7)  # noqa: S311 - the same rows each time
    for source in SOURCES:
        table = source.table.name
        ends = {
            "agent_runs": {"event_type": "run_ended"},
            "agent_steps": {"event_type": "step_ended"},
            "tool_calls": {"leg": "call", "span_id": "odd"},
        }.get(table, {})
        made = [random_row(table, chance) | {"metadata": {}} | ends for _ in range(EACH)]
        made += [
            sample_row(table, number) | {"occurred_at": at, "trace_id": ""} | ends for number, at in enumerate(WILD)
        ]
        names = {"violations": "message", "decision_events": "output_raw", "tool_calls": "output"}
        made.append(sample_row(table, 99) | ends | ({names[table]: LONG} if table in names else {"run_id": LONG[:900]}))
        columns = {column.name for column in source.table.columns}
        rows[table] = [
            {name: value for name, value in row.items() if name in columns} | {"tenant_id": tenant} for row in made
        ]
    landing = Landing(stack)
    landing.land(rows)
    landing.close()
    return tenant


@pytest.mark.parametrize("content", [False, True])
def test_everything_is_exported(stack: Settings, hostile: str, content: bool) -> None:
    """Every event and violation as a log, every event and call as a span; runs and steps where they have ids."""
    took = Takes()
    with reader(stack) as database:
        exporting = OtlpExport(
            database, took, Vocabulary(content=content), OtlpSettings(), selection=Selection(tenant=hostile)
        )
        exporting.once()
    each = EACH + len(WILD) + 1
    assert len(took.taken) >= 4 * each
    assert len(took.taken) == exporting.tally.accepted


def test_trace_viewers_see_everything(stack: Settings, hostile: str) -> None:
    """The view that they read has every span, too."""
    with reader(stack) as database:
        found = database.rows(
            "SELECT count(), sum(length(toString((Timestamp, Duration, SpanAttributes, `Events.Timestamp`)))) "
            "FROM otel_traces WHERE ResourceAttributes['tachograph.tenant_id'] = {tenant:String}",
            {"tenant": hostile},
        )
    assert found[0][0] >= 2 * (EACH + len(WILD) + 1)


def test_files_hold_everything(stack: Settings, hostile: str, tmp_path: Path) -> None:
    """Sound JSON, sound Parquet, every row."""
    with reader(stack) as database, (tmp_path / "rows").open("wb") as file:
        export = FileExport(database, Selection(tenant=hostile))
        written = list(export.json_lines([source.table for source in SOURCES], file))
        parquet = list(export.parquet([source.table for source in SOURCES], tmp_path / "parquet"))
    assert {item.rows for item in written} == {EACH + len(WILD) + 1}
    lines = (tmp_path / "rows").read_bytes().splitlines()
    assert len([json.loads(line) for line in lines]) == sum(item.rows for item in written)
    for item in parquet:
        assert item.path is not None
        assert pyarrow.parquet.ParquetFile(item.path).metadata.num_rows == item.rows == EACH + len(WILD) + 1
