"""A support agent, complete: it plans, looks up, retries, retrieves, answers and checks itself. Each leaves a record.

``python examples/support_agent.py [--audit]``. Its model and its data are scripted, so that it runs anywhere.
"""

import json
import sys
from typing import Any

from tachograph.producers import AttributionScope, HookMatcher, Run, ToolUseContext, Tracer
from tachograph.producers.hooks.metrics import MetricsHook

QUESTION = "Where is my parcel 7?"
SYSTEM = "You are a friendly clerk. Answer in JSON: {answer, parcel}."
FRESH_MINUTES = 5
ARTICLES = {"faq-1": "Parcels take three days.", "faq-9": "How to change your password."}


class RateLimitError(Exception):
    """The carrier asks to wait."""


class Carrier:
    """Knows where parcels are, and refuses the first question."""

    def __init__(self) -> None:
        self.asked = 0

    def track(self, parcel: int) -> dict[str, Any]:
        """Where a parcel is."""
        self.asked += 1
        if self.asked == 1:
            raise RateLimitError("slow down")
        return {"parcel": parcel, "place": "Oslo", "due": "tomorrow"}


def search_docs(query: str) -> list[str]:
    """Articles that share a word with the query."""
    words = query.lower().split()
    return [name for name, text in ARTICLES.items() if any(word in text.lower() for word in words)]


def scripted_model(messages: list[dict[str, str]], **_: Any) -> dict[str, Any]:
    """Answers from what it was shown, as a model's client would."""
    tracked = json.loads(messages[-1]["content"])
    answer = {"answer": f"In {tracked['place']}, due {tracked['due']}.", "parcel": tracked["parcel"]}
    return {"id": "cmp-1", "content": json.dumps(answer), "usage": {"input_tokens": 58, "output_tokens": 17}}


def print_call(context: ToolUseContext) -> None:
    """A hook that only looks: prints each call with where it belongs."""
    print(f"[{context.phase}] {context.tool_name} task={context.task_id} parent={context.parent_tool_use_id}")


def choose_source(run: Run, cache_age: int) -> str:
    """Cache or carrier: a choice between defined options, for a reason that is a code."""
    age = {"cache_age_minutes": cache_age}
    with run.deciding("tool_selection", candidates=["cache", "api"], metadata=age) as decision:
        source = "cache" if cache_age < FRESH_MINUTES else "api"
        if source == "cache":
            decision.choose(source, "cached_data_sufficient", confidence=0.95)
        else:
            decision.choose(source, "fresh_data_required", confidence=0.85)
    return source


def fetch(run: Run, parcel: int) -> dict[str, Any]:
    """Ask the carrier; once more if it asks to wait. What happened are facts, so they are signals."""
    try:
        found: dict[str, Any] = run.tools.execute("track", {"parcel": parcel})
    except RateLimitError:
        run.record_quality_signal(signal_type="tool_failure", signal_code="rate_limited", value=True)
        run.record_decision(
            decision_type="retry_strategy", selected="retry", reason_code="rate_limit_encountered", confidence=0.8
        )
        found = run.tools.execute("track", {"parcel": parcel})
        run.record_quality_signal(signal_type="retry_occurred", signal_code="single_retry", value=True)
        run.record_quality_signal(signal_type="tool_success", signal_code="after_retry", value=True)
    else:
        run.record_quality_signal(signal_type="tool_success", signal_code="first_attempt", value=True)
    return found


def answer(run: Run, question: str, parcel: int) -> dict[str, Any]:
    """The agent itself."""
    with AttributionScope(phase="planning"), run.step("plan", "choose_source"):
        source = choose_source(run, cache_age=12)
    with AttributionScope(phase="execution"):
        with run.step("tool", "fetch_data") as step:
            tracked = fetch(run, parcel)
            step.annotate(source=source)
        with run.step("retrieve", "search_docs"):
            found = run.tools.execute("search_docs", {"query": "parcels"})
            run.record_quality_signal(signal_type="empty_retrieval", signal_code="no_results", value=not found)
        with run.step("answer", "write_answer") as step:
            with step.context(intent={"goal": "answer the customer"}, token_limit=500) as context:
                context.retrieved("parcels", candidates=list(ARTICLES), selected=found)
                context.include(
                    "question", "user_input", source_ref="request", reason="plan_dependency", content=question
                )
                for name in ARTICLES:
                    if name in found:
                        context.include(name, "evidence", source_ref=f"kb:{name}", reason="retrieval_trigger", tokens=9)
                    else:
                        context.exclude(name, "evidence", reason="score_below_threshold", tokens=8)
                context.prefix(SYSTEM)
            messages = [{"role": "user", "content": question}, {"role": "tool", "content": json.dumps(tracked)}]
            response = run.model_call(
                scripted_model,
                model="scripted-1",
                system=SYSTEM,
                messages=messages,
                retrieval={"sources": [f"kb:{name}" for name in found]},
            )
    with AttributionScope(phase="validation"), run.step("validate", "check_schema"):
        reply: dict[str, Any] = json.loads(response["content"])
        valid = reply.keys() == {"answer", "parcel"}
        code = "full_match" if valid else "validation_failed"
        run.record_quality_signal(signal_type="schema_valid", signal_code=code, value=valid, weight=0.9)
    run.action("message", "answered the customer")
    return reply


def main(tracer: Tracer) -> None:
    """One run for one question."""
    metrics = MetricsHook()
    tracer.hooks.register(HookMatcher(pre_hooks=(print_call,)))
    tracer.hooks.register(metrics.matcher())
    tracer.tools |= {"track": Carrier().track, "search_docs": search_docs}
    constraints = [{"id": "format.json", "type": "format", "rule": "must output JSON"}]
    with tracer.start_run(QUESTION, constraints=constraints) as run, AttributionScope(task_id="ticket-12"):
        print(answer(run, QUESTION, parcel=7)["answer"])
    print({name: (numbers.calls, numbers.errors) for name, numbers in metrics.tools.items()})


if __name__ == "__main__":
    with Tracer(agent_id="customer-support", agent_version="2.0.0", audit="--audit" in sys.argv[1:]) as tracer:
        main(tracer)
