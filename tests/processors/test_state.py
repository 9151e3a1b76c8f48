"""What is remembered of a run survives the changelog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.processors.core import process
from tachograph.processors.state import RunState
from tests.processors.records import incoming
from tests.schemas import samples

_WORDS = st.text(max_size=40)
_MAYBE = st.none() | _WORDS
_COUNTS = st.integers(0, 2**53)


@given(
    offset=st.integers(-1, 2**53),
    counts=st.tuples(_COUNTS, _COUNTS, _COUNTS),
    started=st.none() | st.integers(-(2**53), 2**53),
    words=st.tuples(*[_WORDS] * 6),
    maybe=st.tuples(*[_MAYBE] * 4),
    ended=st.booleans(),
)
def test_any_state_survives_its_encoding(
    offset: int,
    counts: tuple[int, ...],
    started: int | None,
    words: tuple[str, ...],
    maybe: tuple[str | None, ...],
    *,
    ended: bool,
) -> None:
    """Encode, decode, equal."""
    state = RunState()
    state.last_offset, state.started_at, state.ended = offset, started, ended
    state.received, state.dropped, state.last_append_time = counts
    state.session_id, state.agent_version, state.environment, state.capture_mode, state.request_id, state.sdk = words
    state.repo, state.branch, state.ticket_id, state.parent_run_id = maybe
    assert RunState.from_bytes(state.to_bytes()) == state


def test_a_typical_state_is_small() -> None:
    """It is written once per run per batch and read whole at a restart."""
    state = RunState()
    process(state, incoming(samples.RUN_STARTED))
    assert len(state.to_bytes()) < 400


@pytest.mark.parametrize("value", [b"[2,0]", b"[1]", b"[]", b"{}", b"junk"])
def test_a_state_of_another_version_is_refused(value: bytes) -> None:
    """Counting on from a misread state would be worse than stopping."""
    with pytest.raises(ValueError):  # noqa: PT011 - orjson's error and ours are both this
        RunState.from_bytes(value)


def test_its_repr_shows_no_content() -> None:
    """A repr may end up in a log."""
    state = RunState()
    process(state, incoming(samples.RUN_STARTED))
    assert repr(state) == "RunState(last_offset=0, received=1, ended=False)"
