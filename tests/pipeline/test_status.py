"""Worker and sink, asked over HTTP while they work; and their logs, which hold nothing that was said."""

import json
from pathlib import Path

import pytest

from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import row_topic
from tests.pipeline.processes import Part, pipeline, wait_for
from tests.pipeline.records import mixed_records
from tests.pipeline.test_exactly_once import send
from tests.status_pages import free_ports, get, is_ready, samples, total

pytestmark = pytest.mark.stack

CANARY = "canary-of-the-status-test"


def wait_ready(port: int, *parts: Part) -> None:
    wait_for(lambda: is_ready(port), lambda: str(get(port, "readyz")), *parts)


def test_worker_and_sink_say_how_they_are(stack: Settings, tmp_path: Path) -> None:
    """Ready when they are; then counts, sizes, times, runs and lags that come down to nothing; and clean logs."""
    worker_port, sink_port = free_ports()
    settings = {
        "TACHOGRAPH_WORKER__HTTP_PORT": str(worker_port),
        "TACHOGRAPH_SINK__HTTP_PORT": str(sink_port),
        "TACHOGRAPH_LOG_FORMAT": "json",
    }
    with pipeline(stack, tmp_path, **settings) as (worker, sink):
        wait_ready(worker_port, worker, sink)
        wait_ready(sink_port, worker, sink)
        before, landed_before = samples(worker_port), samples(sink_port)
        records = list(mixed_records(240, CANARY))
        send(stack, [*records, records[0]._replace(value=CANARY.encode())])

        def worked() -> bool:
            found = samples(worker_port)
            lags = [value for (name, _), value in found.items() if name == "tachograph_worker_lag"]
            done = total(found, "tachograph_worker_records_total") - total(before, "tachograph_worker_records_total")
            return done == len(records) and len(lags) == stack.kafka.partitions and not any(lags)

        wait_for(worked, lambda: get(worker_port, "metrics")[1], worker, sink)
        found = samples(worker_port)
        for name, least in {
            "tachograph_worker_dead_letters_total": 1,
            "tachograph_worker_batch_records_sum": len(records) + 1,
            "tachograph_worker_batch_seconds_count": 1,
            "tachograph_worker_outputs_total": len(records) + 1,
        }.items():
            assert total(found, name) - total(before, name) >= least, name
        assert total(found, "tachograph_worker_runs") >= len(records) / 12

        topic = row_topic("tool_calls")

        def landed() -> bool:
            now = samples(sink_port)
            lags = [value for (name, labels), value in now.items() if name == "tachograph_sink_lag" and topic in labels]
            rows = total(now, "tachograph_sink_rows_total") - total(landed_before, "tachograph_sink_rows_total")
            return rows > len(records) and len(lags) == stack.kafka.partitions and not any(lags)

        wait_for(landed, lambda: get(sink_port, "metrics")[1], worker, sink)
        assert get(worker_port, "healthz") == get(sink_port, "healthz") == (200, "ok\n")
        pages = "".join(get(port, page)[1] for port in (worker_port, sink_port) for page in ("metrics", "readyz"))
        assert (worker.stop(), sink.stop()) == (0, 0)
    logs = (tmp_path / "worker.log").read_text() + (tmp_path / "sink.log").read_text()
    lines = [json.loads(line) for line in logs.splitlines()]
    assert any("is a dead letter" in line["message"] for line in lines)
    assert {"time", "level", "logger", "message"} <= set(lines[0])
    assert CANARY not in logs + pages
