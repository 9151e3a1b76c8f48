"""Workers come, go and are killed while records flow, and nobody can tell from the outputs."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tachograph.schemas.settings import Settings
from tests.pipeline.records import RECORDS_PER_RUN, Sent, mixed_records
from tests.processors.pipeline import Pipeline, terminate

pytestmark = [pytest.mark.stack, pytest.mark.timeout(420)]

RECORDS = 50_000
SHARES = 8
"""Parts in which the records are published, so that there is something to do at every change."""


@pytest.fixture
def pipeline(servers: Settings, tmp_path: Path) -> Iterator[Pipeline]:
    made = Pipeline(servers, tmp_path)
    made.create_topics()
    yield made
    made.stop()


class Flow:
    """Publishes share after share, and waits for the group to get on with it."""

    def __init__(self, pipeline: Pipeline, records: list[Sent]) -> None:
        self._pipeline = pipeline
        self._records = records
        self._size = -(-len(records) // SHARES)
        self._published = 0

    def publish(self) -> None:
        share = self._records[self._published : self._published + self._size]
        self._pipeline.publish_raw([(record.key, record.value) for record in share])
        self._published += len(share)

    def processed(self) -> int:
        return sum(self._pipeline.committed().values())

    def go_on(self, *workers: "subprocess.Popen[bytes]") -> None:
        """Publish a share, and return when half of it, and so all before it, is processed."""
        self.publish()
        enough = self._published - self._size // 2
        self._pipeline.wait_until(lambda: self.processed() >= enough, *workers)

    def finish(self, *workers: "subprocess.Popen[bytes]") -> None:
        while self._published < len(self._records):
            self.publish()
        self._pipeline.wait_until(lambda: self.processed() >= len(self._records), *workers)


def test_outputs_are_those_of_one_undisturbed_worker(pipeline: Pipeline) -> None:
    """From one worker to three to one while 50,000 records flow, and two are killed: every output, once, the same."""
    records = list(mixed_records(RECORDS, pipeline.id))
    assert len(records) >= RECORDS > RECORDS - RECORDS_PER_RUN
    flow = Flow(pipeline, records)

    def start(name: str) -> "subprocess.Popen[bytes]":
        # A static member that was killed and starts again has its partitions back at once; one that stays away is
        # missed after the session's time.
        return pipeline.start(worker__instance_id=name, worker__session_timeout_s="4", worker__batch_size="500")

    one = start("one")
    flow.go_on(one)
    two, three = start("two"), start("three")
    flow.go_on(one, two, three)
    flow.go_on(one, two, three)

    two.kill()
    two.wait()
    two = start("two")
    flow.go_on(one, two, three)

    three.kill()
    three.wait()
    flow.go_on(one, two)

    assert terminate(one) == 0, pipeline.log()
    flow.go_on(two)
    flow.finish(two)
    assert terminate(two) == 0, pipeline.log()

    assert pipeline.landed() == pipeline.expected()
