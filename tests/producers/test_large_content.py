"""Large content is never a reason to lose a record: it goes to the artifact store, or is dropped and says so."""

from pathlib import Path

from tachograph.producers import Tracer
from tachograph.producers.artifacts import ArtifactKey, FolderArtifactWriter
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas import models
from tachograph.schemas.canonical import prompt_bundle_hash
from tachograph.schemas.wire import from_avro

WORD = "harmless "


def events(publisher: InMemoryPublisher) -> list[models.DecisionEvent]:
    return [from_avro(models.DecisionEvent, kept.record) for kept in publisher.records if kept.type == "DecisionEvent"]


def test_output_over_64_kb_goes_to_the_workspaces_artifacts(workspace: Path) -> None:
    """Without being told where: sealed, below .tachograph/artifacts, and named by a pointer."""
    publisher = InMemoryPublisher()
    text = WORD * 10_000
    tracer = Tracer("coder", publisher=publisher, capture="full", strict=True)
    with tracer.start_run("go") as run:
        run.model_call(lambda **_: text, model="m", messages=[{"role": "user", "content": "hello"}])
    (event,) = events(publisher)
    assert event.model_output is not None
    pointer = event.model_output.output_pointer
    assert pointer is not None
    assert pointer.path.startswith(".tachograph/artifacts/")
    stored = (workspace / pointer.path).read_bytes()
    assert WORD.encode() not in stored
    reader = FolderArtifactWriter(workspace, key=ArtifactKey.in_folder(workspace / ".tachograph/artifacts"))
    assert reader.get(pointer).decode() == text


def test_nothing_is_created_before_there_is_something_to_keep(workspace: Path) -> None:
    """A small run leaves no artifact folder and no key."""
    with Tracer("coder", publisher=InMemoryPublisher(), strict=True).start_run("go") as run:
        run.no_op("nothing to do")
    assert not (workspace / ".tachograph/artifacts").exists()


def test_a_prompt_beyond_the_redactors_budget_keeps_its_record_and_its_hash() -> None:
    """9 MB in one message: the content is dropped, the fact and the hash of what was sent are kept."""
    publisher = InMemoryPublisher()
    messages = [{"role": "user", "content": WORD * 1_000_000}]
    tracer = Tracer("coder", publisher=publisher, strict=True)
    with tracer.start_run("go") as run, run.step("plan", "think"):
        run.model_call(lambda **_: "done", model="m", messages=messages)
    (event,) = events(publisher)
    assert event.prompt_provenance is not None
    assert event.prompt_provenance.prompt_bundle.messages[0].content == "[DROPPED:budget]"
    sent = {
        "messages": messages,
        "retrieval": {"enabled": False, "sources": [], "snippets": None},
        "tools": [],
        "transformations": [],
    }
    assert event.prompt_provenance.prompt_bundle_hash == prompt_bundle_hash(sent)
    assert publisher.stats().dropped == 0


def test_a_tool_that_returns_32_mb() -> None:
    """It comes back to the agent whole; the record has everything but the content, and says why."""
    publisher = InMemoryPublisher()
    text = "word " * (32 * 1024 * 1024 // 5)
    tracer = Tracer("coder", publisher=publisher, tools={"read": lambda: text}, strict=True)
    with tracer.start_run("go") as run:
        assert run.tools.execute("read") is text
    _, post, result = publisher.of("ToolCallRecord")
    assert (post["output"], post["output_pointer"]) == ("[DROPPED:budget]", None)
    assert (post["error_type"], result["leg"]) == (None, "result")
    assert publisher.stats().dropped == 0


def test_a_tools_output_over_64_kb_is_a_pointer(workspace: Path) -> None:
    """Nothing larger than 64 KB is in any record; the whole text is where the pointer says."""
    publisher = InMemoryPublisher()
    text = WORD * 10_000
    tracer = Tracer("coder", publisher=publisher, tools={"read": lambda: text}, strict=True)
    with tracer.start_run("go") as run:
        run.tools.execute("read")
        run.no_op("done")
    post = publisher.of("ToolCallRecord")[1]
    assert post["output"] is None
    assert (workspace / post["output_pointer"]["path"]).is_file()
    assert post["output_pointer"]["size_bytes"] > 64 * 1024
    assert publisher.of("DecisionEvent")[0]["agent_action"]["tool_results"][0]["output_pointer"] is not None
    assert max(len(message.value) for message in publisher.messages) < 64 * 1024
