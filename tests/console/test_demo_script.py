"""The demo's stories are whole runs of every record type, recorded by the real recorder."""

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jq
import pytest

from tachograph.console.cli.stack import CHILDREN
from tachograph.console.demo.outcome import Outcome, still_missing
from tachograph.console.demo.recording import STORY_TIME, NotPublishedError, record_stories
from tachograph.console.demo.scenario import Scenario
from tachograph.console.demo.scenarios import SCENARIOS
from tachograph.console.demo.workspace import TOKEN
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import RECORD_TYPES
from tests.console.stories import NAMES, Played

PARTS = tuple(CHILDREN)
AUDIT_DOCS = Path(__file__).parents[2] / "docs" / "audit-trail.md"


def test_every_record_type_appears(played: Played) -> None:
    """The demo exercises the whole contract."""
    assert {kept.type for kept in played.records} == set(RECORD_TYPES)


def test_every_run_is_contiguous_and_counts_itself(played: Played) -> None:
    """Seq runs from 0 without a gap, and RunEnded says how many there were."""
    assert sum(len(story) for story in played.stories.values()) == len(played.records)
    for scenario in SCENARIOS:
        story = played.stories[scenario.name]
        assert [kept.record["seq"] for kept in story] == list(range(len(story)))
        assert (story[0].type, story[-1].type) == ("RunStarted", "RunEnded")
        assert story[-1].record["emitted"] == len(story)
        assert story[-1].record["status"] == scenario.status
        assert len({kept.record["trace_id"] for kept in story}) == 1


def test_every_kept_record_is_known_by_its_id(played: Played) -> None:
    """What the demo waits for in the database is what was published."""
    ids = [kept.record["event_id"] for kept in played.records]
    assert played.on.publisher.event_ids == ids
    assert len(set(ids)) == len(ids)


def test_the_same_story_is_the_same_bytes(played: Played, tmp_path: Path) -> None:
    """Nothing of the machine is in a record: no folder, no clock, no order of files, nobody's git settings."""
    assert Played(tmp_path).publisher.events == played.publisher.events


def test_every_step_has_one_manifest(played: Played) -> None:
    """The demo does what it preaches, and says what was left out as well."""
    for name in NAMES:
        steps = [record["step_id"] for record in played.of(name, "StepStarted")]
        manifests = played.of(name, "ContextManifest")
        assert [record["step_id"] for record in manifests] == steps
        assert any(record["excluded"] for record in manifests)


def test_the_bug_is_found_and_fixed(played: Played) -> None:
    """Tools work on real files: the tests fail, the edit is in the diff, the tests pass, the fix is merged."""
    results = [record for record in played.of("fix_test", "ToolCallRecord") if record["leg"] == "post"]
    assert [(record["tool_name"], record["output"]) for record in results if record["tool_name"] == "run_tests"] == [
        ("run_tests", '{"exit_code":1,"failed":2,"passed":1}'),
        ("run_tests", '{"exit_code":0,"failed":0,"passed":3}'),
    ]
    events = played.of("fix_test", "DecisionEvent")
    actions = {event["agent_action"]["action_type"]: event["agent_action"] for event in events}
    (edit,) = actions["edit"]["artifacts"]
    assert "-    return tokens[:-1]\n+    return tokens\n" in edit["content"]
    (pull,) = actions["open_pr"]["artifacts"]
    assert "+    return tokens\n" in pull["content"]
    assert {"plan", "edit", "run_tests", "open_pr", "deploy"} == set(actions)


def test_a_tool_inside_a_tool_names_its_parent(played: Played) -> None:
    """The edit reads the file through the recorder, too."""
    pre = [record for record in played.of("fix_test", "ToolCallRecord") if record["leg"] == "pre"]
    (inner,) = [record for record in pre if record["parent_tool_use_id"]]
    assert (inner["tool_name"], inner["parent_tool_use_id"]) == ("read_file", "call_2")
    assert {record["task_id"] for record in pre} == {"T-101"}


def test_the_token_is_in_no_message(played: Played) -> None:
    """It was read, and written into a file; what leaves the agent does not hold it, and the audit trail neither."""
    messages = [*played.publisher.events, *played.publisher.captures]
    assert all(TOKEN.encode() not in message.value for message in messages)
    trail = b"".join(path.read_bytes() for path in played.audit.rglob("*.jsonl"))
    assert trail
    assert TOKEN.encode() not in trail


def test_a_lost_result_is_reported(played: Played) -> None:
    """Nobody writes EventsDropped by hand: records found no room, and the recorder told."""
    dropped = {name: run.recorder.channel.dropped for name, run in zip(NAMES, played.on.runs, strict=True)}
    assert {name: count for name, count in dropped.items() if count} == {"docs": 3}
    (told,) = played.of("docs", "EventsDropped")
    assert (told["count"], told["reason"], told["record_types"]) == (3, "spool_full", ["ToolCallRecord"])


@pytest.mark.parametrize(
    ("story", "triggers"),
    [
        pytest.param("upgrade", ["tool_timeout", "tool_timeout"], id="both attempts of the tool that hangs"),
        pytest.param("rename", ["loop_guard"], id="the call that was one too many"),
    ],
)
def test_each_fault_leaves_its_capture(story: str, triggers: list[str], played: Played) -> None:
    """What the model had been shown is kept, encrypted."""
    faults = [failure for failure in played.of(story, "AgentFailure") if failure["trigger"]]
    assert [fault["trigger"] for fault in faults] == triggers
    assert all(fault["capture_ids"] for fault in faults)
    assert all(b"coding agent" not in message.value for message in played.publisher.captures)


def test_a_person_overrides_the_plan(played: Played) -> None:
    """The override names the event that it sets aside."""
    _, planned, override, *_ = played.of("ship", "DecisionEvent")
    assert planned["agent_action"]["action_summary"] == "Ship 1.4.2 to production"
    assert override["overrides_event_id"] == planned["event_id"]
    (proposed,) = played.of("ship", "RecordProposal")
    assert [given["gate_id"] for given in proposed["approvals"]] == ["GATE_RELEASE"]


def test_a_release_without_approval_is_only_proposed(played: Played) -> None:
    """Nothing is deployed, and the proposal brings no approval."""
    (proposed,) = played.of("release", "RecordProposal")
    assert proposed["approvals"] == []
    assert "deploy" not in {event["agent_action"]["action_type"] for event in played.of("release", "DecisionEvent")}


def test_durations_are_the_story_s(played: Played) -> None:
    """The clock is the story's: half a minute passes in no time."""
    (first, _) = [record for record in played.of("upgrade", "ToolCallRecord") if record["leg"] == "post"]
    assert first["duration_ms"] == 30_000
    assert first["error_type"] == "TimeoutError"


def test_the_stories_are_over_when_the_demo_says_so(played: Played) -> None:
    """They begin so long ago that the last record is not of the future."""
    moments = [kept.record["occurred_at"] for kept in played.records]
    assert max(moments) - min(moments) < STORY_TIME.total_seconds() * 1_000_000


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_the_worker_finds_what_the_scenario_promises(scenario: Scenario, played: Played) -> None:
    """Through the real core: status, completeness and every violation, but for those that the sealer finds."""
    report = played.report(scenario.name)
    assert report.summary.status == scenario.status
    assert report.completeness.state == scenario.completeness
    promised = {code for code in scenario.violations if not code.startswith("record.")}
    assert {item.code for item in report.violations} == promised


@pytest.mark.parametrize("name", ["status", "completeness", "violations", "snapshots", "records"])
def test_the_demo_waits_for_everything_that_is_promised(name: str) -> None:
    """An outcome that lacks one thing is not what the scenario says, and the part to look at is named."""
    scenario = replace(SCENARIOS[0], violations=frozenset({"a.b"}), snapshots=1, records=("DECIDED",))
    whole: dict[str, Any] = {
        "status": scenario.status,
        "completeness": scenario.completeness,
        "violations": scenario.violations,
        "snapshots": 1,
        "records": ("DECIDED",),
    }
    assert still_missing(scenario, Outcome(**whole), PARTS) == []
    (sentence,) = still_missing(scenario, Outcome(**{key: whole[key] for key in whole if key != name}), PARTS)
    assert name in sentence
    assert "log of the" in sentence


def test_the_demo_does_not_wait_for_a_process_that_is_not_there() -> None:
    """A stack without a sealer seals nothing."""
    scenario = replace(SCENARIOS[0], violations=frozenset({"record.approval.missing"}), records=("DEFERRED",))
    assert still_missing(scenario, Outcome(status="succeeded", completeness="complete"), ("worker", "sink")) == []


def test_the_audit_trail_has_a_folder_for_each_session(played: Played) -> None:
    """One folder for each session, two lines for each call."""
    assert sorted(path.name for path in played.audit.iterdir()) == sorted(run.session_id for run in played.on.runs)
    lines = (played.audit / "session_upgrade_test" / "tool_calls.jsonl").read_text().splitlines()
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
