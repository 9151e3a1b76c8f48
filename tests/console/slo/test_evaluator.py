"""The evaluator on the real servers: counts by SQL, transitions on the topic, one at a time, over restarts."""

import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import clickhouse_connect
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tachograph.console.database import reader
from tachograph.console.slo.burn import windows
from tachograph.console.slo.counting import observe, samples
from tachograph.console.slo.evaluator import run_evaluator
from tachograph.console.slo.objective import Objective
from tachograph.console.slo.publishing import Transitions
from tachograph.console.slo.shipped import shipped_folder
from tachograph.schemas.settings import Settings
from tachograph.schemas.wire import Codec
from tests.console.slo.evaluator_process import evaluator_process
from tests.console.slo.simulation import DAY, HOUR, MINUTE, OBJECTIVE, START, Watch, steady
from tests.sinks.proxy import Proxy
from tests.sinks.running import eventually, is_stopped
from tests.status_pages import free_ports, get, is_ready
from tests.status_pages import samples as metrics_of

pytestmark = pytest.mark.stack


@dataclass
class Place:
    """A topic, a group and tables of one test."""

    settings: Settings
    topic: str
    migrator: Any
    tables: list[str] = field(default_factory=list)

    def table(self, columns: str) -> str:
        name = f"slo_{uuid.uuid4().hex[:10]}"
        self.migrator.command(
            f"CREATE TABLE tachograph.{name} (tenant_id LowCardinality(String), agent_id LowCardinality(String), "
            f"event_id String, occurred_at DateTime64(6, 'UTC'), {columns}) ENGINE = MergeTree ORDER BY occurred_at"
        )
        self.tables.append(name)
        return name

    def insert(self, table: str, rows: str) -> None:
        self.migrator.command(f"INSERT INTO tachograph.{table} {rows}")

    @contextmanager
    def evaluating(self, objective: Objective, clock: list[int]) -> Iterator[list[int]]:
        """An evaluator whose clock is ``clock[0]``. Yields the moments it has evaluated."""
        stop, done, raised = threading.Event(), list[int](), list[BaseException]()

        def run() -> None:
            try:
                run_evaluator(
                    self.settings,
                    [objective],
                    stop=stop,
                    topic=self.topic,
                    clock=lambda: clock[0],
                    evaluated=done.append,
                )
            except BaseException as error:  # noqa: BLE001 - handed to the test
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield done
        finally:
            stop.set()
            thread.join()
            if raised:
                raise raised[0]

    def published(self) -> list[tuple[int, str, str]]:
        rows = Transitions(self.settings.kafka, self.topic, Codec()).rows()
        told = [(row["occurred_at"] // 1_000_000 - START, row["severity"], row["verdict"]) for row in rows]
        return sorted(told)


@pytest.fixture
def place(stack: Settings) -> Iterator[Place]:
    name = uuid.uuid4().hex[:10]
    admin = AdminClient(stack.kafka.client())
    admin.create_topics([NewTopic(f"slo.{name}", 2, 1)])[f"slo.{name}"].result()
    slo = stack.slo.model_copy(update={"group_id": f"slo-{name}", "lateness_s": 0, "session_timeout_s": 6.0})
    house = stack.clickhouse
    migrator = clickhouse_connect.get_client(
        host=house.host,
        port=house.http_port,
        username=house.migrate_user,
        password=house.migrate_password.get_secret_value(),
    )
    found = Place(stack.model_copy(update={"slo": slo}), f"slo.{name}", migrator)
    yield found
    for table in found.tables:
        migrator.command(f"DROP TABLE tachograph.{table}")
    migrator.close()


@pytest.mark.parametrize("period_s", [30 * DAY, 3 * DAY + MINUTE, 73 * HOUR, 7 * DAY + 17 * MINUTE])
@pytest.mark.parametrize("at", [START, START - START % HOUR])
def test_sql_counts_as_the_simulation_does(place: Place, period_s: int, at: int) -> None:
    """Every window, by the events' own time; both edges of a window are where they should be, in mid-hour too."""
    chance = Random(7)  # noqa: S311 - a seed, not a secret
    objective = replace(OBJECTIVE, period_s=period_s)
    edges = [at - span + shift for span in windows(objective) for shift in (-HOUR, -1, 0, 1, HOUR)]
    moments = [*edges, *(at - chance.randrange(31 * DAY) for _ in range(2000)), at - 1, at, at + 1]
    events = [event._replace(bad=chance.randrange(2)) for at in moments for event in steady(at, at + 1, total=1)]
    table = place.table("bad Bool")
    values = ",".join(f"('acme', '', 'e{n}', {event.at}, {event.bad})" for n, event in enumerate(events))
    place.insert(table, f"VALUES {values}")
    objective = replace(objective, table=table)
    with reader(place.settings) as database:
        (found,) = observe(database, objective, at)
        named = samples(database, objective, "acme", at)
    watch = Watch(events, objective)
    expected = watch.observation(at)
    assert expected is not None
    assert found.counts == expected.counts
    assert found.last_event_at == at - 1
    recent = sorted(
        (-event.at, f"e{n}") for n, event in enumerate(events) if event.bad and at - 6 * HOUR <= event.at < at
    )
    assert list(named) == [name for _, name in recent[:5]]


def outage(place: Place) -> Objective:
    """A table with an hour of good calls before START, an outage of ten minutes after it, and an hour of good calls."""
    table = place.table("bad Bool")
    place.insert(
        table,
        f"SELECT 'acme', '', concat('e', toString(number)), toDateTime64({START - HOUR} + number * 6, 6, 'UTC'), "  # noqa: S608 - numbers
        "number BETWEEN 600 AND 699 FROM numbers(1400)",
    )
    return replace(OBJECTIVE, name=table, table=table, no_data_after_s=None, period_s=30 * DAY)


def moments(done: list[int]) -> list[int]:
    return [moment - START for moment in done]


def test_a_restart_while_firing_goes_on(place: Place) -> None:
    """What fires is read back from the topic: the beginning is told once, the end once, with samples."""
    objective = outage(place)
    clock = [START]
    with place.evaluating(objective, clock) as done:
        eventually(lambda: moments(done) == [0], "the first evaluation")
        clock[0] = START + 10 * MINUTE
        eventually(lambda: moments(done) == [0, 600], "the second evaluation")
    assert place.published() == [(600, "critical", "firing"), (600, "error", "firing")]
    (first, *_) = Transitions(place.settings.kafka, place.topic, Codec()).rows()
    assert len(first["sample_event_ids"]) == 5
    with place.evaluating(objective, clock) as done:
        clock[0] = START + 11 * MINUTE
        eventually(lambda: 660 in moments(done), "an evaluation by the second process")
        clock[0] = START + HOUR
        eventually(lambda: HOUR in moments(done), "the last evaluation")
    assert [item for item in place.published() if item[1] == "critical"] == [
        (600, "critical", "firing"),
        (HOUR, "critical", "resolved"),
    ]


def test_one_evaluator_at_a_time(place: Place) -> None:
    """Of two, one evaluates; when it is gone the other takes over, and nothing is said twice."""
    objective = outage(place)
    clocks = [START + 10 * MINUTE], [START + 10 * MINUTE]
    with ExitStack() as one, ExitStack() as other:
        stacks = one, other
        done = [
            stack.enter_context(place.evaluating(objective, clock)) for stack, clock in zip(stacks, clocks, strict=True)
        ]
        eventually(lambda: bool(done[0] or done[1]), "the first evaluation")
        clocks[0][0] = clocks[1][0] = START + 11 * MINUTE
        eventually(lambda: START + 11 * MINUTE in done[0] + done[1], "the next moment")
        active = 0 if START + 11 * MINUTE in done[0] else 1
        stacks[active].close()
        clocks[0][0] = clocks[1][0] = START + 12 * MINUTE
        eventually(lambda: START + 12 * MINUTE in done[1 - active], "the other's evaluation")
    assert [item[1:] for item in place.published()] == [("critical", "firing"), ("error", "firing")]


def test_an_evaluator_that_slept_says_nothing(place: Place) -> None:
    """It falls asleep right before it speaks, another takes over and speaks, the first wakes up: said once."""
    objective = outage(place)
    clock = [START + 11 * MINUTE]
    told = {
        "home": str(place.settings.home),
        "slo": place.settings.slo.model_dump(mode="json") | {"session_timeout_s": 2.0},
        "objective": asdict(objective),
        "topic": place.topic,
        "now": START + 10 * MINUTE,
    }
    with evaluator_process(told) as sleeper:
        eventually(lambda: is_stopped(sleeper.pid), "the sleeper to sleep")
        with place.evaluating(objective, clock) as done:
            eventually(lambda: bool(done), "the other to take over")
            spoken = place.published()
            sleeper.send_signal(signal.SIGCONT)
            assert sleeper.stdout is not None
            assert sleeper.stdout.readline() == b"woken\n"
            # Its next evaluation, or the loss of its place, comes after what it wanted to say.
            assert sleeper.stdout.readline() == b"refused\n"
        assert place.published() == spoken
    assert [item[1:] for item in spoken] == [("critical", "firing"), ("error", "firing")]


def test_what_the_topic_has_forgotten_is_known_from_the_table(place: Place) -> None:
    """A transition that landed counts although the topic does not hold it any more."""
    objective = outage(place)
    place.migrator.command(
        "INSERT INTO tachograph.violations (tenant_id, agent_id, violation_id, kind, code, severity, verdict, "  # noqa: S608 - our own names
        f"constraint_id, occurred_at) VALUES ('acme', '', '{objective.name}', 'slo', 'slo.burn_rate', 'critical', "
        f"'firing', '{objective.name}', {START - 40 * DAY})"
    )
    clock = [START]
    with place.evaluating(objective, clock) as done:
        eventually(lambda: bool(done), "the evaluation")
    assert place.published() == [(0, "critical", "resolved")]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"table": "not_there"}, id="a missing table"),
        pytest.param({"bad": "no_such"}, id="a wrong condition"),
    ],
)
def test_an_objective_that_cannot_be_asked_does_not_blind_the_others(
    place: Place, caplog: pytest.LogCaptureFixture, wrong: dict[str, str]
) -> None:
    """Not those of its own table either. It is said once, in words."""
    good, clock = outage(place), [START + 10 * MINUTE]
    bad = replace(good, name="broken", **wrong)  # type: ignore[arg-type]
    stop, done = threading.Event(), list[int]()

    def evaluated(moment: int) -> None:
        done.append(moment)
        clock[0] += MINUTE
        if len(done) == 2:
            stop.set()

    run_evaluator(
        place.settings, [bad, good], stop=stop, topic=place.topic, clock=lambda: clock[0], evaluated=evaluated
    )
    assert len(place.published()) >= 2
    assert sum("broken" in record.message for record in caplog.records) == 1


def test_budget_on_the_command_line(place: Place, tmp_path: Path) -> None:
    """A folder of one's own objectives, asked as the console's account."""
    from tests.console.test_cli import tachograph  # noqa: PLC0415 - only here

    table = place.table("bad Bool")
    place.insert(table, "SELECT 'acme', '', 'e', now64(6) - INTERVAL 10 MINUTE, number < 5 FROM numbers(1000)")
    text = (shipped_folder() / "tool-success.yaml").read_text().replace("table: tool_calls", f"table: {table}")
    text = text.replace("result_is_error OR ifNull(error_type, '') != ''", "bad").replace('"complete"', '"1"')
    (tmp_path / "a.yaml").write_text(text.replace("target: 0.95", "target: 0.99"))
    home = place.settings.home
    answer = tachograph("slo", "budget", "--json", home=home, TACHOGRAPH_SLO__FOLDER=str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    assert '"budget_left": 0.5' in answer.stdout
    assert '"tenant_id": "acme"' in answer.stdout
    shown = tachograph("slo", "show", "tool-success", home=home, TACHOGRAPH_SLO__FOLDER=str(tmp_path))
    assert "50.0%" in shown.stdout, shown.stderr
    unknown = tachograph("slo", "show", "nothing", home=home, TACHOGRAPH_SLO__FOLDER=str(tmp_path))
    assert unknown.returncode == 2
    assert "there are tool-success" in unknown.stderr


def test_an_evaluator_says_how_it_is(place: Place) -> None:
    """Ready while it evaluates or stands by; not while ClickHouse is away, which its metrics count."""
    clickhouse, (port, other_port) = place.settings.clickhouse, free_ports()
    objective, clock = outage(place), [START]
    with Proxy(clickhouse.host, clickhouse.http_port) as proxy:
        through = clickhouse.model_copy(update={"http_port": proxy.port})
        slo = place.settings.slo.model_copy(update={"http_port": port})
        served = replace(place, settings=place.settings.model_copy(update={"clickhouse": through, "slo": slo}))
        with served.evaluating(objective, clock) as done:
            eventually(lambda: bool(done) and is_ready(port), "an evaluation")
            before = metrics_of(port)
            assert before["tachograph_slo_evaluated_timestamp_seconds", ()] == START
            proxy.close_door()
            clock[0] = START + MINUTE
            eventually(lambda: "objectives are not evaluated: " in get(port, "readyz")[1], "the sentence")
            assert get(port, "healthz") == (200, "ok\n")
            proxy.open_door()
            eventually(lambda: len(done) > 1 and is_ready(port), "the evaluation after it")
            found = metrics_of(port)
            for outcome in ("done", "failed"):
                name = "tachograph_slo_evaluations_total", (outcome,)
                assert found[name] > before.get(name, 0)
            slo = slo.model_copy(update={"http_port": other_port})
            other = replace(served, settings=served.settings.model_copy(update={"slo": slo}))
            with other.evaluating(objective, clock):
                eventually(lambda: is_ready(other_port) and is_ready(port), "two members")
