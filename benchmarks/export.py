"""Export to OTLP: spans a second beside OpenTelemetry's own exporter, and what a real Phoenix has of them afterwards.

Both send the same spans, in batches of 512, packed, to a receiver in a process of its own that keeps nothing. The time
is that of this process's processor: neighbours on the machine do not count, nor does the receiver. Ours begins with
rows in ClickHouse, theirs with spans in memory; beside it stands ours from rows in memory.
"""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from tests.console.export.landing import Landing
from tests.sinks.otlp.samples import call_row
from tests.sinks.rows import sample_row

from benchmarks.peer_phoenix import measure as measure_phoenix
from benchmarks.report import Ratio, Result
from tachograph.console.database import reader
from tachograph.console.export.otlp import OtlpExport
from tachograph.console.export.selection import Selection
from tachograph.schemas.settings import OtlpSettings, Settings
from tachograph.sinks.otlp import Delivery, Vocabulary, targets
from tachograph.sinks.otlp.post import HttpPost
from tachograph.sinks.otlp.requests import Exported, Item, actor_of, batches
from tachograph.sinks.otlp.spans import span_of

SPANS: Final = 20_000
BATCH: Final = 512
GOAL: Final = 0.8
"""From rows in memory: about as fast as the exporter that everybody has."""
GOAL_WHOLE: Final = 0.3
"""From rows in ClickHouse, which costs finding them and reading them over HTTP."""
RUNS: Final = 200


def measure(settings: Settings, folder: Path) -> list[Result]:
    """Land tool calls, export them in three ways, and send the demo to Phoenix if it is installed."""
    tenant = f"bench-{uuid.uuid4().hex[:8]}"
    land(settings, tenant)
    rows = [call_row(span_id=f"{number + 1:016x}", source_id=f"toolu_{number}") for number in range(SPANS)]
    with receiver() as url:
        best = {"memory": float("inf"), "whole": float("inf"), "theirs": float("inf")}
        spans = sdk_spans(rows)
        for _ in range(3):  # by turns, so that what the machine does otherwise slows all of them
            best["memory"] = min(best["memory"], timed(lambda: from_memory(url, rows)))
            best["whole"] = min(best["whole"], timed(lambda: from_clickhouse(settings, url, tenant)))
            best["theirs"] = min(best["theirs"], timed(lambda: with_sdk(url, spans)))
    rate = {name: SPANS / seconds for name, seconds in best.items()}
    reference = ("OpenTelemetry's exporter, spans in memory", rate["theirs"])
    return [
        Ratio("export OTLP, rows in memory", rate["memory"], *reference, GOAL, "spans/s"),
        Ratio("export OTLP, rows in ClickHouse", rate["whole"], *reference, GOAL_WHOLE, "spans/s"),
        *measure_phoenix(settings, folder),
    ]


def timed(work: Callable[[], int]) -> float:
    """Seconds of this process's processor. Raises if not all spans were taken."""
    start = time.process_time()
    sent = work()
    took = time.process_time() - start
    if sent != SPANS:
        raise RuntimeError(f"{sent} of {SPANS} spans were taken")
    return took


def from_memory(url: str, rows: Sequence[dict[str, Any]]) -> int:
    """Map and send rows that have been read."""
    vocabulary = Vocabulary()
    names = vocabulary.resource("call_spans")
    with HttpPost(targets(OtlpSettings(endpoint=url), {})) as post:
        delivery = Delivery(post, version="0", schema_url="", patience_s=0, wait=lambda _seconds: True)
        items = (Item(actor_of(row, names), span_of(row, vocabulary)) for row in rows)
        return sum(delivery.send(Exported.TRACES, batch).accepted for batch in batches(items, BATCH, 4 * 1024 * 1024))


def from_clickhouse(settings: Settings, url: str, tenant: str) -> int:
    """What the command does."""
    options = OtlpSettings(endpoint=url, batch_items=BATCH)
    with reader(settings) as database, HttpPost(targets(options, {})) as post:
        delivery = Delivery(post, version="0", schema_url="", patience_s=0, wait=lambda _seconds: True)
        exporting = OtlpExport(database, delivery, Vocabulary(), options, selection=Selection(tenant=tenant))
        exporting.once()
        return exporting.tally.accepted


def with_sdk(url: str, spans: Sequence[ReadableSpan]) -> int:
    """OpenTelemetry's own."""
    exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces", compression=Compression.Gzip)
    for start in range(0, len(spans), BATCH):
        exporter.export(spans[start : start + BATCH])
    exporter.shutdown()
    return len(spans)


def sdk_spans(rows: Sequence[dict[str, Any]]) -> list[ReadableSpan]:
    """The same spans as the SDK has them when they end."""
    vocabulary, resource = Vocabulary(), Resource({"service.name": "coder", "tachograph.tenant_id": "acme"})
    scope, made = InstrumentationScope("tachograph", "0"), []
    for row in rows:
        trace = int(row["trace_id"], 16)
        context = SpanContext(trace, int(row["span_id"], 16), is_remote=False, trace_flags=TraceFlags(1))
        parent = SpanContext(trace, int(row["parent_span_id"], 16), is_remote=False)
        began = row["began_at"] * 1000
        made.append(
            ReadableSpan(
                name=row["span_name"], context=context, parent=parent, resource=resource,
                attributes={vocabulary.spans[name][0]: value for name, value in row["attributes"].items() if value},
                kind=SpanKind.INTERNAL, instrumentation_scope=scope, start_time=began,
                end_time=began + row["duration_ms"] * 1_000_000,
            )
        )  # fmt: skip
    return made


def land(settings: Settings, tenant: str) -> None:
    """As many tool calls as are sent, of some runs."""
    landing = Landing(settings)
    landing.land(
        {
            "tool_calls": [
                sample_row("tool_calls", number, tenant_id=tenant, run_id=f"run_{number % RUNS}", leg="call")
                | {"agent_id": "coder", "tool_name": f"tool-{number % 20}", "trace_id": f"{number % RUNS + 1:032x}"}
                | {"span_id": f"{number + 1:016x}", "step_id": None, "parent_tool_use_id": None}
                for number in range(SPANS)
            ]
        }
    )
    landing.close()


@contextmanager
def receiver() -> Iterator[str]:
    """Address of a receiver that keeps nothing."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.otlp_receiver"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait(30)
