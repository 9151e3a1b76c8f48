"""Records as JSON lines: whole, in the models' own form, alone or beside another publisher."""

import json
from pathlib import Path
from typing import Any

import pytest

from tachograph.producers import JsonLinesPublisher, Tracer
from tachograph.producers.testing import FixedClock, InMemoryPublisher, SequentialIds
from tachograph.schemas import models
from tachograph.schemas.wire import from_avro
from tests.producers.support import KEY, SECRET, make_tracer
from tests.producers.test_records import everything


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_record_is_a_line_that_its_model_reads(tmp_path: Path) -> None:
    """Decision events in the shape of the requirements, with a time in RFC 3339; broker and file get the same."""
    path, beside = tmp_path / "new" / "events.jsonl", InMemoryPublisher()
    everything(JsonLinesPublisher(path, beside))
    written = [line for line in lines(path) if line["record_type"] != "capture"]
    read = [getattr(models, line.pop("record_type")).model_validate(line) for line in written]
    assert read == [from_avro(getattr(models, kept.type), kept.record) for kept in beside.records]
    event = next(line for line in written if "agent_action" in line)
    assert {"schema_version", "timestamp", "session", "request", "evaluation"} <= event.keys()
    assert event["timestamp"].endswith("Z")


def test_alone_it_keeps_captures_too(tmp_path: Path) -> None:
    """A fault needs no broker; its capture is encrypted as ever. Lines are there when the call returns."""
    path = tmp_path / "events.jsonl"
    publisher = JsonLinesPublisher(path)

    def fail() -> None:
        raise OSError(SECRET)

    given = {"clock": FixedClock(), "ids": SequentialIds(), "capture_key": KEY, "strict": True}
    tracer = Tracer("coder", publisher=publisher, tools={"fail": fail}, **given)  # type: ignore[arg-type]
    with tracer, tracer.start_run("go") as run, run.step("tool", "s"):
        run.model_call(lambda **_: "ok", model="m", messages=SECRET)
        assert [line["record_type"] for line in lines(path)] == ["RunStarted", "StepStarted", "DecisionEvent"]
        with pytest.raises(OSError, match="sk-ant"):
            run.tools.execute("fail")
    [capture] = [line for line in lines(path) if line["record_type"] == "capture"]
    assert capture["headers"]["tg-capture-kind"] == "prompt"
    assert SECRET not in path.read_text()
    assert lines(path)[-1]["emitted"] == len(lines(path)) - 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Alone it drops and counts, as every publisher; beside another one it costs only its lines, said once."""
    (tmp_path / "file").write_text("")
    alone = JsonLinesPublisher(tmp_path / "file" / "events.jsonl")
    with make_tracer(publisher=alone, strict=False).start_run() as run:
        run.no_op("nothing to do")
    assert (run.recorder.channel.dropped, alone.stats().spooled) == (2, 0)
    assert alone.stats().dropped >= 2
    kept = InMemoryPublisher()
    beside = JsonLinesPublisher(tmp_path / "file" / "events.jsonl", kept)
    with make_tracer(publisher=beside).start_run() as run:
        run.no_op("nothing to do")
    assert len(kept.records) == beside.stats().spooled == 3
    assert caplog.text.count("was not written (FileExistsError)") == 1
