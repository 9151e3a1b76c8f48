"""The demo's runs, sent to a real Phoenix, which then is asked what it has. ``make phoenix`` installs it."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.console.export.landing import Landing, stream

from benchmarks.report import Figure, Result, Skipped
from tachograph.console.database import reader
from tachograph.console.demo.recording import STORY_TIME, play_stories
from tachograph.console.demo.stage import stage
from tachograph.console.export.otlp import OtlpExport
from tachograph.console.export.selection import Selection
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.settings import OtlpSettings, Settings
from tachograph.sinks.otlp import Delivery, Vocabulary, targets
from tachograph.sinks.otlp.post import HttpPost
from tachograph.sinks.otlp.requests import Exported

PROGRAM: Final = Path(__file__).parents[1] / ".venv-phoenix/bin/phoenix"
START_S: Final = 120.0
SETTLE_S: Final = 60.0
NAME: Final = "spans that Phoenix lacks of those that were exported"


def measure(settings: Settings, folder: Path) -> list[Result]:
    """How many of the spans are not there, with their parents and names as they were sent."""
    if not PROGRAM.exists():
        return [Skipped(NAME, "Phoenix is not installed: make phoenix")]
    tenant = f"phoenix{uuid.uuid4().hex[:8]}"
    land_demo(settings, folder, tenant)
    with phoenix(folder) as url, reader(settings) as database:
        options = OtlpSettings(endpoint=url)
        with HttpPost(targets(options, {})) as post:
            delivery = Delivery(post, version="0", schema_url="", patience_s=30, wait=_wait)
            exporting = OtlpExport(
                database, delivery, Vocabulary(), options, selection=Selection(tenant=tenant), signals=[Exported.TRACES]
            )
            exporting.once()
        sent = {
            (trace, span): (parent, name)
            for trace, span, parent, name in database.rows(
                "SELECT TraceId, SpanId, ParentSpanId, SpanName FROM otel_traces "
                "WHERE ResourceAttributes['tachograph.tenant_id'] = {tenant:String}",
                {"tenant": tenant},
            )
        }
        ends, there = time.monotonic() + SETTLE_S, dict[tuple[str, str], tuple[str, str]]()
        while time.monotonic() < ends and there != sent:
            _wait(0.5)
            there = spans_of(url)
    if exporting.tally.accepted != len(sent):
        raise RuntimeError(f"{exporting.tally.accepted} of {len(sent)} spans were accepted")
    lacking = len(sent.items() ^ there.items())
    return [Figure(f"{NAME}, {len(sent)},", lacking, 0, "spans", at_most=True)]


def land_demo(settings: Settings, folder: Path, tenant: str) -> None:
    """The demo's runs, without a broker."""
    publisher = InMemoryPublisher()
    own = settings.model_copy(update={"home": folder / tenant, "tenant_id": tenant})
    with stage(own, publisher, started_at=datetime.now(UTC) - STORY_TIME, suffix=tenant) as on:
        play_stories(on)
    landing = Landing(settings)
    landing.land(stream(publisher))
    landing.close()


@contextmanager
def phoenix(folder: Path) -> Iterator[str]:
    """Address of a Phoenix with nothing in it, on loopback, which tells nobody."""
    port, grpc_port = _free_port(), _free_port()
    environment = os.environ | {
        "PHOENIX_TELEMETRY_ENABLED": "false", "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port), "PHOENIX_WORKING_DIR": str(folder / "phoenix"),
    }  # fmt: skip
    (folder / "phoenix").mkdir()
    with (folder / "phoenix.log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, "serve"], env=environment, stdout=log, stderr=log)
        try:
            _await(f"http://127.0.0.1:{port}/healthz", process, folder / "phoenix.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def spans_of(url: str) -> dict[tuple[str, str], tuple[str, str]]:
    """What Phoenix has, by trace and span: parent and name."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    cursor = ""
    while True:
        try:
            page = _get(f"{url}/v1/projects/default/spans?limit=500{cursor and f'&cursor={cursor}'}")
        except urllib.error.HTTPError:
            return found  # it makes the project with the first span
        for span in page["data"]:
            context = span["context"]
            found[context["trace_id"], context["span_id"]] = (span["parent_id"] or "", span["name"])
        cursor = page.get("next_cursor") or ""
        if not cursor:
            return found


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - an address of ours
        return json.loads(answer.read())


def _await(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        if process.poll() is not None:
            raise RuntimeError(f"Phoenix ended: {log.read_text(errors='replace')[-2000:]}")
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - an address of ours
        except OSError:
            _wait(0.5)
        else:
            return
    raise RuntimeError(f"Phoenix does not answer: {log.read_text(errors='replace')[-2000:]}")


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
