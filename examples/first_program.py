"""A first program: one run with one tool call and one decision."""

from tachograph.producers import Tracer


def main(tracer: Tracer) -> None:
    """Look something up, and say why it was looked up there."""
    tracer.tools["search"] = lambda query: f"nothing about {query}"
    with tracer.start_run("What is the weather in Oslo?") as run, run.step("tool", "look it up"):
        run.record_decision(decision_type="tool_selection", selected="search", reason_code="fresh_data_required")
        print(run.tools.execute("search", {"query": "weather in Oslo"}))


if __name__ == "__main__":
    with Tracer(agent_id="first-program", agent_version="1.0") as tracer:
        main(tracer)
