"""A fault in an agent, from the real recorder to the artifact store and ClickHouse, while the step is killed."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tachograph.console.database import Reader, reader
from tachograph.processors.sealing.key_set import create_keys
from tachograph.processors.snapshots import of_failure
from tachograph.processors.snapshots.rows import snapshot_row
from tachograph.schemas.settings import ArtifactSettings, Settings
from tachograph.schemas.topics import row_topic
from tachograph.sinks.artifacts import ArtifactStore, Entry, open_store
from tachograph.sinks.artifacts.entry import micros
from tachograph.sinks.artifacts.errors import ArtifactExpiredError
from tests.pipeline.faulty_agent import FAULTS, POINTERS, QUICK, SNAPSHOTS, agent, record_fault, rows, written
from tests.pipeline.processes import Part, pipeline, wait_for
from tests.processors.snapshots.test_plan import DAY, failure
from tests.status_pages import free_ports, is_ready, samples

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


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
    port, _ = free_ports()
    served = QUICK | {"TACHOGRAPH_SNAPSHOTS__HTTP_PORT": str(port)}
    snapshots = Part("snapshots", stack, tmp_path / "snapshots.log", **QUICK)
    with reader(stack) as database, pipeline(stack, tmp_path, **QUICK) as parts, snapshots:
        for trigger in FAULTS:
            with agent(stack, name, key) as tracer:
                record_fault(tracer, trigger)
            snapshots.kill()
            snapshots.start()

        def found() -> list[tuple[Any, ...]]:
            return [row[:2] for row in rows(database, POINTERS, name)]

        wait_for(lambda: len(found()) >= len(SNAPSHOTS), lambda: f"{found()}", *parts, snapshots)
        first = rows(database, POINTERS, name)
        assert [row[:2] for row in first] == SNAPSHOTS
        assert all(row[2] and row[3] and row[4] and row[5] and row[6] and row[7] is None for row in first)

        again = Part("snapshots", stack, tmp_path / "again.log", TACHOGRAPH_SNAPSHOTS__GROUP_ID=name, **served)
        topic = row_topic("snapshots")
        once = len(written(stack, topic, "rows.snapshots", name))
        with again:
            wait_for(
                lambda: len(written(stack, topic, "rows.snapshots", name)) >= once + len(SNAPSHOTS),
                again.log_tail,
                again,
            )
            wait_for(lambda: is_ready(port), again.log_tail, again)
            assert samples(port)["tachograph_snapshots_captures_total", ("stored",)] >= len(SNAPSHOTS)
        values: dict[bytes, set[bytes]] = {}
        for source, _, value in written(stack, topic, "rows.snapshots", name):
            values.setdefault(source, set()).add(value)
        assert [len(same) for same in values.values()] == [1] * len(SNAPSHOTS)

        count = "SELECT count(), uniqExact(snapshot_id) FROM snapshots WHERE agent_id = {agent:String}"
        assert rows(database, count, name) == [(len(SNAPSHOTS), len(SNAPSHOTS))]
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


async def put_long_ago(store: ArtifactStore, agent_id: str) -> Entry:
    """A snapshot as the step stored it twenty days ago."""
    now = micros(datetime.now(UTC))
    [request] = of_failure(failure(agent_id=agent_id, occurred_at=now), 0, now)
    return await store.put(
        b"prompt of long ago",
        tenant_id=request.tenant_id,
        subject=f"run:{request.run_id}",
        created_at=now - 20 * DAY,
        record=snapshot_row(request) | {"kind": "prompt", "capture_partition": 0},
    )


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
    """1 in 2 prompts is offered and kept; the step deletes what is too old, and gc leaves the young alone.

    After a removal, by retention or by an erasure, the pointer says when.
    """
    name, key = f"sampled-{uuid.uuid4().hex[:8]}", tmp_path / "capture.key"
    own = {
        "TACHOGRAPH_ARTIFACTS__URL": f"file://{tmp_path / 'store'}",
        "TACHOGRAPH_ARTIFACTS__KEY_FOLDER": str(tmp_path / "keys"),
    }
    url, keys = own.values()
    mine = ArtifactSettings(url=url, key_folder=Path(keys))
    store = open_store(stack.model_copy(update={"artifacts": mine}), create_keys=True)
    old = asyncio.run(put_long_ago(store, agent_id=f"{name}-old"))
    with reader(stack) as database, pipeline(stack, tmp_path, **QUICK) as parts:
        with agent(stack, name, key, sample_prompts=2) as tracer, tracer.start_run() as run:
            for number in range(4):
                run.model_call(lambda **_: "ok", model="m", messages=f"sample {number}")

        def state(position: int) -> list[Any]:
            return [row[position] for row in rows(database, POINTERS, name)]

        overrides = QUICK | own | {"TACHOGRAPH_SNAPSHOTS__GROUP_ID": name}
        with Part("snapshots", stack, tmp_path / "snapshots.log", **overrides) as snapshots:
            wait_for(lambda: len(state(0)) == 2, lambda: f"{state(0)}", *parts, snapshots)
            removed = f"{name}-old"
            wait_for(lambda: len(rows(database, POINTERS, removed)) == 1, snapshots.log_tail, *parts, snapshots)
        [pointer] = rows(database, POINTERS, removed)
        assert pointer[3] == old.artifact_id
        assert pointer[7] is not None
        with pytest.raises(ArtifactExpiredError):
            asyncio.run(store.get(old.tenant_id, old.artifact_id))
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
        create_keys(stack)
        sealed = "SELECT status, retention FROM decision_records WHERE record_id = {agent:String}"
        with Part("sealer", stack, tmp_path / "sealer.log", **QUICK) as sealer:
            wait_for(lambda: rows(database, sealed, told["record_id"]) != [], sealer.log_tail, *parts, sealer)
        assert rows(database, sealed, told["record_id"]) == [("DECIDED", "protected")]
        again = tachograph(stack, "artifacts", "erase", "--run", run.run_id, "--reason", "x", "--yes", "--json", **own)
        assert json.loads(again.stdout) == told
    gone = tachograph(stack, "artifacts", "get", artifact, "--capture-key", str(key), **own)
    assert (gone.returncode, b"request 7" in gone.stderr) == (1, True), gone.stderr
