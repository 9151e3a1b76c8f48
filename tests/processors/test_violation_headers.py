"""Headers of violations: CloudEvents that any consumer understands, the same for a repeat."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.violation_headers import violation_headers
from tests.sinks.rows import sample_row

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def row(**changes: Any) -> dict[str, Any]:
    fields = {
        "tenant_id": "acme",
        "agent_id": "builder",
        "violation_id": "v-1",
        "run_id": "r-1",
        "trace_id": TRACE_ID,
        "occurred_at": 1_780_000_000_000_001,
    }
    return sample_row("violations", 0, **fields | changes)


def test_headers_are_cloud_events_in_binary_mode() -> None:
    """All of them, whole."""
    assert dict(violation_headers(row())) == {
        "ce_specversion": b"1.0",
        "ce_id": b"v-1",
        "ce_type": b"tachograph.Violation.v1",
        "ce_source": b"/tenants/acme/agents/builder",
        "ce_time": b"2026-05-28T20:26:40.000001Z",
        "ce_subject": b"r-1",
        "content-type": b"application/avro",
        "traceparent": b"00-0af7651916cd43dd8448eb211c80319c-5beaf05be853dd38-01",
    }


@pytest.mark.parametrize(
    "trace_id",
    [
        pytest.param("", id="none"),
        pytest.param("trace-1", id="a word"),
        pytest.param(TRACE_ID.upper(), id="capitals"),
        pytest.param("0" * 32, id="zeros"),
        pytest.param(TRACE_ID + "00", id="too long"),
        pytest.param(TRACE_ID + "\n", id="a line's end"),
    ],
)
def test_a_foreign_trace_id_makes_no_trace_context(trace_id: str) -> None:
    """A receiver would refuse the header, or worse, believe it."""
    assert "traceparent" not in dict(violation_headers(row(trace_id=trace_id)))


def test_no_run_no_subject() -> None:
    """A violation over many runs has none."""
    assert "ce_subject" not in dict(violation_headers(row(run_id="")))


@given(st.text(min_size=1), st.integers(min_value=0, max_value=4_000_000_000_000_000))
def test_a_repeat_has_the_same_headers(violation_id: str, occurred_at: int) -> None:
    """Nothing but the row goes into them, and evidence and message do not."""
    first = violation_headers(row(violation_id=violation_id, occurred_at=occurred_at))
    again = row(violation_id=violation_id, occurred_at=occurred_at, message="other", evidence="canary")
    assert violation_headers(again) == first
    assert b"canary" not in b"".join(value for _, value in first)
