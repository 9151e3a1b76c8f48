"""What a proposal binds of its run."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tachograph.producers import ContextThreadPoolExecutor
from tachograph.producers.testing import InMemoryPublisher
from tachograph.producers.transcript import Transcript
from tachograph.schemas.transcripts import (
    CONTEXT,
    TRANSCRIPT,
    call_entry,
    chain,
    content_name,
    manifest_entry,
    packet_id,
    packet_sizes,
    prompt_entry,
)
from tests.pipeline.refunds import refund
from tests.producers.support import explicit, make_tracer


def proposed(publisher: InMemoryPublisher) -> Any:
    return publisher.of("RecordProposal")[-1]["replay"]


def test_a_proposal_binds_what_the_run_did_before_it() -> None:
    """Tool calls, failed ones too, and prompts; as captured, in any mode."""
    for mode in ("full", "redacted", "hashed"):
        publisher = InMemoryPublisher()
        tracer = make_tracer(publisher, capture=mode, options=explicit(), tools={"f": lambda a: a, "g": lambda: 1 / 0})
        with tracer.start_run("q") as run:
            run.tools.execute("f", {"a": 1}, tool_use_id="tc_1")
            try:
                run.tools.execute("g", tool_use_id="tc_0")
            except ZeroDivisionError:
                run.model_call(lambda **_: "ok", model="m", messages=["what now?"])
            run.propose_record(**refund([], run))
            run.tools.execute("f", {"a": 2})  # later than the proposal
        legs = {(leg["tool_use_id"], leg["leg"]): leg for leg in publisher.of("ToolCallRecord")}
        calls = [
            call_entry(
                call,
                legs[call, "pre"]["tool_name"],
                content_name(legs[call, "pre"]["tool_input"], None),
                content_name(legs[call, "post"]["output"] or legs[call, "post"]["error"], None),
                legs[call, "post"]["error_type"],
                skipped=False,
            )
            for call in ("tc_1", "tc_0")
        ]
        [event] = publisher.of("DecisionEvent")
        prompt = prompt_entry(event["span_id"], event["prompt_provenance"]["prompt_bundle_hash"])
        assert proposed(publisher) == {
            "replay_packet_id": "tachograph.packet/1:2:1",
            "compiled_context_hash": chain(CONTEXT, [prompt]),
            "tool_transcript_chain_hash": chain(TRANSCRIPT, calls),
            "last_status": "not_replayed",
        }


def test_calls_of_many_threads_hash_the_same_whatever_their_order() -> None:
    """The chain goes by the calls' ids."""
    hashes = set()
    for workers in (1, 8):
        publisher = InMemoryPublisher()
        tracer = make_tracer(publisher, options=explicit(), tools={"f": lambda a: a})
        with tracer.start_run("q") as run, ContextThreadPoolExecutor(workers) as pool:
            assert isinstance(pool, ThreadPoolExecutor)
            execute = run.tools.execute
            list(pool.map(lambda n, execute=execute: execute("f", {"a": n}, tool_use_id=f"tc_{n}"), range(20)))
            run.propose_record(**refund([], run))
        hashes.add(proposed(publisher)["tool_transcript_chain_hash"])
    assert len(hashes) == 1


def test_what_the_agent_binds_itself_is_left_alone() -> None:
    """A packet of another maker; and none where there is nothing to bind."""
    publisher = InMemoryPublisher()
    given = {"replay_packet_id": "rp_1", "compiled_context_hash": "sha256:1", "tool_transcript_chain_hash": "sha256:2"}
    with make_tracer(publisher, options=explicit()).start_run("q") as run:
        run.propose_record(**refund([], run, replay=given))
        run.propose_record(**refund([], run))
    assert [record["replay"] for record in publisher.of("RecordProposal")] == [
        given | {"last_status": "not_replayed"},
        None,
    ]
    assert packet_sizes("rp_1") is None
    assert packet_sizes(packet_id(3, 4)) == (3, 4)


def test_a_transcript_with_holes_binds_nothing() -> None:
    """At durability memory content is captured later than the call returns: a hash of some of it would mislead."""
    transcript = Transcript()
    transcript.compiled("m_1", "ab")
    packet = transcript.packet()
    assert packet is not None
    assert packet["compiled_context_hash"] == chain(CONTEXT, [manifest_entry("m_1", "ab")])
    transcript.missed()
    assert transcript.packet() is None
