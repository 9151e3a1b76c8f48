"""The demo's stories are whole runs of every record type, recorded by the real recorder."""

import json
import shlex
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import jq
import pytest

from tachograph.console.demo.recording import NotPublishedError, record_stories
from tachograph.console.demo.script import play_stories
from tachograph.console.demo.stage import stage
from tachograph.processors.deadletters import RawRecord
from tachograph.producers.testing import InMemoryPublisher, KeptRecord, SequentialIds
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import RECORD_TYPES
from tests.processors.records import APPENDED, CODEC, PartitionWorker

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AUDIT_DOCS = Path(__file__).parents[2] / "docs" / "audit-trail.md"

Story: TypeAlias = list[KeptRecord]


class Played:
    """One demo, and what it left behind."""

    def __init__(self, home: Path) -> None:
        self.publisher = InMemoryPublisher()
        self.audit = home / "audit"
        with stage(
            Settings(home=home),
            self.publisher,
            started_at=WHEN,
            suffix="test",
            audit=self.audit,
            ids=SequentialIds(),
        ) as self.on:
            play_stories(self.on)
        self.records = self.publisher.records
        self.stories: list[Story] = [
            [kept for kept in self.records if kept.record["run_id"] == run.run_id] for run in self.on.runs
        ]

    def of(self, story: int, record_type: str) -> list[dict[str, Any]]:
        return [kept.record for kept in self.stories[story] if kept.type == record_type]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(tmp_path_factory.mktemp("home"))


def test_every_record_type_appears(played: Played) -> None:
    """The demo exercises the whole contract."""
    assert {kept.type for kept in played.records} == set(RECORD_TYPES)


def test_every_run_is_contiguous_and_counts_itself(played: Played) -> None:
    """Seq runs from 0 without a gap, and RunEnded says how many there were."""
    assert sum(len(story) for story in played.stories) == len(played.records)
    for story in played.stories:
        assert [kept.record["seq"] for kept in story] == list(range(len(story)))
        assert (story[0].type, story[-1].type) == ("RunStarted", "RunEnded")
        assert story[-1].record["emitted"] == len(story)
        assert len({kept.record["trace_id"] for kept in story}) == 1
    assert [story[-1].record["status"] for story in played.stories] == ["succeeded", "failed", "succeeded"]


def test_every_kept_record_is_known_by_its_id(played: Played) -> None:
    """What the demo waits for in the database is what was published."""
    ids = [kept.record["event_id"] for kept in played.records]
    assert played.on.publisher.event_ids == ids
    assert len(set(ids)) == len(ids)


def test_the_same_story_is_the_same_bytes(played: Played, tmp_path: Path) -> None:
    """Nothing of the machine is in a record: no folder, no clock, no order of files."""
    assert Played(tmp_path).publisher.events == played.publisher.events


def test_every_step_has_one_manifest(played: Played) -> None:
    """The demo does what it preaches, and says what was left out as well."""
    for place in range(len(played.stories)):
        steps = [record["step_id"] for record in played.of(place, "StepStarted")]
        manifests = played.of(place, "ContextManifest")
        assert [record["step_id"] for record in manifests] == steps
        assert all(record["included"] and record["excluded"] for record in manifests)


def test_the_bug_is_found_and_fixed(played: Played) -> None:
    """Tools work on real files: the tests fail, the edit is in the diff, the tests pass."""
    results = [record for record in played.of(0, "ToolCallRecord") if record["leg"] == "post"]
    assert [(record["tool_name"], record["output"]) for record in results if record["tool_name"] == "run_tests"] == [
        ("run_tests", '{"exit_code":1,"failed":2,"passed":1}'),
        ("run_tests", '{"exit_code":0,"failed":0,"passed":3}'),
    ]
    actions = {event["agent_action"]["action_type"]: event["agent_action"] for event in played.of(0, "DecisionEvent")}
    (edit,) = actions["edit"]["artifacts"]
    assert "-    return tokens[:-1]\n+    return tokens\n" in edit["content"]
    assert {"plan", "edit", "run_tests", "open_pr"} == set(actions)


def test_the_stream_finds_what_the_stories_have_and_nothing_else(played: Played) -> None:
    """What the real recorder writes is whole in the eyes of the stream, but for what the stories lose on purpose."""
    sent = enumerate(played.publisher.events)
    batch = PartitionWorker().run(RawRecord(0, at, APPENDED + at, item.key, item.value, []) for at, item in sent)
    rows = [CODEC.decode(message.value) for message in batch.messages]
    assert [row.record["code"] for row in rows if row.name == "rows.violations"] == [
        "policy.protected_branches",
        "policy.protected_branches",
        "observability.events_dropped",
    ]
    runs = [row.record for row in rows if row.name == "rows.agent_runs" and row.record["event_type"] == "run_ended"]
    assert [run["completeness"] for run in runs] == ["complete", "incomplete", "complete"]
    calls = [row.record for row in rows if row.name == "rows.tool_calls"]
    assert calls
    assert all(call["complete"] and call["leg"] == "call" for call in calls)


def test_a_tool_inside_a_tool_names_its_parent(played: Played) -> None:
    """The edit reads the file through the recorder, too."""
    pre = [record for record in played.of(0, "ToolCallRecord") if record["leg"] == "pre"]
    (inner,) = [record for record in pre if record["parent_tool_use_id"]]
    assert (inner["tool_name"], inner["parent_tool_use_id"]) == ("read_file", "call_2")
    assert {record["task_id"] for record in pre} == {"T-101"}


def test_two_records_are_lost_and_reported(played: Played) -> None:
    """Nobody writes EventsDropped by hand: two records found no room, and the recorder told."""
    assert [run.recorder.channel.dropped for run in played.on.runs] == [0, 2, 0]
    (dropped,) = played.of(1, "EventsDropped")
    assert (dropped["count"], dropped["reason"]) == (2, "spool_full")
    assert dropped["record_types"] == ["AgentQualitySignal"]
    assert [story[-1].record["dropped"] for story in played.stories] == [0, 2, 0]


def test_each_timeout_leaves_its_capture(played: Played) -> None:
    """What the model had been shown is kept, encrypted, for both attempts."""
    failures = played.of(1, "AgentFailure")
    assert [failure["trigger"] for failure in failures] == ["tool_timeout", "tool_timeout"]
    assert [len(failure["capture_ids"]) for failure in failures] == [1, 1]
    assert len(played.publisher.captures) == 2
    assert all(b"coding agent" not in message.value for message in played.publisher.captures)


def test_a_person_overrides_the_plan(played: Played) -> None:
    """The override names the event that it sets aside."""
    planned, override, *_ = played.of(2, "DecisionEvent")
    assert planned["agent_action"]["action_summary"] == "Deploy parser 1.4.2 to production"
    assert override["overrides_event_id"] == planned["event_id"]
    assert len(played.of(2, "RecordProposal")) == 1


def test_durations_are_the_story_s(played: Played) -> None:
    """The clock is the story's: half a minute passes in no time."""
    (first, _) = [record for record in played.of(1, "ToolCallRecord") if record["leg"] == "post"]
    assert first["duration_ms"] == 30_000


def test_the_audit_trail_has_a_folder_for_each_session(played: Played) -> None:
    assert sorted(path.name for path in played.audit.iterdir()) == sorted(run.session_id for run in played.on.runs)
    lines = (played.audit / played.on.runs[1].session_id / "tool_calls.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["tool_call_start", "tool_call_complete"] * 2


def _all(_: dict[str, Any]) -> bool:
    return True


DOCUMENTED: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
    ("tool", _all),
    ("success", lambda line: line["success"] is False),
    ("task_id", lambda line: line["task_id"] == "T-101"),
]


@pytest.mark.parametrize(("key", "holds"), DOCUMENTED, ids=[key for key, _ in DOCUMENTED])
def test_the_documented_jq_lines_answer(
    key: str, holds: Callable[[dict[str, Any]], bool], played: Played, tmp_path: Path
) -> None:
    """The lines of docs/audit-trail.md, run by jq's own library as they stand there, on the demo's trail."""
    commands = [line for line in AUDIT_DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("jq ")]
    command = commands[[name for name, _ in DOCUMENTED].index(key)]
    assert len(commands) == len(DOCUMENTED)
    shutil.copytree(played.audit, tmp_path / ".tachograph" / "audit")
    _, query, pattern = shlex.split(command)
    lines = "".join(path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob(pattern)))
    answers = jq.compile(query).input_text(lines).all()
    assert answers
    assert all(key in answer and holds(answer) for answer in answers)


def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    """The demo says what is missing, where it waits and what to do; it does not look for rows that cannot be there."""

    class Deaf(InMemoryPublisher):
        def flush(self, timeout: float) -> bool:  # noqa: ARG002 - the seam's shape
            return False

    with pytest.raises(NotPublishedError, match=r"were not acknowledged by Kafka at .*spool drain .*spool"):
        record_stories(Settings(home=tmp_path), Deaf())
