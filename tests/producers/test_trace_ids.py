"""Runs in traces of others, and traces by any name."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.trace_ids import parse_traceparent, trace_id_of
from tests.producers.support import SECRET, make_tracer

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADER = re.compile(rb"00-[0-9a-f]{32}-[0-9a-f]{16}-01")


@given(st.text())
def test_every_name_stands_for_one_valid_trace_id(name: str) -> None:
    """Law: valid, the same each time, and its own trace id."""
    made = trace_id_of(name)
    assert re.fullmatch("[0-9a-f]{32}", made)
    assert trace_id_of(name) == made == trace_id_of(made)


@given(st.text(string.hexdigits, min_size=32, max_size=32).filter(lambda text: set(text) != {"0"}))
def test_a_trace_id_stays_what_it_is(given_id: str) -> None:
    """In capitals too; written as a UUID it is the same number."""
    lower = given_id.lower()
    as_uuid = f"{lower[:8]}-{lower[8:12]}-{lower[12:16]}-{lower[16:20]}-{lower[20:]}"
    assert trace_id_of(given_id) == trace_id_of(as_uuid) == lower


def test_the_trace_id_of_zeros_is_none() -> None:
    """W3C: all zeros is invalid, so it is a name like any other."""
    assert trace_id_of("0" * 32) != "0" * 32


def test_a_run_joins_the_trace_of_its_request() -> None:
    """Records carry the trace; what is outermost hangs on the caller's span, and RunStarted says that it is foreign."""
    publisher = InMemoryPublisher()
    with make_tracer(publisher).start_run(trace_id="other", traceparent=f"00-{TRACE}-{SPAN}-01") as run:
        assert run.trace_id == TRACE
        run.no_op("outside of any step")
        with run.step("plan", "p") as step, run.step("plan", "inner"):
            pass
    assert {kept.record["trace_id"] for kept in publisher.records} == {TRACE}
    assert publisher.of("RunStarted")[0]["metadata"] == {"parent_span_id": SPAN}
    assert publisher.of("DecisionEvent")[0]["parent_span_id"] == SPAN
    assert [item["parent_span_id"] for item in publisher.of("StepStarted")] == [SPAN, step.span_id]
    for message in publisher.events:
        header = dict(message.headers)["traceparent"]
        assert header.startswith(f"00-{TRACE}-".encode())
        assert SPAN.encode() not in header  # it is the parent of our spans, and none of them
        assert message.key == TRACE.encode()


@pytest.mark.parametrize(
    "name", ["ticket-12", "4BF92F3577B34DA6A3CE929D0E0E4736", "lone \ud800 half", f"my {SECRET}", "x" * 5000]
)
def test_headers_are_valid_whatever_a_trace_is_called(name: str) -> None:
    """So that tools of others can read them; the same name is the same trace."""
    publisher = InMemoryPublisher()
    tracer = make_tracer(publisher)
    for _ in range(2):
        with tracer.start_run(trace_id=name):
            pass
    assert len({message.key for message in publisher.events}) == 1
    assert all(HEADER.fullmatch(dict(message.headers)["traceparent"]) for message in publisher.events)


BAD = [
    pytest.param("", id="nothing"),
    pytest.param(f"00-{TRACE}-{SPAN}", id="no flags"),
    pytest.param(f"00-{TRACE.upper()}-{SPAN}-01", id="capitals"),
    pytest.param(f"00-{'0' * 32}-{SPAN}-01", id="no trace"),
    pytest.param(f"00-{TRACE}-{'0' * 16}-01", id="no span"),
    pytest.param(f"ff-{TRACE}-{SPAN}-01", id="the version that is none"),
    pytest.param(f"00-{TRACE}-{SPAN}-01-more", id="more than version 00 has"),
    pytest.param(f"so I said {SECRET}", id="a text"),
]


@pytest.mark.parametrize("header", BAD)
def test_a_header_that_is_none_is_refused_or_left_out(header: str) -> None:
    """Strict: an error that says what to do, not what was given. Otherwise the run starts a trace; counted."""
    with pytest.raises(RecordRefusedError, match="leave it out") as refused:
        make_tracer(strict=True).start_run(traceparent=header)
    assert SECRET not in str(refused.value)
    tracer = make_tracer(strict=False)
    assert re.fullmatch("[0-9a-f]{32}", tracer.start_run(traceparent=header).trace_id)
    assert tracer.guard.counts == {"traceparent": 1}


def test_later_versions_may_say_more() -> None:
    """W3C: read what is known."""
    assert parse_traceparent(f" 01-{TRACE}-{SPAN}-03-more ") == (TRACE, SPAN)
