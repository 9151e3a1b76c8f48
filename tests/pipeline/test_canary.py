"""A secret that an agent says everywhere is stored nowhere, unless the capture mode says so."""

import re
import secrets
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tachograph.console.database import Reader, reader
from tachograph.producers import Tracer, TracerOptions
from tachograph.producers.captures import CaptureKey
from tachograph.producers.publishing import Publisher, SpoolOptions, SpoolPublisher
from tachograph.producers.spool import drain
from tachograph.producers.testing import InMemoryPublisher
from tachograph.producers.workspace import WorkspaceArtifacts
from tachograph.schemas import models
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import CAPTURES, EVENTS, RECORD_TYPES, ROW_TABLES
from tests.pipeline import canary
from tests.pipeline.canary import FORMS, Canary, make_canary, places_of, texts_of
from tests.pipeline.leaky_agent import LeakyAgent, LeakyToolError
from tests.pipeline.processes import Part, pipeline, wait_for
from tests.pipeline.records import TABLES_OF

KEY = CaptureKey(bytes(range(32)))
ARTIFACTS = ".tachograph/artifacts"
CLOSED = (CaptureMode.REDACTED, CaptureMode.HASHED)
LANDING_TABLES = set(ROW_TABLES) - {"snapshots"}
"""Tables that rows of a run land in by themselves; snapshots are made of captures on demand."""

OURS = re.compile(
    r"""(^|\.)(event|decision|signal|failure|manifest|span|parent_span)_id$   # ids that the recorder makes
    |capture_ids|(pointer|snapshots?)(\[])?\.(artifact_id|path)$              # and names of what it stores
    |(reason|signal)_code$|by_source$                                         # words of closed lists
    |^DecisionEvent\.schema_version$|^RunStarted\.sdk$|^RunEnded\.metadata$   # always the same
    |(^|\.)trace_id$                                                          # a hash of what the agent says
    |^EventsDropped\.(first_at|record_types\[])$""",
    re.VERBOSE,
)
"""Texts in records that no agent has a say in."""


@pytest.mark.stack
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", list(CaptureMode))
def test_the_secret_is_stored_in_mode_full_only(
    mode: CaptureMode, stack: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Spool, trail, artifacts, broker, tables, logs and errors, byte by byte; in full, so that the search can fail."""
    canaries = [make_canary(form) for form in FORMS]
    labels = [f"{secrets.token_hex(6)}-{form}" for form in FORMS]
    spool, trail, logs = (tmp_path / name for name in ("spool", "audit", "logs"))
    logs.mkdir()
    publisher = SpoolPublisher(SpoolOptions(folder=spool), kafka=stack.kafka, start=False)
    caplog.set_level("DEBUG")
    raised = [
        error
        for said, label in zip(canaries, labels, strict=True)
        for error in work(said, label, publisher, mode, tmp_path, audit=trail).raised
    ]
    assert publisher.stats().dropped == 0
    found = {"spool": canary.folder(spool).found(canaries), "audit trail": canary.folder(trail).found(canaries)}
    found["opened artifacts"] = canary.opened(tmp_path / ARTIFACTS).found(canaries)
    assert canary.folder(tmp_path / ARTIFACTS).found(canaries) == []
    assert spool_holds(spool, EVENTS.name, CAPTURES.name)
    publisher.close(0)

    report = drain(spool, stack.kafka)
    assert report.complete
    with reader(stack) as database:
        with pipeline(stack, logs) as parts:
            wait_until_landed(database, labels, expected_rows(mode, tmp_path), *parts)
        found["tables"] = list(canary.database(database, stack, canaries))
    found["topics"] = canary.broker(stack.kafka).found(canaries)
    found["logs"] = canary.folder(logs).found(canaries) + in_text(caplog.text, canaries)
    found["errors"] = in_text("\n".join(texts(raised)), canaries)

    if mode is CaptureMode.FULL:
        assert set(found["tables"]) >= LANDING_TABLES - {"evaluations"}, "an evaluation quotes nothing"
        assert EVENTS.name in found["topics"]
        assert all(found[place] for place in ("spool", "audit trail", "errors", "opened artifacts"))
    else:
        assert not any(found.values()), found


@pytest.mark.parametrize("form", FORMS)
def test_the_agent_says_it_in_every_text_there_is(form: str, tmp_path: Path) -> None:
    """A new field must be given a secret by the leaky agent, or be one that agents cannot fill."""
    said, publisher = make_canary(form), InMemoryPublisher()
    work(said, "every", publisher, CaptureMode.FULL, tmp_path)
    fields = {f"{name}.{path}" for name in RECORD_TYPES for path in texts_of(getattr(models, name))}
    filled = {f"{kept.type}.{path}" for kept in publisher.records for path in places_of(kept.record, said.needles)}
    assert {field for field in fields - filled if not OURS.search(field)} == set()


@pytest.mark.parametrize("mode", CLOSED)
@pytest.mark.parametrize("form", FORMS)
def test_a_strict_recorder_raises_without_it(form: str, mode: CaptureMode, tmp_path: Path) -> None:
    """Its errors say what to fix, and nothing of what they were given."""
    said, publisher = make_canary(form), InMemoryPublisher()
    agent = work(said, "strict", publisher, mode, tmp_path, strict=True)
    assert len(agent.raised) > 15
    assert in_text("\n".join(texts(agent.raised)), [said]) == []
    assert stored(publisher, said) == []


@pytest.mark.parametrize("mode", CLOSED)
def test_a_run_may_be_more_closed_than_its_tracer(mode: CaptureMode, tmp_path: Path) -> None:
    """Its own mode holds for its names and ids, too."""
    said, publisher = make_canary("plain"), InMemoryPublisher()
    artifacts = WorkspaceArtifacts(tmp_path)
    tracer = Tracer("agent", publisher=publisher, capture="full", artifacts=artifacts, capture_key=KEY, strict=False)
    agent = LeakyAgent(tracer, said.text, capture_mode=mode)
    agent.work()
    assert publisher.records
    assert stored(publisher, said) == []


@pytest.mark.parametrize("mode", list(CaptureMode))
@pytest.mark.parametrize("form", FORMS)
def test_artifacts_are_sealed_and_clean(form: str, mode: CaptureMode, tmp_path: Path) -> None:
    """Names and bytes tell nothing in any mode; who has the key finds it in mode full only."""
    said = make_canary(form)
    work(said, "large", InMemoryPublisher(), mode, tmp_path)
    assert canary.folder(tmp_path / ARTIFACTS).found([said]) == []
    opened = canary.opened(tmp_path / ARTIFACTS)
    assert bool(opened.parts) == (mode is not CaptureMode.HASHED)  # a hash is never too large for a record
    assert bool(opened.found([said])) == (mode is CaptureMode.FULL)


def work(
    said: Canary, label: str, publisher: Publisher, mode: CaptureMode, workspace: Path, **fields: Any
) -> LeakyAgent:
    """A run in which every text holds the secret, and every prompt is captured."""
    tracer = Tracer(
        f"{label} {said.text}",
        said.text,
        tenant_id=said.text,
        publisher=publisher,
        capture=mode,
        artifacts=WorkspaceArtifacts(workspace),
        capture_key=KEY,
        options=TracerOptions(sample_prompts=1),
        **({"strict": False} | fields),
    )
    agent = LeakyAgent(tracer, said.text, label)
    agent.work()
    return agent


def stored(publisher: InMemoryPublisher, said: Canary) -> list[str]:
    """Types of messages that hold it."""
    return [
        message.topic
        for message in publisher.messages
        if in_text(repr((message.key, message.value, message.headers)), [said])
    ]


def in_text(text: str, canaries: list[Canary]) -> list[str]:
    """Needles that are in a text."""
    return [needle for said in canaries for needle in said.needles if needle in text]


def texts(raised: list[BaseException]) -> Iterator[str]:
    """What a log would show of errors, less the errors of the agent itself behind them."""
    for error in raised:
        shown = traceback.TracebackException.from_exception(error)
        if isinstance(error.__cause__, LeakyToolError):
            shown.__cause__ = None
        yield from shown.format()
        yield repr(error)


def spool_holds(spool: Path, *topics: str) -> bool:
    """Whether there are bytes of every topic in the spool."""
    sizes = {topic: sum(path.stat().st_size for path in spool.rglob(f"*{topic}*")) for topic in topics}
    return all(size > 1000 for size in sizes.values())


def expected_rows(mode: CaptureMode, workspace: Path) -> Counter[str]:
    """Rows of one agent by table, counted on a twin that writes to memory."""
    publisher = InMemoryPublisher()
    work(make_canary("plain"), "twin", publisher, mode, workspace)
    rows: Counter[str] = Counter()
    calls: set[tuple[str, str]] = set()
    for kept in publisher.records:
        if kept.type == "ToolCallRecord":
            calls.add((kept.record["run_id"], kept.record["tool_use_id"]))
        else:
            rows.update(TABLES_OF[kept.type][:1])
        rows["evaluations"] += kept.type == "DecisionEvent"
        rows["context_items"] += len(kept.record.get("included", ())) + len(kept.record.get("excluded", ()))
    rows["tool_calls"] = len(calls)
    assert set(rows) == LANDING_TABLES
    return rows


def wait_until_landed(database: Reader, labels: list[str], rows: Counter[str], *parts: Part) -> None:
    """Every row of every agent is in ClickHouse."""
    ours = " OR ".join(f"startsWith(agent_id, '{label} ')" for label in labels)

    def missing() -> dict[str, int]:
        return {
            table: count
            for table, expected in rows.items()
            if (count := expected * len(labels) - counted(database, f"SELECT count() FROM {table} WHERE {ours}")) > 0  # noqa: S608 - our tables
        }

    wait_for(lambda: not missing(), lambda: f"rows that are missing: {missing()}", *parts)


def counted(database: Reader, sql: str) -> int:
    count: int = database.rows(sql)[0][0]
    return count
