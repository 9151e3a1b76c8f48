"""The frame codec: what was written comes back; what was damaged is stepped over, never raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.producers.publishing import Message, MessageMalformed
from tachograph.producers.spool.frames import Frame, body_size, decode_body, encode_body, encode_frame, scan

TOPIC = "tachograph.events.v1"

messages = st.builds(
    Message,
    st.just(TOPIC),
    st.binary(max_size=40),
    st.binary(max_size=200),
    st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=30)), max_size=4).map(tuple),
)


def segment(bodies: list[bytes]) -> bytes:
    return b"".join(encode_frame(number, body) for number, body in enumerate(bodies))


def intact(frames: list[Frame], bodies: list[bytes]) -> list[int]:
    assert all(bodies[frame.number] == frame.body for frame in frames)
    return [frame.number for frame in frames]


@given(st.lists(messages, max_size=8))
def test_messages_come_back_as_they_were(given_messages: list[Message]) -> None:
    """Topic from the segment, everything else from the frame."""
    found = scan(segment([encode_body(message) for message in given_messages]))
    assert [decode_body(TOPIC, frame.body) for frame in found.frames] == given_messages
    assert (found.corrupt, found.torn) == (0, 0)


@given(messages)
def test_the_size_of_a_body_is_known_without_it(message: Message) -> None:
    """At level memory nothing is written, and the same limits hold."""
    assert body_size(message) == len(encode_body(message))


@given(st.lists(messages, min_size=1, max_size=8), st.data())
def test_a_torn_write_costs_what_was_being_written(given_messages: list[Message], data: st.DataObject) -> None:
    """Whole frames before the cut are kept, the rest is torn, nothing is corrupt."""
    bodies = [encode_body(message) for message in given_messages]
    whole = segment(bodies)
    cut = data.draw(st.integers(0, len(whole)))
    found = scan(whole[:cut])
    assert intact(found.frames, bodies) == list(range(len(found.frames)))
    kept = sum(frame.size for frame in found.frames)
    assert (found.corrupt, found.torn, found.consumed) == (0, cut - kept, cut)
    assert len(found.frames) == len(bodies) or cut < kept + len(encode_frame(0, bodies[len(found.frames)]))


@given(st.lists(messages, min_size=1, max_size=8), st.data())
def test_a_flipped_bit_costs_one_message(given_messages: list[Message], data: st.DataObject) -> None:
    """All frames but the damaged one come back, under their own numbers."""
    bodies = [encode_body(message) for message in given_messages]
    whole = bytearray(segment(bodies))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    found = scan(bytes(whole))
    numbers = intact(found.frames, bodies)
    assert len(numbers) == len(bodies) - 1
    assert found.corrupt == 1 or found.torn > 0
    assert numbers == sorted(numbers)


@given(
    st.binary(max_size=300) | st.lists(st.sampled_from([b"\xa7\x47", b"\0" * 12, b"\x03"]), max_size=60).map(b"".join)
)
def test_any_bytes_end_in_an_answer(garbage: bytes) -> None:
    """Never an exception, never an endless loop."""
    assert scan(garbage).consumed == len(garbage)


def test_a_stretch_ends_at_the_first_frame_that_is_not_whole() -> None:
    """The reader gets the rest with the next stretch."""
    whole = segment([b"first", b"second"])
    found = scan(whole[:-1], final=False)
    assert ([frame.body for frame in found.frames], found.consumed) == ([b"first"], len(encode_frame(0, b"first")))


def test_zeros_at_the_end_are_an_unfinished_write() -> None:
    """A file system may lengthen a file before its bytes arrive."""
    found = scan(segment([b"first"]) + bytes(100))
    assert (len(found.frames), found.corrupt, found.torn) == (1, 0, 100)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(Message(TOPIC, bytes(70_000), b""), id="a key over 64 KiB"),
        pytest.param(Message(TOPIC, b"", b"", (("name", b""),) * 256), id="more headers than a byte counts"),
        pytest.param(Message(TOPIC, b"", b"", (("n" * 256, b""),)), id="a header name over 255 bytes"),
        pytest.param(Message(TOPIC, b"", b"", (("\ud800", b""),)), id="a lone surrogate in a header name"),
        pytest.param(Message(TOPIC, b"", "text"), id="a value that is not bytes"),  # type: ignore[arg-type]
        pytest.param(Message(TOPIC, b"", b"", (("name", None),)), id="a header without a value"),  # type: ignore[arg-type]
    ],
)
def test_what_a_frame_cannot_hold_is_refused_by_a_sentence(message: Message) -> None:
    """A bug in the caller is a counted drop, not a crash."""
    with pytest.raises(MessageMalformed):
        encode_body(message)
    with pytest.raises(MessageMalformed):
        body_size(message)
