"""Capture modes: what stands in a record in each of them."""

import hashlib
import hmac
import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.producers import TracerOptions
from tachograph.producers.capture import INLINE_LIMIT, CapturePolicy, capture_bundle
from tachograph.producers.redaction import DropReason, RuleCount
from tachograph.producers.redaction.samples import expand
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.models.base import MAX_CONTENT_BYTES, ArtifactPointer
from tachograph.schemas.models.decision_event import PromptBundle
from tests.producers.support import make_tracer

KEY = b"k" * 32
TOKEN = expand("ghp_{{W:36}}")
POINTER = ArtifactPointer(
    artifact_id="id", path="a/id", hash="0" * 64, size_bytes=1, created_at=datetime(2026, 1, 1, tzinfo=UTC)
)


class Shelf:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.stored: list[tuple[bytes, str]] = []

    def put(self, data: bytes, *, suffix: str = "") -> ArtifactPointer:
        self.stored.append((data, suffix))
        return POINTER


class FullDisk:
    def put(self, data: bytes, *, suffix: str = "") -> ArtifactPointer:
        raise OSError(data, suffix)


def policy(mode: CaptureMode, **options: Any) -> CapturePolicy:
    return CapturePolicy(mode, None, KEY, **options)


def test_the_limit_is_the_contract_s() -> None:
    """It is repeated for the import's sake only."""
    assert INLINE_LIMIT == MAX_CONTENT_BYTES


def test_text_in_each_mode() -> None:
    """As it is, redacted, or a keyed hash."""
    text = f"use {TOKEN}"
    digest = hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()
    assert policy(CaptureMode.FULL).text(text).text == text
    redacted = policy(CaptureMode.REDACTED).text(text)
    assert (redacted.text, redacted.findings) == ("use [REDACTED:github-token]", (RuleCount("github-token", 1),))
    assert policy(CaptureMode.HASHED).text(text).text == f"hmac:{digest}"
    assert {policy(mode).text(text).size_bytes for mode in CaptureMode} == {len(text)}


def test_values_become_json_text() -> None:
    """With sorted keys, so that equal values have equal hashes."""
    assert policy(CaptureMode.FULL).value({"b": 1, "a": {"token": "x"}}).text == '{"a":{"token":"x"},"b":1}'
    assert policy(CaptureMode.REDACTED).value({"token": "x"}).text == '{"token":"[REDACTED:key-name]"}'
    hashed = policy(CaptureMode.HASHED)
    assert hashed.value({"b": 1, "a": 2}) == hashed.value({"a": 2, "b": 1})
    assert hashed.value([float("nan"), object()]).text.startswith("hmac:")


def test_a_key_is_made_where_none_is_given() -> None:
    """Two policies then share no hashes; a policy in another mode keeps its key."""
    one, two = CapturePolicy(CaptureMode.HASHED), CapturePolicy(CaptureMode.HASHED)
    assert one.text("x") != two.text("x")
    assert one.with_mode(CaptureMode.FULL).with_mode(CaptureMode.HASHED).text("x") == one.text("x")
    with pytest.raises(ValueError, match="at least 16 bytes"):
        CapturePolicy(CaptureMode.HASHED, None, b"short")


def test_nothing_is_shown() -> None:
    """Neither the key nor content appears in a representation."""
    shown = repr(policy(CaptureMode.FULL)) + repr(policy(CaptureMode.FULL).text(TOKEN))
    assert TOKEN not in shown
    assert "kkkk" not in shown


@pytest.mark.parametrize("mode", [CaptureMode.FULL, CaptureMode.REDACTED])
def test_large_content_leaves_a_pointer(mode: CaptureMode) -> None:
    """What is stored is in its capture mode already."""
    shelf = Shelf()
    captured = policy(mode, writer=shelf).text(f"{TOKEN} " + "é" * 40_000, suffix=".diff")
    assert (captured.pointer, captured.inline) == (POINTER, None)
    assert captured.text.startswith("[ARTIFACT:id ")
    ((stored, suffix),) = shelf.stored
    assert suffix == ".diff"
    assert (TOKEN.encode() in stored) is (mode is CaptureMode.FULL)


def test_hashes_need_no_writer() -> None:
    """Content of any size is a short hash."""
    shelf = Shelf()
    assert policy(CaptureMode.HASHED, writer=shelf).text("x" * 1_000_000).pointer is None
    assert shelf.stored == []


@pytest.mark.parametrize("writer", [None, FullDisk()], ids=["no writer", "writer that fails"])
def test_large_content_without_a_place_is_cut_off(writer: FullDisk | None, caplog: pytest.LogCaptureFixture) -> None:
    """It fits, says how much is gone, and the agent goes on."""
    text = "é" * 40_000
    captured = policy(CaptureMode.FULL, writer=writer).text(text)
    kept = captured.text.partition("[TRUNCATED: ")[0]
    assert len(captured.text.encode()) <= INLINE_LIMIT
    assert captured.truncated_bytes == len(text.encode()) - len(kept.encode())
    assert captured.text.endswith(f"[TRUNCATED: {captured.truncated_bytes} bytes]")
    assert captured.writer_failed is (writer is not None)
    assert "é" not in caplog.text


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=50), repeat=st.integers(1, 20_000))
def test_captured_text_always_fits(text: str, repeat: int) -> None:
    """In bytes, whatever the characters."""
    assert len(policy(CaptureMode.FULL).text(text * repeat).text.encode()) <= INLINE_LIMIT


def test_content_that_cannot_be_captured_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing raises and nothing is told but the kind of error."""
    caplog.set_level(logging.DEBUG)
    for mode in CaptureMode:
        captured = policy(mode).text(123)  # type: ignore[arg-type]
        assert (captured.text, captured.dropped_reason) == ("[DROPPED:error]", DropReason.ERROR)
    assert policy(CaptureMode.REDACTED).text("x", path=".env").dropped_reason is DropReason.PATH
    assert policy(CaptureMode.REDACTED).label(None) == "[DROPPED:error]"  # type: ignore[arg-type]


def test_labels_are_kept_in_every_mode_but_their_secrets_are_not() -> None:
    """A tool's name is needed to read a record."""
    assert [policy(mode).label("search") for mode in CaptureMode] == ["search"] * 3
    assert policy(CaptureMode.HASHED).label(f"t-{TOKEN}") == "t-[REDACTED:github-token]"
    assert policy(CaptureMode.FULL).label("x" * 999) == "x" * 256


BUNDLE: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": f"key {TOKEN}"},
        {"role": "user", "content": [{"type": "text", "text": f"{TOKEN}"}]},
    ],
    "retrieval": {"enabled": True, "sources": [f"https://h/?q={TOKEN}"], "snippets": f"s {TOKEN}"},
    "tools": [
        {
            "name": "login",
            "description": f"d {TOKEN}",
            "schema": {"properties": {"password": {"type": "string", "default": TOKEN}}},
        },
        {"name": "bare"},
    ],
    "transformations": [{"type": "rewrite", "summary": f"r {TOKEN}"}],
}


@pytest.mark.parametrize("mode", list(CaptureMode))
def test_a_bundle_keeps_its_shape(mode: CaptureMode) -> None:
    """It fits the contract in every mode, and only mode full shows content."""
    captured = capture_bundle(policy(mode), BUNDLE)
    PromptBundle.model_validate(captured.bundle)
    assert (TOKEN in json.dumps(captured.bundle)) is (mode is CaptureMode.FULL)
    assert policy(mode).bundle(BUNDLE) == captured.bundle
    assert len(captured.parts) == 6
    assert TOKEN not in repr(captured)


def test_a_redacted_bundle() -> None:
    """Whole."""
    mark = "[REDACTED:github-token]"
    assert policy(CaptureMode.REDACTED).bundle(BUNDLE) == {
        "messages": [
            {"role": "system", "content": f"key {mark}"},
            {"role": "user", "content": f'[{{"text":"{mark}","type":"text"}}]'},
        ],
        "retrieval": {"enabled": True, "sources": [f"https://h/?q={mark}"], "snippets": f"s {mark}"},
        "tools": [
            {
                "name": "login",
                "description": f"d {mark}",
                "schema": {"properties": {"password": {"type": "string", "default": mark}}},
            },
            {"name": "bare", "description": None, "schema": None},
        ],
        "transformations": [{"type": "rewrite", "summary": f"r {mark}"}],
    }


class TestFullCaptureNeedsAControlledEnvironment:
    @pytest.mark.parametrize("environment", ["local", "ci", "staging", "unknown"])
    def test_it_is_allowed_where_you_are_in_control(self, environment: str) -> None:
        """Everywhere but in production, unless the options say otherwise."""
        assert make_tracer(environment=environment, capture="full").policy.mode is CaptureMode.FULL

    def test_production_refuses_it(self) -> None:
        """With the two ways out."""
        with pytest.raises(ConfigError, match="redacted or hashed"):
            make_tracer(environment="prod", capture="full")
        with pytest.raises(ConfigError, match="full_capture_in"):
            make_tracer(environment="prod").start_run("go", capture_mode="full")

    def test_a_single_call_cannot_widen_it(self) -> None:
        """A model call that asks for full is recorded in the run's own mode."""
        publisher = InMemoryPublisher()
        with make_tracer(publisher, environment="prod").start_run("go") as run:
            run.model_call(lambda **_: "ok", model="m", messages=[], capture_mode="full")
        (event,) = [kept.record for kept in publisher.records if kept.type == "DecisionEvent"]
        assert event["prompt_provenance"]["capture_mode"] == "redacted"

    def test_whoever_controls_production_says_so(self) -> None:
        """An explicit decision, in one place."""
        options = TracerOptions(full_capture_in=frozenset({"prod"}))
        assert make_tracer(environment="prod", capture="full", options=options).policy.mode is CaptureMode.FULL
