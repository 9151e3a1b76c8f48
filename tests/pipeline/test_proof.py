"""Runs through the whole pipeline, then what can be shown of them: replay, recordings, verification, completeness."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tachograph.console.database import reader
from tachograph.console.replay.fetch import Stores
from tachograph.console.replay.whole import replay_all
from tachograph.processors.sealing.key_set import create_keys
from tachograph.producers import Tracer
from tachograph.schemas.enums import ReplayStatus
from tachograph.schemas.settings import Settings
from tests.console.test_recorder_commands import tachograph
from tests.pipeline.processes import Part, wait_for
from tests.pipeline.refunds import TOOLS, evidence, refund, refunding

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

QUICK = {"TACHOGRAPH_SINK__BATCH_WITHIN_S": "0.05", "TACHOGRAPH_SEALER__SESSION_TIMEOUT_S": "1"}


def complete(model: str, messages: list[str]) -> str:  # noqa: ARG001 - a client's shape
    return "refund it"


def refund_agent(tracer: Tracer, record_id: str, **changes: Any) -> str:
    """Ask, look up, decide, propose."""
    tracer.tools.update(TOOLS)
    with tracer.start_run("Why was I charged twice?") as run:
        with run.step("answer", "ask the model"):
            assert run.model_call(complete, model="m-1", messages=["twice?"]) == "refund it"
        run.record_decision(decision_type="tool_selection", selected="refund", reason_code="fresh_data_required")
        refs = evidence(run)
        assert run.propose_record(**refund(refs, run, record_id=record_id, **changes))
        return run.run_id


@dataclass
class Landed:
    """Two runs in the stores, one record accepted and one deferred."""

    settings: Settings
    run_id: str
    record_id: str
    deferred: str

    def command(self, *arguments: str) -> Any:
        return tachograph(*arguments, TACHOGRAPH_HOME=str(self.settings.home))


@pytest.fixture(scope="module")
def landed(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Landed]:
    create_keys(stack)
    folder = tmp_path_factory.mktemp("proof")
    name = uuid.uuid4().hex[:8]
    accepted, deferred = f"dr_{name}_a", f"dr_{name}_b"
    parts = [Part(part, stack, folder / f"{part}.log", **QUICK) for part in ("worker", "sealer", "sink")]
    with reader(stack) as database, parts[0], parts[1], parts[2]:
        with refunding(stack, f"proof-{name}") as tracer:
            run_id = refund_agent(tracer, accepted)
            refund_agent(tracer, deferred, approvals=[])

        def there() -> bool:
            sealed = database.rows(
                "SELECT count() FROM decision_records WHERE record_id IN {ids:Array(String)}",
                {"ids": [accepted, deferred]},
            )
            ended = database.rows(
                "SELECT count() FROM agent_runs WHERE agent_id = {agent:String} AND event_type = 'run_ended'",
                {"agent": f"proof-{name}"},
            )
            calls = database.rows(
                "SELECT count() FROM tool_calls WHERE agent_id = {agent:String}", {"agent": f"proof-{name}"}
            )
            return (sealed[0][0], ended[0][0], calls[0][0]) == (2, 2, 4)

        wait_for(there, lambda: "".join(part.log_tail() for part in parts), *parts)
        yield Landed(stack, run_id, accepted, deferred)


def test_unchanged_runs_and_records_replay_equal(landed: Landed) -> None:
    """From ClickHouse, the catalog and Kafka's events; every input is there, and nothing goes unchecked."""
    with reader(landed.settings) as database:
        for name in (landed.run_id, landed.deferred):
            outcomes = replay_all(database, landed.settings, "default", name)
            assert outcomes
            for item in outcomes:
                assert (item.result.outcome, item.result.diffs, item.result.unchecked) == (ReplayStatus.EQUAL, (), ())
        packet = Stores(database, landed.settings, "default").packets(landed.record_id)[0]
    assert packet.proposal is not None
    assert (len(packet.calls), len(packet.contexts)) == (2, 3)
