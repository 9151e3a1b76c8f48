"""A reference run for each of the six failures to observe and for each of the six fault triggers.

All of them pass one pipeline, while a judge model that does not answer is asked about each: from a raw Avro record, or
from the real recorder, to a query on ClickHouse and a message on the violation topic.
"""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import ge
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tachograph.console.database import Reader, reader
from tachograph.processors.failures import Failure
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import EVENTS, ViolationKind, violation_topic
from tachograph.schemas.wire import Codec, to_avro
from tests.pipeline.faulty_agent import FAULTS, POINTERS, QUICK, SNAPSHOTS, agent, record_fault, rows, written
from tests.pipeline.processes import Part, pipeline, wait_for
from tests.schemas import samples

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

CODEC = Codec()
EVENT = to_avro(samples.DECISION_EVENT) | {"parent_span_id": None}
PROVENANCE = EVENT["prompt_provenance"]
SILENT = EVENT["model_output"] | {"tool_calls": []}
QUIET = EVENT["agent_action"] | {"tool_results": []}
"""An event that asks for no tool."""

SIX: dict[Failure, dict[str, Any]] = {
    Failure.MISSING_PROMPT_BUNDLE: {"prompt_provenance": PROVENANCE | {"prompt_bundle": None, "bundle_pointer": None}},
    Failure.MISSING_CORRELATION_IDS: {"span_id": None},
    Failure.MISSING_CAPTURE_MODE: {"prompt_provenance": PROVENANCE | {"capture_mode": None}},
    Failure.MISSING_EVALUATION: {"evaluation": None},
    Failure.UNRECORDED_TRANSFORMATION: {"prompt_provenance": PROVENANCE | {"sent_hash": "0" * 64}},
    Failure.MISSING_TOOL_RESULT: {"model_output": EVENT["model_output"]},
}
"""What is wrong with the one event of each run."""

OF_THE_SIX = """
SELECT run_id, code, event_id, violation_id FROM violations
WHERE agent_id = {agent:String} AND kind = 'observability'
"""
LOST = "SELECT evidence FROM violations WHERE agent_id = {agent:String} AND code = 'integrity.snapshot_missing'"
ASKED = """
SELECT trigger, capture_ids FROM agent_failures
WHERE agent_id = {agent:String} AND notEmpty(capture_ids) AND error_type != 'SnapshotMissing'
"""
STOPPED = """
SELECT missing_pointer FROM agent_failures
WHERE agent_id = {agent:String} AND error_type = 'SnapshotMissing' AND trigger = 'SYSTEM_ERROR'
"""
JUDGED = """
SELECT count(), countIf(alignment_status = 'fail') FROM evaluations
WHERE startsWith(agent_id, {agent:String}) AND rules = 'plugin:judge'
"""


class Judge(ThreadingHTTPServer):
    """A model that thinks until it is told to stop, and then finds fault with everything."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked = 0
        self.answered = 0
        self.thought = threading.Event()


class _Answer(BaseHTTPRequestHandler):
    server: Judge

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked += 1
        self.server.thought.wait()
        self.server.answered += 1
        answer = {"choices": [{"message": {"role": "assistant", "content": '{"status": "fail"}'}}]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Quietly."""


@contextmanager
def judge() -> Iterator[Judge]:
    with Judge() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.thought.set()
            server.shutdown()
            thread.join()


class Landed(NamedTuple):
    """What the reference runs left, once all of it was there."""

    settings: Settings
    database: Reader
    label: str
    asked_and_answered: tuple[int, int]
    """How often the judge had been asked, and had answered, when everything had landed."""
    judged: tuple[int, int]
    """Its verdicts afterwards: all, and those of fault."""


def run_with(label: str, failure: Failure) -> list[tuple[str, dict[str, Any]]]:
    """Start, one event, end: as a foreign producer might write them."""
    run_id = f"{label}-{failure.name.lower()}"
    event = EVENT | {"model_output": SILENT, "agent_action": QUIET} | SIX[failure]
    event["session"] = event["session"] | {"run_id": run_id}
    end = to_avro(samples.RUN_ENDED) | {"emitted": 3, "dropped": 0}
    records = [("RunStarted", to_avro(samples.RUN_STARTED)), ("DecisionEvent", event), ("RunEnded", end)]
    names = {"agent_id": f"{label}-foreign", "run_id": run_id, "trace_id": f"t-{run_id}"}
    return [
        (name, record | names | {"seq": seq, "event_id": f"{run_id}-{seq}"})
        for seq, (name, record) in enumerate(records)
    ]


def publish_the_six(settings: Settings, label: str) -> None:
    producer = Producer(settings.kafka.client(partitioner="murmur2_random"))
    for failure in SIX:
        for name, record in run_with(label, failure):
            producer.produce(EVENTS.name, key=record["trace_id"].encode(), value=CODEC.encode(name, record))
    assert producer.flush(30) == 0


def begin_now(settings: Settings, group: str) -> None:
    """Let a group begin at this moment, and not at the one at which it joins."""
    consumer = Consumer(settings.kafka.client(**{"group.id": group}))
    places = [TopicPartition(EVENTS.name, partition) for partition in range(settings.kafka.partitions)]
    ends = [consumer.get_watermark_offsets(place, timeout=30)[1] for place in places]
    offsets = [TopicPartition(place.topic, place.partition, end) for place, end in zip(places, ends, strict=True)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


@pytest.fixture(scope="module")
def landed(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Landed]:
    """Six foreign runs, and each fault twice: its captures kept, and its captures lost on the way."""
    label, folder = f"ref-{uuid.uuid4().hex[:8]}", tmp_path_factory.mktemp("reference")
    begin_now(stack, label)
    with reader(stack) as database, judge() as model, pipeline(stack, folder, **QUICK) as parts:
        of_judge = {
            "TACHOGRAPH_JUDGE__URL": f"http://127.0.0.1:{model.server_port}/v1",
            "TACHOGRAPH_JUDGE__MODEL": "slow-1",
            "TACHOGRAPH_JUDGE__TIMEOUT_S": "600",
            "TACHOGRAPH_EVALUATE__GROUP_ID": label,
        }
        snapshots = Part("snapshots", stack, folder / "snapshots.log", **QUICK)
        evaluators = Part("evaluators", stack, folder / "evaluators.log", **of_judge)
        with snapshots, evaluators:
            running = (*parts, snapshots, evaluators)
            publish_the_six(stack, label)
            record_faults(stack, label, folder)

            def counts() -> tuple[int, ...]:
                queries = (OF_THE_SIX, f"{label}-foreign"), (POINTERS, f"{label}-kept"), (LOST, f"{label}-lost")
                return tuple(len(rows(database, sql, name)) for sql, name in (*queries, (STOPPED, f"{label}-lost")))

            wanted = (len(SIX), len(SNAPSHOTS), len(SNAPSHOTS), len(SNAPSHOTS))
            wait_for(lambda: all(map(ge, counts(), wanted)), lambda: f"{counts()} of {wanted}", *running)
            wait_for(lambda: model.asked > 0, evaluators.log_tail, *running)
            while_it_thought = (model.asked, model.answered)
            model.thought.set()
            wait_for(lambda: rows(database, JUDGED, label)[0][0] > 0, evaluators.log_tail, *running)
            [(verdicts, fails)] = rows(database, JUDGED, label)
        yield Landed(stack, database, label, while_it_thought, (verdicts, fails))


def record_faults(settings: Settings, label: str, folder: Path) -> None:
    for fate in ("kept", "lost"):
        with agent(settings, f"{label}-{fate}", folder / "capture.key", lose=fate == "lost") as tracer:
            for trigger in FAULTS:
                record_fault(tracer, trigger)


def test_each_of_the_six_is_queryable_and_published(landed: Landed) -> None:
    """Exactly one violation for each run, in the table and on the topic, about the event that broke the promise."""
    found = rows(landed.database, OF_THE_SIX, f"{landed.label}-foreign")
    runs = {failure: f"{landed.label}-{failure.name.lower()}" for failure in SIX}
    assert sorted(row[:3] for row in found) == sorted((run, code.code, f"{run}-1") for code, run in runs.items())
    topic = violation_topic(ViolationKind.OBSERVABILITY)
    messages = written(landed.settings, topic, "rows.violations", f"{landed.label}-foreign")
    assert {(row["run_id"], row["code"], row["event_id"], row["violation_id"]) for _, row, _ in messages} == {*found}


def test_each_trigger_keeps_prompt_and_outputs_where_queries_find_them(landed: Landed) -> None:
    """Every capture that a fault named is stored, and events and manifests point to it."""
    name = f"{landed.label}-kept"
    found = rows(landed.database, POINTERS, name)
    assert [row[:2] for row in found] == SNAPSHOTS
    assert all(stored and artifact and deleted is None for _, _, stored, artifact, _, _, _, deleted in found)
    assert {trigger for trigger, _ in rows(landed.database, ASKED, name)} == {*FAULTS}
    assert rows(landed.database, LOST, name) == []
    for view in ("events", "manifests"):
        sql = f"SELECT arrayJoin(snapshots).trigger FROM {view} WHERE agent_id = {{agent:String}}"  # noqa: S608 - ours
        seen = {trigger for (trigger,) in rows(landed.database, sql, name)}
        # A run that a SYSTEM_ERROR stops ends before the manifest of its step is due.
        assert seen >= {*FAULTS} - {"SYSTEM_ERROR" if view == "manifests" else ""}, view


def test_each_trigger_whose_bytes_are_gone_is_published_and_stops_the_run(landed: Landed) -> None:
    """The pointer that is missing: in the table, on the integrity topic, and in a SYSTEM_ERROR of the run."""
    name = f"{landed.label}-lost"
    named = [(trigger, f"capture:{item}") for trigger, ids in rows(landed.database, ASKED, name) for item in ids]
    assert {trigger for trigger, _ in named} == {*FAULTS}
    pointers = sorted((pointer,) for _, pointer in named)
    assert sorted(rows(landed.database, LOST, name)) == pointers
    assert sorted(rows(landed.database, STOPPED, name)) == pointers
    assert {row[2] for row in rows(landed.database, POINTERS, name)} == {False}
    messages = written(landed.settings, violation_topic(ViolationKind.INTEGRITY), "rows.violations", name)
    told = {(row["evidence"], row["message"].split("(")[1].split(")")[0]) for _, row, _ in messages}
    assert told == {(pointer, trigger) for trigger, pointer in named}


def test_a_judge_that_does_not_answer_holds_nothing_up(landed: Landed) -> None:
    """Everything had landed before its first word; its verdicts came when it had thought."""
    asked, answered = landed.asked_and_answered
    assert asked > 0
    assert answered == 0
    verdicts, fails = landed.judged
    assert 0 < fails <= verdicts
