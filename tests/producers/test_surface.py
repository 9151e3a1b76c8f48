"""What the package exports, and what importing it costs."""

import subprocess
import sys

import pytest

import tachograph.producers as surface
from tachograph.producers import testing
from tachograph.producers.ids import RandomIds

HEAVY = ("pydantic", "fastavro", "confluent_kafka", "cryptography", "re2", "asyncio")


def test_exports_are_pinned() -> None:
    assert surface.__all__ == [
        "AttributionScope",
        "AuditTrail",
        "CapturePolicy",
        "ContextThreadPoolExecutor",
        "ExecutionContext",
        "GovernedDecision",
        "HookAbortError",
        "HookAction",
        "HookMatcher",
        "HookRegistry",
        "JsonLinesPublisher",
        "PlanRefusedError",
        "PlannedDecision",
        "PostHookResult",
        "PreHookResult",
        "RecorderStop",
        "Run",
        "Step",
        "SystemErrorStop",
        "ToolExecutor",
        "ToolUseContext",
        "Tracer",
        "TracerOptions",
        "artifact_ref",
        "carry_context",
        "current_run",
        "get_current_context",
        "load_terms",
        "tool_ref",
    ]
    assert sorted(surface._HOME) == surface.__all__ == dir(surface)
    assert testing.__all__ == ["FixedClock", "InMemoryPublisher", "KeptRecord", "SequentialIds"]


@pytest.mark.parametrize("name", surface.__all__)
def test_every_export_can_be_had(name: str) -> None:
    assert getattr(surface, name) is not None


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="Nope"):
        _ = surface.Nope


def test_importing_the_tracer_brings_nothing_heavy() -> None:
    """Each of these costs 20 to 100 ms; they are imported when the first run or fault needs them."""
    program = f"import sys; from tachograph.producers import Tracer; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_ids_are_well_formed_and_unique() -> None:
    ids = RandomIds()
    uuids = [ids.uuid() for _ in range(2000)]
    assert len(set(uuids)) == 2000
    assert all(len(item) == 36 and item[14] == "7" and item[19] in "89ab" for item in uuids)
    assert [len(ids.trace_id()), len(ids.span_id())] == [32, 16]
