"""Rows as files: what is read back is what landed."""

import json
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tachograph.console.database import Reader
from tachograph.console.export import files
from tachograph.console.export.files import columns, wanted_tables
from tachograph.schemas import tables
from tachograph.schemas.tables.content import CONTENT_COLUMNS
from tests.console.export.conftest import BEGAN, HOUR, Exported
from tests.sinks.proxy import Proxy

pytestmark = [pytest.mark.stack]

WINDOW = ("--since", (BEGAN - HOUR).isoformat(), "--until", (BEGAN + 24 * HOUR).isoformat())
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def comparable(value: Any) -> Any:
    """A value of a file as the worker's core has it: times in microseconds, maps as objects."""
    if isinstance(value, datetime):
        return round((value - EPOCH).total_seconds() * 1_000_000)
    if isinstance(value, str) and len(value) >= 24 and value[4:5] == "-" and value.endswith("Z"):
        return comparable(datetime.fromisoformat(value))
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return {key: comparable(item) for key, item in value}
        return [comparable(item) for item in value]
    return value


def landed(exported: Exported, run: str = "") -> dict[str, list[Any]]:
    return {
        table: sorted((comparable(row) for row in rows if run in ("", row["run_id"])), key=str)
        for table, rows in exported.rows.items()
        if any(run in ("", row["run_id"]) for row in rows)
    }


def read_lines(text: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in text.splitlines():
        document = json.loads(line)
        assert set(document) == {"table", "row"}
        found.setdefault(document["table"], []).append(comparable(document["row"]))
    return {table: sorted(rows, key=str) for table, rows in found.items()}


def test_a_run_comes_back_from_json_lines(exported: Exported) -> None:
    """Every row of every table, every value."""
    ran = exported.program("--run", exported.runs[0])
    assert ran.code == 0, ran.stderr
    assert read_lines(ran.stdout) == landed(exported, exported.runs[0])
    assert "rows of" in ran.stderr


def test_a_time_comes_back_from_a_file(exported: Exported, tmp_path: Path) -> None:
    """All runs of it, page by page; and what was written is told as JSON."""
    place = tmp_path / "rows.jsonl"
    ran = exported.program(*WINDOW, "-o", str(place), "--json")
    assert ran.code == 0, ran.stderr
    expected = landed(exported)
    assert read_lines(place.read_text(encoding="utf-8")) == expected
    told = json.loads(ran.stdout)
    assert told["tables"] == {table: len(rows) for table, rows in expected.items()}
    assert told["rows"] == sum(told["tables"].values())
    assert told["files"] == [str(place)]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_time_comes_back_from_parquet(exported: Exported, tmp_path: Path) -> None:
    """A file for each table with rows, read with another library than wrote them."""
    ran = exported.program(*WINDOW, "--format", "parquet", "-o", str(tmp_path / "out"))
    assert ran.code == 0, ran.stderr
    found = {
        path.stem: sorted((comparable(row) for row in pyarrow.parquet.read_table(path).to_pylist()), key=str)
        for path in (tmp_path / "out").iterdir()
    }
    expected = landed(exported)
    assert set(found) == set(expected)
    for table, rows in expected.items():
        assert [emptied(row) for row in found[table]] == [emptied(row) for row in rows], table


def emptied(row: dict[str, Any]) -> dict[str, Any]:
    """Parquet has an empty map and an empty list alike."""
    return {name: None if value in ({}, []) else value for name, value in row.items()}


def test_many_rows_become_many_files(exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None lost between them, none twice; one file is refused where one does not hold them."""
    monkeypatch.setattr(files, "PARQUET_ROWS", 10)
    asked = (*WINDOW, "--format", "parquet", "--table", "tool_calls")
    assert exported.program(*asked, "-o", str(tmp_path / "out")).code == 0
    rows = [
        row["event_id"]
        for path in sorted((tmp_path / "out").iterdir())
        for row in pyarrow.parquet.read_table(path).to_pylist()
    ]
    assert len(list((tmp_path / "out").iterdir())) == math.ceil(len(rows) / 10) > 1
    assert sorted(rows) == sorted(row["event_id"] for row in exported.rows["tool_calls"])
    ran = exported.program(*asked, "-o", str(tmp_path / "one.parquet"))
    assert (ran.code, "folder" in ran.stderr) == (2, True)


def test_one_table_is_one_file(exported: Exported, tmp_path: Path) -> None:
    """Under the name that was given, rows or none."""
    for run, count in ((exported.runs[0], None), (exported.runs[0], 0)):
        table = "replays" if count == 0 else "decision_events"
        place = tmp_path / f"{table}.parquet"
        ran = exported.program("--run", run, "-f", "parquet", "--table", table, "-o", str(place))
        assert ran.code == 0, ran.stderr
        expected = sum(row["run_id"] == run for row in exported.rows.get(table, []))
        assert pyarrow.parquet.read_table(place).num_rows == expected


def test_content_can_be_left_out(exported: Exported, tmp_path: Path) -> None:
    """Its columns are not there at all, in either format."""
    ran = exported.program(*WINDOW, "--no-content")
    for line in ran.stdout.splitlines():
        document = json.loads(line)
        assert not set(document["row"]) & CONTENT_COLUMNS.get(document["table"], frozenset())
    exported.program(*WINDOW, "--no-content", "-f", "parquet", "-o", str(tmp_path))
    for path in tmp_path.iterdir():
        assert not set(pyarrow.parquet.read_table(path).column_names) & CONTENT_COLUMNS.get(path.stem, frozenset())


def test_every_column_of_content_is_one() -> None:
    """And the tables that have no name there have none."""
    for name, content in CONTENT_COLUMNS.items():
        assert content <= {column.name for column in tables.BY_NAME[name].columns}, name
        assert columns(tables.BY_NAME[name], content=True) != columns(tables.BY_NAME[name], content=False)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param((), 2, "say what to export", id="nothing"),
        pytest.param(("--run", "no-such-run"), 1, "no run is called", id="no such run"),
        pytest.param(("--since", "1h", "--table", "no_table"), 2, "--table takes", id="no such table"),
        pytest.param(("--run", "latest", "--table", "log_heads"), 2, "rows of runs", id="a table without runs"),
        pytest.param(("--since", "1h", "-f", "parquet"), 2, "-o", id="parquet on a terminal"),
        pytest.param(("--since", "1h", "-f", "parquet", "-o", "x.parquet"), 2, "--table", id="one file for all"),
        pytest.param(("--since", "1h", "--json"), 2, "-o", id="two things on stdout"),
        pytest.param(("--since", "1h", "-o", "/nowhere/x.jsonl"), 1, "another place", id="a place that is none"),
        pytest.param(
            ("--since", "1h", "-f", "parquet", "-o", "/dev/null/x"), 1, "another place", id="a folder that is none"
        ),
    ],
)
def test_a_wrong_call_says_what_to_do(exported: Exported, arguments: tuple[str, ...], code: int, said: str) -> None:
    """And which exit code it is."""
    ran = exported.program(*arguments)
    assert (ran.code, said in ran.stderr) == (code, True), ran.stderr


def test_every_table_can_be_asked_for_a_time(exported: Exported) -> None:
    """Each has a time of its own; ClickHouse takes the question."""
    for table in wanted_tables((), of_a_run=False):
        assert exported.program("--since", "1h", "--table", table.name).code == 0


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_answer_that_breaks_off_leaves_no_file(
    exported: Exported, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command fails with a sentence, and nothing half done lies about."""
    house, stream = exported.settings.clickhouse, Reader.stream
    with Proxy(house.host, house.http_port) as door:

        def broken(self: Reader, *asked: Any, **more: Any) -> Iterator[bytes]:
            door.lose_answers(100)  # the driver asks again by itself
            return stream(self, *asked, **more)

        monkeypatch.setattr(Reader, "stream", broken)
        place = tmp_path / ("rows.jsonl" if form == "jsonl" else "out")
        ran = exported.program(
            *WINDOW, "--table", "decision_events", "-f", form, "-o", str(place),
            TACHOGRAPH_CLICKHOUSE__HTTP_PORT=str(door.port),
        )  # fmt: skip
        assert door.lost
    assert (ran.code, "error: ClickHouse" in ran.stderr) == (1, True), ran.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
