"""A fault in an agent, from the real recorder to the artifact store, ClickHouse and the violation topic."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tachograph.console.database import Reader, reader
from tachograph.producers import SystemErrorStop, Tracer, TracerOptions
from tachograph.producers.captures import CaptureKey
from tachograph.producers.publishing import Message, Publisher, PublisherStats, SpoolPublisher
from tachograph.producers.run import Run
from tachograph.schemas.headers import Header
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import CAPTURES, ViolationKind, row_topic, violation_topic
from tachograph.schemas.wire import Codec
from tests.pipeline.processes import Part, pipeline, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

POINTERS = """
SELECT trigger, kind, stored, artifact_id, hash, size_bytes, created_at, deleted_at
FROM snapshot_pointers WHERE agent_id = {agent:String} ORDER BY trigger, kind
"""
QUICK = {"TACHOGRAPH_SNAPSHOTS__GRACE_S": "1", "TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05"}
BOTH = ("prompt", "tool_output")


def timed_out() -> None:
    raise TimeoutError


def never_valid(_: object) -> None:
    raise ValueError


def repair(run: Run) -> None:
    run.schema_repair(1, validate=never_valid, repair=lambda value, _: value, max_attempts=1)


def loop(run: Run) -> None:
    for _ in range(2):
        run.tools.execute("read", {"path": "same"})


FAULTS: dict[str, Callable[[Run], Any]] = {
    "SYSTEM_ERROR": lambda run: run.system_error(MemoryError()),
    "schema_repair_failed": repair,
    "loop_guard": loop,
    "tool_error": lambda run: run.tools.execute("fail"),
    "tool_timeout": lambda run: run.tools.execute("slow"),
    "missing_pointer": lambda run: run.missing_pointer("artifact://gone"),
    "debug_request": lambda run: run.debug_snapshot(),
}
TOOLS: dict[str, Any] = {"read": lambda path: f"raw of {path}", "fail": lambda: 1 / 0, "slow": timed_out}


class WithoutCaptures:
    """A publisher whose captures never arrive, as if they had expired."""

    def __init__(self, inner: Publisher) -> None:
        self._inner = inner

    def publish(self, message: Message) -> None:
        if message.topic != CAPTURES.name:
            self._inner.publish(message)

    def flush(self, timeout: float) -> bool:
        return self._inner.flush(timeout)

    def close(self, timeout: float = 10.0) -> None:
        self._inner.close(timeout)

    def stats(self) -> PublisherStats:
        return self._inner.stats()


@contextmanager
def agent(settings: Settings, name: str, key: Path, *, lose: bool = False, **options: Any) -> Iterator[Tracer]:
    """A tracer on the real broker; when the block ends, all of its records are acknowledged."""
    spool = SpoolPublisher.from_settings(settings)
    publisher: Publisher = WithoutCaptures(spool) if lose else spool
    given = TracerOptions(loop_threshold=1, **options)
    yield Tracer(
        agent_id=name,
        agent_version="1",
        publisher=publisher,
        capture_key=CaptureKey.from_file(key),
        tools=TOOLS,
        options=given,
    )
    assert publisher.flush(30)
    publisher.close()


def record_fault(tracer: Tracer, trigger: str) -> None:
    with suppress(SystemErrorStop), tracer.start_run() as run, run.step("tool", "s"):
        run.model_call(lambda **_: "ok", model="m", messages=f"prompt of {trigger}")
        run.tools.execute("read", {"path": trigger})
        with suppress(ZeroDivisionError, TimeoutError, ValueError):
            FAULTS[trigger](run)


def rows(database: Reader, sql: str, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in database.rows(sql, {"agent": name})]


def written(settings: Settings, topic: str, schema: str, name: str) -> list[tuple[bytes, dict[str, Any], bytes]]:
    """Every message of an agent on a topic: its source, its row and its bytes, repeats included."""
    codec, found = Codec(), []
    consumer = Consumer(settings.kafka.client(**{"group.id": uuid.uuid4().hex, "enable.auto.commit": False}))
    try:
        for partition in range(settings.kafka.partitions):
            place = TopicPartition(topic, partition, 0)
            _, end = consumer.get_watermark_offsets(place, timeout=10)
            consumer.assign([place])
            at = 0
            while at < end:
                message = consumer.poll(10)
                assert message is not None
                assert message.error() is None
                at = (message.offset() or 0) + 1
                row = codec.decode_as(schema, message.value())
                if row["agent_id"] == name:
                    headers = dict(message.headers() or [])
                    found.append((headers.get(Header.SOURCE.value, b""), row, message.value() or b""))
    finally:
        consumer.close()
    return found  # type: ignore[return-value]  # as above


def tachograph(settings: Settings, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tachograph.console.main", "--home", str(settings.home), *arguments],
        check=False,
        capture_output=True,
        env=os.environ | environment,
    )


def test_every_fault_leaves_snapshots_that_open(stack: Settings, tmp_path: Path) -> None:
    """Six triggers: prompt and raw tool output, stored, found from manifest and event, opened with the keys only.

    The step is killed while it works, and another group repeats everything: rows and artifacts stay what they are.
    """
    name, key = f"faulty-{uuid.uuid4().hex[:8]}", tmp_path / "capture.key"
    expected = sorted((trigger, kind) for trigger in FAULTS for kind in BOTH)
    # The loop guard fires after the second equal call, so its step has more outputs.
    expected = sorted(expected + [("loop_guard", "tool_output")] * 2)
    snapshots = Part("snapshots", stack, tmp_path / "snapshots.log", **QUICK)
    with reader(stack) as database, pipeline(stack, tmp_path, **QUICK) as parts, snapshots:
        for trigger in FAULTS:
            with agent(stack, name, key) as tracer:
                record_fault(tracer, trigger)
            snapshots.kill()
            snapshots.start()

        def found() -> list[tuple[Any, ...]]:
            return [row[:2] for row in rows(database, POINTERS, name)]

        wait_for(lambda: len(found()) >= len(expected), lambda: f"{found()}", *parts, snapshots)
        first = rows(database, POINTERS, name)
        assert [row[:2] for row in first] == expected
        assert all(row[2] and row[3] and row[4] and row[5] and row[6] and row[7] is None for row in first)

        again = Part("snapshots", stack, tmp_path / "again.log", TACHOGRAPH_SNAPSHOTS__GROUP_ID=name, **QUICK)
        topic = row_topic("snapshots")
        once = len(written(stack, topic, "rows.snapshots", name))
        with again:
            wait_for(
                lambda: len(written(stack, topic, "rows.snapshots", name)) >= once + len(expected),
                again.log_tail,
                again,
            )
        values: dict[bytes, set[bytes]] = {}
        for source, _, value in written(stack, topic, "rows.snapshots", name):
            values.setdefault(source, set()).add(value)
        assert [len(same) for same in values.values()] == [1] * len(expected)

        count = "SELECT count(), uniqExact(snapshot_id) FROM snapshots WHERE agent_id = {agent:String}"
        assert rows(database, count, name) == [(len(expected), len(expected))]
        linked = "SELECT countIf(length(snapshots) >= 2), count() FROM {view} WHERE agent_id = {{agent:String}}"
        # A run that a SYSTEM_ERROR stops ends before the manifest of its step is due.
        for view, least in (("manifests", len(FAULTS) - 1), ("events", len(FAULTS))):
            [(with_pointers, total)] = rows(database, linked.format(view=view), name)
            assert with_pointers >= least, f"{with_pointers} of {total} {view} have pointers"

    artifact = next(row[3] for row in first if row[:2] == ("tool_error", "prompt"))
    opened = tachograph(stack, "artifacts", "get", artifact, "--capture-key", str(key))
    assert b"prompt of tool_error" in opened.stdout, opened.stderr
    locked = tachograph(stack, "artifacts", "get", artifact, "--capture-key", str(tmp_path / "none"))
    assert (locked.returncode, b"capture key" in locked.stderr, locked.stdout) == (1, True, b"")


def test_bytes_that_are_gone_are_a_violation_and_a_system_error(stack: Settings, tmp_path: Path) -> None:
    """The pointer that is missing has a row, a message on the integrity topic and a SYSTEM_ERROR of the run."""
    name, key = f"gone-{uuid.uuid4().hex[:8]}", tmp_path / "capture.key"
    with reader(stack) as database, pipeline(stack, tmp_path, **QUICK) as parts:
        with agent(stack, name, key, lose=True) as tracer:
            record_fault(tracer, "tool_error")
        asked = "SELECT capture_ids FROM agent_failures WHERE agent_id = {agent:String} AND trigger = 'tool_error'"
        errors = (
            "SELECT missing_pointer FROM agent_failures WHERE agent_id = {agent:String} AND trigger = 'SYSTEM_ERROR'"
        )
        told = "SELECT evidence FROM violations WHERE agent_id = {agent:String} AND code = 'integrity.snapshot_missing'"
        with Part("snapshots", stack, tmp_path / "snapshots.log", **QUICK) as snapshots:
            wait_for(
                lambda: (
                    len(rows(database, told, name)) == 2
                    and len(rows(database, errors, name)) == 2
                    and len(rows(database, asked, name)) == 1
                    and len(rows(database, POINTERS, name)) == 2
                ),
                lambda: f"{rows(database, told, name)} {rows(database, errors, name)}",
                *parts,
                snapshots,
            )
        [(capture_ids,)] = rows(database, asked, name)
        pointers = sorted((f"capture:{capture_id}",) for capture_id in capture_ids)
        assert sorted(rows(database, told, name)) == pointers
        assert sorted(rows(database, errors, name)) == pointers
        assert [row[2] for row in rows(database, POINTERS, name)] == [False, False]
    messages = written(stack, violation_topic(ViolationKind.INTEGRITY), "rows.violations", name)
    assert sorted((row["evidence"],) for _, row, _ in messages) == pointers


def landed_erasure(database: Reader, record_id: str) -> list[tuple[Any, ...]]:
    """The proposal of an erasure beside its run, once both have landed."""
    sql = """
        SELECT decision_key, proposed.status, JSONExtractString(outputs, 'reason'), subject_ids,
            JSONExtractInt(outputs, 'artifact_count'), ended.completeness,
            (SELECT count() FROM violations WHERE run_id IN (SELECT run_id FROM record_proposals
                WHERE record_id = {name:String}))
        FROM record_proposals AS proposed
        INNER JOIN agent_runs AS ended ON ended.run_id = proposed.run_id AND ended.event_type = 'run_ended'
        WHERE proposed.record_id = {name:String}
    """
    return [tuple(row) for row in database.rows(sql, {"name": record_id})]


def test_samples_are_kept_and_removals_are_on_record(stack: Settings, tmp_path: Path) -> None:
    """1 in 2 prompts is offered and kept; gc leaves the young alone; after an erasure the pointer has its time."""
    name, key = f"sampled-{uuid.uuid4().hex[:8]}", tmp_path / "capture.key"
    own = {
        "TACHOGRAPH_ARTIFACTS__URL": f"file://{tmp_path / 'store'}",
        "TACHOGRAPH_ARTIFACTS__KEY_FOLDER": str(tmp_path / "keys"),
    }
    with reader(stack) as database, pipeline(stack, tmp_path, **QUICK) as parts:
        with agent(stack, name, key, sample_prompts=2) as tracer, tracer.start_run() as run:
            for number in range(4):
                run.model_call(lambda **_: "ok", model="m", messages=f"sample {number}")

        def state(position: int) -> list[Any]:
            return [row[position] for row in rows(database, POINTERS, name)]

        overrides = QUICK | own | {"TACHOGRAPH_SNAPSHOTS__GROUP_ID": name}
        with Part("snapshots", stack, tmp_path / "snapshots.log", **overrides) as snapshots:
            wait_for(lambda: len(state(0)) == 2, lambda: f"{state(0)}", *parts, snapshots)
        assert (state(0), state(1), state(2)) == (["sampled"] * 2, ["prompt"] * 2, [True] * 2)
        kept = tachograph(stack, "artifacts", "gc", "--json", **own)
        assert (kept.returncode, kept.stdout.strip()) == (0, b"[]"), kept.stderr
        erased = tachograph(
            stack, "artifacts", "erase", "--run", run.run_id, "--reason", "request 7", "--yes", "--json", **own
        )
        assert erased.returncode == 0, erased.stderr
        wait_for(lambda: all(state(7)), lambda: f"{state(7)}", *parts)
        artifact = state(3)[0]
        told = json.loads(erased.stdout)
        # The run of the erasure is complete, and nothing about it is amiss: it is a recorded decision like any other.
        wait_for(lambda: landed_erasure(database, told["record_id"]) != [], lambda: "no record of the erasure", *parts)
        [(key_, status, reason, subjects, count, completeness, violations)] = landed_erasure(
            database, told["record_id"]
        )
        assert (key_, status, reason, count) == ("tachograph.erasure", "DECIDED", "request 7", 2)
        assert subjects == [f"subject:{told['subject_name']}"]
        assert (completeness, violations) == ("complete", 0)
        again = tachograph(stack, "artifacts", "erase", "--run", run.run_id, "--reason", "x", "--yes", "--json", **own)
        assert json.loads(again.stdout) == told
    gone = tachograph(stack, "artifacts", "get", artifact, "--capture-key", str(key), **own)
    assert (gone.returncode, b"request 7" in gone.stderr) == (1, True), gone.stderr
