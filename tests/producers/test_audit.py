"""The audit trail: two files of JSON lines, small, redacted, and never in the agent's way."""

import asyncio
import gc
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jq
import pytest

from tachograph.producers import AuditTrail, CapturePolicy, HookRegistry, ToolExecutor, ToolUseContext
from tachograph.producers.hooks.audit import AuditHook
from tachograph.producers.testing import FixedClock
from tests.producers.support import SECRET, explicit, make_tracer

Lines = list[dict[str, Any]]


def read(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def session(folder: Path, calls: int = 60, **fields: Any) -> Path:
    """A session with tool calls of 1 KB in and out, some of which fail."""

    def work(text: str, n: int) -> str:
        if n % 10 == 9:
            raise RuntimeError(f"call {n} failed")
        return text[::-1]

    tracer = make_tracer(audit=folder, tools={"work": work}, options=explicit(), **fields)
    with tracer.start_run("go", session_id="session_123") as run, run.step("tool", "all of them"):
        for n in range(calls):
            task = "task_abc" if n % 2 else "task_xyz"
            try:
                run.tools.execute("work", {"text": "lorem ipsum " * 80, "n": n}, task_id=task, phase="execution")
            except RuntimeError:
                run.record_quality_signal(signal_type="tool_failure", signal_code="timeout", value=True)
    return folder / "session_123"


def test_files_and_frame(tmp_path: Path) -> None:
    """The first event is session_start, the last session_end, and lines have the documented fields."""
    folder = session(tmp_path, calls=10)
    events = read(folder / "events.jsonl")
    assert [events[0]["event"], events[-1]["event"]] == ["session_start", "session_end"]
    assert events[0] == {"event": "session_start", "session_id": "session_123", "timestamp": events[0]["timestamp"]}
    assert {"event", "data", "timestamp"} == set(events[2])
    start, complete, *_ = read(folder / "tool_calls.jsonl")
    assert set(start) == {
        "event",
        "tool_use_id",
        "tool_name",
        "task_id",
        "parent_tool_use_id",
        "phase",
        "timestamp",
        "input_preview",
    }
    assert set(complete) == {
        "event",
        "tool_use_id",
        "tool_name",
        "success",
        "duration_ms",
        "output_preview",
        "error",
        "timestamp",
    }
    assert len(start["input_preview"]) == 500
    assert start["input_preview"].endswith("...")


JQ = [
    pytest.param(
        'select(.event == "tool_call_complete") | {tool: .tool_name, duration: .duration_ms}',
        lambda answer: (answer["tool"], answer["duration"]),
        [("work", 1)] * 20,
        id="how long calls took",
    ),
    pytest.param(
        "select(.success == false)",
        lambda answer: answer["error"],
        ["call 9 failed", "call 19 failed"],
        id="which calls failed",
    ),
    pytest.param(
        'select(.task_id == "task_abc")',
        lambda answer: (answer["event"], answer["tool_name"], answer["phase"]),
        [("tool_call_start", "work", "execution")] * 10,
        id="what was done for one task",
    ),
]


@pytest.mark.parametrize(("query", "told", "expected"), JQ)
def test_the_three_jq_lines(
    tmp_path: Path, query: str, told: Callable[[dict[str, Any]], Any], expected: list[Any]
) -> None:
    """Run by jq itself, as a library, so that no machine without it passes by looking away."""
    path = session(tmp_path, calls=20) / "tool_calls.jsonl"
    answers = jq.compile(query).input_text(path.read_text(encoding="utf-8")).all()
    assert [told(answer) for answer in answers] == expected


def test_a_typical_session_is_small(tmp_path: Path) -> None:
    """60 tool calls in less than 100 KB, both files together."""
    folder = session(tmp_path, calls=60)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000


@pytest.mark.parametrize("mode", ["redacted", "hashed"])
def test_content_is_redacted_as_everywhere(tmp_path: Path, mode: str) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError(SECRET)

    tracer = make_tracer(audit=tmp_path, capture=mode, tools={SECRET: fail, "ok": lambda **_: SECRET}, strict=False)
    with tracer.start_run(SECRET, session_id=SECRET) as run, run.step(SECRET, SECRET):
        run.tools.execute("ok", {"k": SECRET}, task_id=SECRET)
        with pytest.raises(RuntimeError):
            run.tools.execute(SECRET, {SECRET: SECRET})
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 2
    assert all(SECRET not in path.read_text() and SECRET not in str(path) for path in written)


def test_the_end_is_written_though_the_run_raised(tmp_path: Path) -> None:
    """With session id and time, and the files are closed: nothing is left for the garbage collector to warn about."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with pytest.raises(ValueError, match="x"), make_tracer(audit=tmp_path).start_run(session_id="s") as run:
            raise ValueError("x")
        trail = run.audit
        assert trail is not None
        assert trail.is_closed
        gc.collect()
    end = read(tmp_path / "s" / "events.jsonl")[-1]
    assert end == {"event": "session_end", "session_id": "s", "timestamp": "2023-11-14T22:13:20.005000Z"}


def test_a_session_begun_again_is_appended_to(tmp_path: Path) -> None:
    """In UTF-8, in folders that are made as needed, each run with a start and an end of its own."""
    folder = tmp_path / "not" / "there" / "yet"
    for word in ("première", "第二"):
        tracer = make_tracer(audit=folder, tools={"say": lambda word: word}, options=explicit())
        with tracer.start_run(session_id="s") as run:
            run.tools.execute("say", {"word": word})
    events = [line["event"] for line in read(folder / "s" / "events.jsonl")]
    assert events == ["session_start", "RunStarted", "session_end"] * 2
    raw = (folder / "s" / "tool_calls.jsonl").read_bytes()
    assert raw.count(b"\n") == 4
    assert "première".encode() in raw
    assert "第二".encode() in raw


def test_every_line_is_there_when_its_call_returns(tmp_path: Path) -> None:
    """Nothing waits in a buffer: somebody may be looking, and the process may be killed."""
    trail = AuditTrail("s", tmp_path, clock=FixedClock())
    context = ToolUseContext("t", {}, "id")
    assert len(read(trail.events_file)) == 1
    trail.log_event("StepStarted", {"name": "plan"})
    assert len(read(trail.events_file)) == 2
    trail.log_tool_start(context, "in")
    assert len(read(trail.tool_calls_file)) == 1
    trail.log_tool_complete(context, "out", 3)
    assert [line["event"] for line in read(trail.tool_calls_file)] == ["tool_call_start", "tool_call_complete"]
    trail.close()


def test_no_trail_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with make_tracer().start_run():
        pass
    assert list(tmp_path.iterdir()) == []
    with make_tracer(audit=True).start_run(session_id="s"):
        pass
    assert (tmp_path / ".tachograph" / "audit" / "s" / "events.jsonl").exists()


def test_a_folder_that_cannot_be_written_costs_the_agent_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    tracer = make_tracer(audit=blocked, tools={"t": lambda: 1}, strict=False)
    with tracer.start_run() as run:
        assert run.tools.execute("t") == 1
    assert tracer.guard.counts["audit trail"] >= 1


@pytest.mark.parametrize("session_id", ["../../etc", "..", "a/b\\c\0"])
def test_a_session_stays_in_the_folder(tmp_path: Path, session_id: str) -> None:
    trail = AuditTrail(session_id, tmp_path / "audit")
    trail.close()
    assert trail.session_dir.resolve().parent == (tmp_path / "audit").resolve()


def test_whole_calls_in_one_line(tmp_path: Path) -> None:
    trail = AuditTrail("s", tmp_path, clock=FixedClock())
    trail.log_tool_call(
        ToolUseContext("t", {}, "id", "task"), captured_input="in", captured_output=None, duration_ms=3, error="e"
    )
    trail.close()
    trail.close()
    assert read(trail.tool_calls_file) == [
        {
            "event": "tool_call",
            "tool_use_id": "id",
            "tool_name": "t",
            "task_id": "task",
            "parent_tool_use_id": None,
            "phase": None,
            "input_preview": "in",
            "output_preview": None,
            "duration_ms": 3,
            "error": "e",
            "metadata": {},
            "timestamp": "2023-11-14T22:13:20.001000Z",
        }
    ]


def test_the_audit_hook_serves_executors_without_a_run(tmp_path: Path) -> None:
    trail = AuditTrail("s", tmp_path)
    registry = HookRegistry([AuditHook(trail, CapturePolicy()).matcher()])
    executor = ToolExecutor({"ok": lambda: f"key {SECRET}", "bad": lambda: 1 / 0}, registry)
    asyncio.run(executor.aexecute("ok"))
    with pytest.raises(ZeroDivisionError):
        executor.execute("bad")
    trail.close()
    lines = read(trail.tool_calls_file)
    assert [(line["event"], line.get("success"), line.get("error")) for line in lines] == [
        ("tool_call_start", None, None),
        ("tool_call_complete", True, None),
        ("tool_call_start", None, None),
        ("tool_call_complete", False, "division by zero"),
    ]
    assert SECRET not in trail.tool_calls_file.read_text()


def test_the_audit_hook_measures_each_call(tmp_path: Path) -> None:
    """In milliseconds of the steady clock, calls inside of calls included."""
    now = [0]
    trail = AuditTrail("s", tmp_path)
    executor = ToolExecutor(hook_registry=HookRegistry([AuditHook(trail, CapturePolicy(), lambda: now[0]).matcher()]))

    def wait(ms: int) -> None:
        now[0] += ms * 1_000_000

    def outer() -> None:
        wait(5)
        executor.execute("inner", {"ms": 30})
        wait(7)

    executor.tools |= {"outer": outer, "inner": wait}
    executor.execute("outer")
    trail.close()
    done = [line for line in read(trail.tool_calls_file) if line["event"] == "tool_call_complete"]
    assert [(line["tool_name"], line["duration_ms"]) for line in done] == [("inner", 30), ("outer", 42)]


def test_lines_of_decision_events_say_what_was_done_in_which_run(tmp_path: Path) -> None:
    """Runs of a session share a file, so the line names its run."""
    with make_tracer(audit=tmp_path, options=explicit()).start_run("go", run_id="r1", session_id="s") as run:
        run.no_op("nothing to do")
        run.model_call(lambda **_: "fine", model="m", messages="q")
    told = [line["data"] for line in read(tmp_path / "s" / "events.jsonl") if line["event"] == "DecisionEvent"]
    assert told == [{"action_type": "no_op", "run_id": "r1"}, {"action_type": "message", "run_id": "r1"}]
