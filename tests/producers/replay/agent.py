"""An agent whose code is replayed: it asks a model, calls what the model asks for, decides, and answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tachograph.producers import Tracer
from tachograph.producers.replay import Recording, recording_of
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import explicit, make_tracer

Model = Callable[..., Any]
QUESTION = "Why was I charged twice?"


class World:
    """What is outside of the agent: a model, and a tool with side effects. Counts how often it is used."""

    def __init__(self) -> None:
        self.asked = 0
        self.refunds: list[int] = []

    def complete(self, model: str, messages: list[dict[str, str]]) -> dict[str, Any]:  # noqa: ARG002 - a client's shape
        self.asked += 1
        if len(messages) == 1:
            call = {"id": "call-1", "name": "refund", "arguments": {"cents": 1200}}
            return {"content": "", "tool_calls": [call], "usage": {"input_tokens": 9, "output_tokens": 3}}
        return {"content": "You get 12 euros back.", "usage": {"input_tokens": 20, "output_tokens": 6}}

    def refund(self, cents: int) -> dict[str, Any]:
        self.refunds.append(cents)
        return {"booking": "b-7", "cents": cents}


def answer(
    tracer: Tracer,
    world: World,
    *,
    question: str = QUESTION,
    words: str = "",
    cents: int | None = None,
    tool: str = "refund",
    selected: str = "refund",
    again: bool = True,
) -> str:
    """The agent. Its arguments are what a change of its code would change."""
    tracer.tools["refund"] = world.refund
    tracer.tools["search"] = lambda query: query
    with tracer.start_run(question) as run, run.step("answer", "answer the customer"):
        messages = [{"role": "user", "content": question + words}]
        reply = run.model_call(world.complete, model="m-1", messages=messages)
        wanted = reply["tool_calls"][0]
        run.record_decision(decision_type="tool_selection", selected=selected, reason_code="fresh_data_required")
        given = wanted["arguments"] if cents is None else {"cents": cents}
        booked = run.tools.execute(tool, given, tool_use_id=wanted["id"])
        if not again:
            return ""
        messages.append({"role": "tool", "content": f"booked as {booked['booking']}"})
        return str(run.model_call(world.complete, model="m-1", messages=messages)["content"])


def recorded(tmp: Path | None = None, **fields: Any) -> Recording:
    """A recording of one run; through its file, if there is a folder for it."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher, options=explicit(), **fields)
    answer(tracer, World())
    recording = recording_of(publisher.of("RunStarted")[0]["run_id"], publisher.records)
    return recording if tmp is None else Recording.load(recording.save(tmp))
