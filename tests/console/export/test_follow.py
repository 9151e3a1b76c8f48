"""Going on with what lands: nothing twice without need, nothing passed over, whoever dies in between."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tachograph.console.database import Reader, reader
from tachograph.console.export.memory import Memory, PositionError, remembered
from tachograph.console.export.otlp import OtlpExport
from tachograph.console.export.places import reached
from tachograph.console.export.selection import Selection
from tachograph.console.export.sources import SOURCES
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import OtlpSettings, Settings
from tachograph.sinks.errors import CollectorUnreachableError
from tachograph.sinks.otlp.vocabulary import Vocabulary
from tests.console.export.conftest import Exported as Landed
from tests.console.export.landing import Landing
from tests.console.export.takes import Takes
from tests.sinks.otlp.collector import collector
from tests.sinks.proxy import Proxy
from tests.sinks.rows import sample_row
from tests.sinks.running import eventually

pytestmark = [pytest.mark.stack]


class Following:
    """One exporter of a tenant of its own, with a memory in a folder."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder, self.tenant = settings, folder, f"f{uuid4().hex[:10]}"
        self.collector = Takes()
        self.landing = Landing(settings)
        self.options = OtlpSettings(settle_s=0, batch_items=3)

    def round(self, database: Reader) -> None:
        """One look at what has landed, as a process that has just started."""
        exporting = OtlpExport(
            database, self.collector, Vocabulary(), self.options, selection=Selection(tenant=self.tenant)
        )
        with remembered(self.folder, "test") as memory:
            for source in SOURCES:
                exporting.follow(
                    source,
                    memory.position(source.table.name),
                    lambda position, table=source.table.name: memory.keep(table, position),  # type: ignore[misc]  # a default binds it
                )

    def land(self, table: str, numbers: range, **changes: Any) -> None:
        self.landing.land({table: [sample_row(table, number, tenant_id=self.tenant) | changes for number in numbers]})


@pytest.fixture
def following(stack: Settings, tmp_path: Path) -> Iterator[Following]:
    made = Following(stack, tmp_path)
    yield made
    made.landing.close()


@pytest.fixture
def database(stack: Settings) -> Iterator[Reader]:
    with reader(stack) as opened:
        yield opened


def test_each_row_is_told_once(following: Following, database: Reader) -> None:
    """Round after round, in processes that know nothing but the file."""
    for start in (0, 5, 10):
        following.land("decision_events", range(start, start + 5))
        following.round(database)
        following.round(database)
    assert len(following.collector.taken) == 2 * 15, "a span and a log each"
    assert set(Counter(following.collector.taken).values()) == {1}


@pytest.mark.parametrize("accepted", range(0, 12, 2))
def test_what_was_not_acknowledged_is_told_again(following: Following, database: Reader, accepted: int) -> None:
    """Wherever the collector goes away: everything arrives, with the same bytes."""
    following.land("decision_events", range(10))
    following.land("violations", range(10))
    following.collector.fails_after = accepted
    with pytest.raises(CollectorUnreachableError):
        following.round(database)
    following.collector.fails_after = None
    following.round(database)
    assert len(set(following.collector.taken)) == 30


def test_a_span_waits_until_it_has_ended(following: Following, database: Reader) -> None:
    """Starts of runs and steps start nothing; ends do, and a step that never ended is told with its run."""
    run = f"r-{following.tenant}"
    following.land("agent_runs", range(1), run_id=run, event_type="run_started", status="running")
    following.land("agent_steps", range(1), run_id=run, step_id="a", event_type="step_started")
    following.land("agent_steps", range(1, 2), run_id=run, step_id="b", event_type="step_started", span_id="b" * 16)
    following.round(database)
    assert following.collector.taken == []
    following.land("agent_steps", range(2, 3), run_id=run, step_id="a", event_type="step_ended")
    following.round(database)
    assert len(following.collector.taken) == 1
    following.land("agent_runs", range(1, 2), run_id=run, event_type="run_ended", status="failed")
    following.round(database)
    assert len(following.collector.taken) == 3


def test_a_call_waits_for_its_parent(following: Following, database: Reader) -> None:
    """Its step may land later, from another topic; what stands behind it waits, too, so that nothing is passed over."""
    call = {"run_id": f"r-{following.tenant}", "leg": "call", "parent_tool_use_id": None, "trace_id": "t"}
    following.land("tool_calls", range(1), **call, step_id=None)
    following.land("tool_calls", range(1, 2), **call, step_id="s")
    following.land("tool_calls", range(2, 3), **call, step_id=None)
    following.round(database)
    assert len(following.collector.taken) == 1
    step = {"run_id": f"r-{following.tenant}", "step_id": "s", "trace_id": "t", "event_type": "step_started"}
    following.land("agent_steps", range(1), **step)
    following.round(database)
    assert len(set(following.collector.taken)) == len(following.collector.taken) == 3


def test_rows_rest_before_they_are_told(following: Following, database: Reader) -> None:
    """Those that landed a moment ago wait for the next look."""
    following.options = OtlpSettings(settle_s=3600)
    following.land("violations", range(3))
    following.round(database)
    assert following.collector.taken == []
    following.options = OtlpSettings(settle_s=0)
    following.round(database)
    assert len(following.collector.taken) == 3


def test_it_begins_now_or_where_it_is_told(following: Following, database: Reader) -> None:
    """Behind what is there; or with what landed since a moment."""
    following.land("violations", range(4))
    with remembered(following.folder, "test") as memory:
        assert memory.is_new
        memory.begin(database)
    following.round(database)
    assert following.collector.taken == []
    with remembered(following.folder, "test") as memory:
        assert not memory.is_new
        memory.begin(database, since_us=0)
    following.round(database)
    assert len(following.collector.taken) == 4


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second one under the same name is told so; under another it goes its own way."""
    with remembered(tmp_path, "a"):
        with pytest.raises(PositionError, match="--name"), remembered(tmp_path, "a"):
            raise AssertionError
        with remembered(tmp_path, "b"):
            pass
    with pytest.raises(ConfigError, match="letters"), remembered(tmp_path, "../a"):
        raise AssertionError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "cannot be read", id="empty"),
        pytest.param('{"format": 1, "positions": {"violations": [1]}}', "cannot be read", id="other values"),
        pytest.param('{"format": 2}', "later version", id="a later format"),
    ],
)
def test_a_damaged_memory_is_said(tmp_path: Path, text: str, said: str) -> None:
    """With the file and what to do; it is not taken for a new one."""
    (tmp_path / "otlp-a.json").write_text(text)
    with pytest.raises(PositionError, match=said), remembered(tmp_path, "a"):
        raise AssertionError


def test_tables_that_were_made_anew_are_noticed(following: Following, database: Reader) -> None:
    """A position beyond the end would pass over everything that lands, without a word."""
    following.land("violations", range(2))
    place = {following.landing.partition: 3}
    with pytest.raises(PositionError, match="made anew"):
        Memory(following.folder / "x.json", {"violations": place}).check(database)
    Memory(following.folder / "x.json", {"violations": reached({}, ())}).check(database)


def test_the_program_goes_on_where_it_was_killed(exported: Landed, tmp_path: Path) -> None:
    """Kill -9 at any moment: the next process under the same name tells the rest, and all of it arrives."""
    expected = len(exported.rows["decision_events"]) * 2 + len(exported.rows["violations"])
    program = [
        sys.executable, "-m", "tachograph.console.main", "export", "otlp", "--follow", "--since",
        "2026-01-01T00:00:00Z", "--tenant", exported.tenant, "--name", f"n{uuid4().hex[:8]}",
    ]  # fmt: skip
    environment = os.environ | {
        "TACHOGRAPH_HOME": str(exported.settings.home), "TACHOGRAPH_OTLP__SETTLE_S": "0", "NO_PROXY": "127.0.0.1",
        "TACHOGRAPH_OTLP__POLL_S": "0.1", "TACHOGRAPH_OTLP__BATCH_ITEMS": "5",
    }  # fmt: skip
    with collector(*["503:0"] * 3) as receiver, (tmp_path / "log").open("wb") as log:
        environment["TACHOGRAPH_OTLP__ENDPOINT"] = receiver.url

        def start() -> "subprocess.Popen[bytes]":
            return subprocess.Popen([*program, "--json"], env=environment, stdout=subprocess.PIPE, stderr=log)

        first = start()
        eventually(lambda: len(receiver.bodies) > 6, "some batches")
        first.kill()
        first.communicate()
        second = start()

        def arrived() -> bool:
            events = {span.SerializeToString() for span in receiver.spans if named_event(span)}
            return len(events) + len({log.SerializeToString() for log in receiver.logs}) >= expected

        eventually(arrived, "everything")
        eventually(lambda: len({span.span_id for span in receiver.spans}) == spans_of(exported), "every span")
        second.send_signal(signal.SIGTERM)
        told = json.loads(second.communicate(timeout=30)[0])
        assert second.returncode == 0, (tmp_path / "log").read_text()
    assert told["spans"]["rejected"] == 0
    assert told["spans"]["accepted"] <= len(receiver.spans)


def named_event(span: Any) -> bool:
    return any(pair.key == "tachograph.event_id" for pair in span.attributes)


def spans_of(exported: Landed) -> int:
    return int(
        exported.ask(
            "SELECT count() FROM otel_traces WHERE ResourceAttributes['tachograph.tenant_id'] = {tenant:String}"
        )[0][0]
    )


def test_the_program_waits_for_clickhouse(following: Following, tmp_path: Path) -> None:
    """Away for a while: it says so, looks again, and passes nothing over."""
    house = following.settings.clickhouse
    with collector() as receiver, Proxy(house.host, house.http_port) as door, (tmp_path / "log").open("wb") as log:
        environment = os.environ | {
            "TACHOGRAPH_HOME": str(following.settings.home), "TACHOGRAPH_CLICKHOUSE__HTTP_PORT": str(door.port),
            "TACHOGRAPH_OTLP__ENDPOINT": receiver.url, "TACHOGRAPH_OTLP__SETTLE_S": "0",
            "TACHOGRAPH_OTLP__POLL_S": "0.1", "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        following.land("violations", range(2))
        process = subprocess.Popen(
            [
                sys.executable, "-m", "tachograph.console.main", "export", "otlp", "--follow", "--since",
                "2026-01-01T00:00:00Z", "--tenant", following.tenant, "--name", following.tenant,
            ],
            env=environment, stderr=log,
        )  # fmt: skip
        try:
            eventually(lambda: len(receiver.logs) == 2, "what was there")
            door.close_door()
            following.land("violations", range(2, 5))
            eventually(lambda: "looking again" in (tmp_path / "log").read_text(), "a word about it")
            door.open_door()
            eventually(lambda: len(receiver.logs) == 5, "the rest")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0, (tmp_path / "log").read_text()
        finally:
            process.kill()
            process.wait()
