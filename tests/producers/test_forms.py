"""Every call of the API as a block and as a decorator, in plain and in async code: the same records."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tachograph.producers import HookMatcher, HookRegistry, PreHookResult, Run, ToolExecutor, Tracer, current_run
from tachograph.producers.deciding import Choice
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.ids import RandomIds
from tachograph.producers.replay import ReplayDivergedError, recording_of
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import explicit, make_tracer, types, validated
from tests.producers.test_records import PROPOSAL

FORMS = ["block", "async block", "decorator", "async decorator"]
Body = Callable[..., Any]


def through(form: str, around: Any, inside: Body, *, passes: bool = False) -> Any:
    """Use an object of the API in one of its forms. ``inside`` gets it in a block, and nothing as a function.

    ``passes``: as a decorator it gives the function what a block is given, as the first argument.
    """
    if form == "block":
        with around as given:
            return inside(given)
    if form == "async block":

        async def block() -> Any:
            async with around as given:
                return inside(given)

        return asyncio.run(block())
    if form == "decorator":
        return around(inside if passes else lambda: inside(None))()

    async def function(*given: Any) -> Any:
        await asyncio.sleep(0)
        return inside(*given) if passes else inside(None)

    return asyncio.run(around(function)())


@pytest.fixture
def publisher() -> InMemoryPublisher:
    return InMemoryPublisher()


@pytest.mark.parametrize("form", FORMS)
class TestForms:
    """One test for each call."""

    def test_a_run(self, form: str, publisher: InMemoryPublisher) -> None:
        seen: list[Run | None] = []
        tracer = make_tracer(publisher)
        for _ in range(2):
            through(
                form, tracer.start_run("hello", constraints=iter(["be brief"])), lambda _: seen.append(current_run())
            )
        assert types(publisher) == ["RunStarted", "RunEnded"] * 2
        started = publisher.of("RunStarted")
        assert [item["request"]["user_request_raw"] for item in started] == ["hello"] * 2
        assert [item["request"]["constraints"][0]["rule"] for item in started] == ["be brief"] * 2
        assert [run.run_id for run in seen if run is not None] == [item["run_id"] for item in started]
        assert len({item["run_id"] for item in started}) == 2

    def test_a_step(self, form: str, publisher: InMemoryPublisher) -> None:
        with make_tracer(publisher, options=explicit()).start_run() as run:
            through(form, run.step("validate", "check"), lambda _: None)
        assert types(publisher) == ["RunStarted", "StepStarted", "StepEnded", "RunEnded"]
        assert publisher.of("StepStarted")[0]["step_type"] == "validate"

    def test_a_model_call(self, form: str, publisher: InMemoryPublisher) -> None:
        with make_tracer(publisher).start_run() as run:
            call = run.model_call(model="m", messages="q")
            through(form, call, lambda given: "a" if given is None else given.record("a"))
        [event] = publisher.of("DecisionEvent")
        assert event["prompt_provenance"]["prompt_bundle"]["messages"][0]["content"] == "q"
        assert event["model_output"]["output_raw"] == "a"

    def test_a_tool_call(self, form: str, publisher: InMemoryPublisher) -> None:
        with make_tracer(publisher).start_run() as run:

            def search(query: str = "oslo") -> str:
                return f"nothing about {query}"

            async def asearch(query: str = "oslo") -> str:
                return search(query)

            if form == "decorator":
                run.tools.tool(search, "search")()
            elif form == "async decorator":
                asyncio.run(run.tools.tool(asearch, "search")())
            else:
                through(
                    form,
                    run.tools.call("search", {"query": "oslo"}),
                    lambda call: setattr(call, "output", search(**call.tool_input)),
                )
        pre, post, result = publisher.of("ToolCallRecord")
        assert (pre["tool_name"], post["output"], result["leg"]) == ("search", '"nothing about oslo"', "result")

    def test_a_decision(self, form: str, publisher: InMemoryPublisher) -> None:
        choice = Choice("cache", "cached_data_sufficient", 0.9)
        with make_tracer(publisher).start_run() as run:
            around = run.deciding("tool_selection", candidates=iter(["cache", "api"]), metadata={"age": 3})
            assert through(form, around, lambda d: choice if d is None else d.choose(*choice)) in (choice, None)
        [decision] = publisher.of("AgentDecision")
        assert (decision["selected"], decision["reason_code"], decision["confidence"]) == choice
        assert (decision["candidates"], decision["metadata"]) == (["cache", "api"], {"age": 3})

    @pytest.mark.parametrize("value", [True, False])
    def test_a_signal(self, form: str, publisher: InMemoryPublisher, value: bool) -> None:
        with make_tracer(publisher).start_run() as run:
            around = run.signalling("schema_valid", "full_match", weight=0.9)
            through(form, around, lambda signal: value if signal is None else setattr(signal, "value", value))
        [signal] = publisher.of("AgentQualitySignal")
        assert (signal["signal_code"], signal["value"], signal["weight"]) == ("full_match", value, 0.9)

    def test_a_manifest(self, form: str, publisher: InMemoryPublisher) -> None:
        def fill(context: Any) -> str:
            context.include("u", "user_input", source_ref="request", reason="plan_dependency", tokens=3)
            return "the prompt"

        with make_tracer(publisher).start_run() as run:
            around = run.context(intent={"goal": "answer"}, token_limit=10)  # made outside of the step
            with run.step("answer", "s") as step:
                made = around if "decorator" in form else run.context(intent={"goal": "answer"}, token_limit=10)
                assert through(form, made, fill, passes=True) == "the prompt"
        [manifest] = publisher.of("ContextManifest")
        assert manifest["step_id"] == step.step_id
        assert [item["item_id"] for item in manifest["included"]] == ["u"]
        assert manifest["token_budget"]["limit"] == 10

    def test_a_proposal(self, form: str, publisher: InMemoryPublisher) -> None:
        outputs = {"decision": "allow"}
        with make_tracer(publisher).start_run() as run:
            around = run.proposing(**{name: value for name, value in PROPOSAL.items() if name != "outputs"})
            through(form, around, lambda it: outputs if it is None else it.fields.update(outputs=outputs))
        [proposal] = publisher.of("RecordProposal")
        assert proposal["outputs"] == '{"decision":"allow"}'

    def test_an_action(self, form: str, publisher: InMemoryPublisher) -> None:
        with make_tracer(publisher).start_run() as run:
            edit = run.artifacts.file_edit("a.py", "x\n", "y\n")
            around = run.acting("edit", "changed a")
            through(form, around, lambda action: edit if action is None else action.artifacts.append(edit))
        [event] = publisher.of("DecisionEvent")
        assert (event["agent_action"]["action_type"], len(event["agent_action"]["artifacts"])) == ("edit", 1)

    def test_an_override(self, form: str, publisher: InMemoryPublisher) -> None:
        with make_tracer(publisher).start_run() as run:
            planned = run.action("plan", "deploy to production")
            assert planned is not None
            through(form, run.overriding(planned, reason="a person chose staging"), lambda _: None)
        _, override = publisher.of("DecisionEvent")
        assert override["agent_action"]["action_type"] == "override"
        assert override["overrides_event_id"] == planned

    def test_what_raises_passes_through(self, form: str, publisher: InMemoryPublisher) -> None:
        """A decision or a proposal that was not made is not recorded; a signal says false."""

        def fail(*_: Any) -> None:
            raise LookupError("mine")

        with make_tracer(publisher, options=explicit()).start_run() as run:
            for around in (
                run.deciding("tool_selection"),
                run.proposing(**PROPOSAL),
                run.acting("edit", "never"),
                run.signalling("tool_success", "first_attempt"),
            ):
                with pytest.raises(LookupError, match="mine"):
                    through(form, around, fail)
        assert types(publisher) == ["RunStarted", "AgentQualitySignal", "RunEnded"]
        assert publisher.of("AgentQualitySignal")[0]["value"] is False
        validated(publisher)


def test_the_first_argument_is_the_request_of_a_decorated_run(publisher: InMemoryPublisher) -> None:
    """Unless the decorator has it; each call is a run of its own."""

    @make_tracer(publisher).start_run()
    def answer(question: str, *, loudly: bool = False) -> str:
        return question.upper() if loudly else question

    assert [answer("a"), answer("b", loudly=True)] == ["a", "B"]
    assert [item["request"]["user_request_raw"] for item in publisher.of("RunStarted")] == ["a", "b"]
    assert len({item["trace_id"] for item in publisher.of("RunStarted")}) == 2


def test_a_decision_without_a_choice_is_refused(publisher: InMemoryPublisher) -> None:
    """Loudly where somebody can mend it; else it is counted as every refused record."""
    with (
        make_tracer().start_run() as run,
        pytest.raises(RecordRefusedError, match="selected"),
        run.deciding("response_mode"),
    ):
        pass
    with make_tracer(publisher, strict=False).start_run() as run, run.deciding("response_mode"):
        pass
    assert types(publisher) == ["RunStarted", "EventsDropped", "RunEnded"]


class TestToolsThatAreFunctions:
    def test_every_kind_of_parameter_is_named(self) -> None:
        """The record and the hooks see arguments by name, and the function gets what it was given."""
        publisher = InMemoryPublisher()
        seen: list[Any] = []
        hooks = HookRegistry([HookMatcher(pre_hooks=(lambda context: seen.append(context.tool_input),))])
        with make_tracer(publisher, hooks=hooks).start_run() as run:

            @run.tools.tool
            def work(a: int, /, b: int, *rest: int, c: int = 3, **more: int) -> tuple[Any, ...]:
                return a, b, rest, c, more

            assert work(1, 2, 3, 4, c=5, d=6) == (1, 2, (3, 4), 5, {"d": 6})
            assert run.tools.execute("work", {"a": 1, "b": 2}) == (1, 2, (), 3, {})
            with pytest.raises(TypeError, match="missing a required argument"):
                work(1)  # type: ignore[call-arg]  # as the function itself would be called wrongly
        assert seen[0] == {"a": 1, "b": 2, "rest": (3, 4), "c": 5, "more": {"d": 6}}
        assert len(publisher.of("ToolCallRecord")) == 6

    def test_hooks_change_what_the_function_gets(self) -> None:
        hooks = HookRegistry([HookMatcher(pre_hooks=(lambda _: PreHookResult(modified_input={"n": 7}),))])
        executor = ToolExecutor(hook_registry=hooks)
        assert executor.tool(lambda n: n, "same")(1) == 7

    def test_tools_of_a_tracer_are_recorded_in_runs_only(self, publisher: InMemoryPublisher) -> None:
        tracer = make_tracer(publisher, options=explicit())

        @tracer.tool
        def add(a: int, b: int) -> int:
            return a + b

        @tracer.tool
        async def aadd(a: int, b: int) -> int:
            return a + b

        assert (add(1, 2), asyncio.run(aadd(1, 2))) == (3, 3)
        assert publisher.records == []
        with tracer.start_run() as run:
            assert (add(1, b=2), asyncio.run(aadd(1, 2)), run.tools.execute("add", {"a": 1, "b": 2})) == (3, 3, 3)
        assert [item["tool_name"] for item in publisher.of("ToolCallRecord")[::3]] == ["add", "aadd", "add"]

    def test_a_tool_of_another_agent_is_not_mistaken_for_ours(self, publisher: InMemoryPublisher) -> None:
        """Nothing passes the boundary unseen, and each name calls its own function."""
        one, two = make_tracer(publisher, agent_id="one"), make_tracer(publisher, agent_id="two")

        def named(tracer: Tracer, answer: str) -> Callable[[], str]:
            return tracer.tool(lambda: answer, "who")

        first, second = named(one, "1"), named(two, "2")
        with one.start_run() as run:
            assert (first(), second(), run.tools.execute("who")) == ("1", "2", "1")
        assert [item["tool_name"] for item in publisher.of("ToolCallRecord")[::3]] == ["who", "two.who", "who"]


def test_decorated_code_can_be_replayed(publisher: InMemoryPublisher) -> None:
    """Runs, tools, model calls and decisions that are decorators: served by the same calls, nothing is called again."""
    calls: list[str] = []
    tracer = make_tracer(publisher, ids=RandomIds(), options=explicit())

    @tracer.tool
    def search(query: str) -> str:
        calls.append(query)
        return f"nothing about {query}"

    @tracer.start_run()
    def answer(question: str) -> str:
        run = current_run()
        assert run is not None
        found = search(question)

        @run.model_call(model="m")
        def ask(messages: str) -> str:
            calls.append(messages)
            return messages.upper()

        @run.deciding("response_mode")
        def choose() -> Choice:
            return Choice("batch", "batch_preferred")

        choose()
        return ask(found)

    assert answer("oslo") == "NOTHING ABOUT OSLO"
    recording = recording_of(publisher.of("RunStarted")[0]["run_id"], publisher.records)
    with tracer.replaying(recording.run_id, recording):
        assert answer("oslo") == "NOTHING ABOUT OSLO"
    assert calls == ["oslo", "nothing about oslo"]
    with pytest.raises(ReplayDivergedError), tracer.replaying(recording.run_id, recording):
        answer("bergen")
