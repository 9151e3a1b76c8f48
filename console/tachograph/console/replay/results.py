"""Results of replays, as rows: written to their topic, landed by the sink, counted by SQL."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from confluent_kafka import KafkaError, Message, Producer

from tachograph.console.replay.judge import Replayed
from tachograph.schemas.errors import TachographError
from tachograph.schemas.headers import CONTENT_TYPE_AVRO, Header
from tachograph.schemas.models.base import MAX_CONTENT_BYTES
from tachograph.schemas.models.derived import ReplayResult
from tachograph.schemas.settings import KafkaSettings
from tachograph.schemas.topics import REPLAYS
from tachograph.schemas.wire import Codec, to_avro

BY: Final = "tachograph-replay/0.1.0"
_TIMEOUT_S: Final = 30


class ResultsNotStoredError(TachographError):
    """Kafka did not take the results. Replay again when the broker is well, or with --no-store."""


def result_of(stored: Mapping[str, Any], result: Replayed, *, replay_id: str, at: datetime) -> ReplayResult:
    """The row of a replayed record."""
    return ReplayResult(
        tenant_id=stored["tenant_id"],
        agent_id=stored["agent_id"],
        replay_id=replay_id,
        trace_id=stored["trace_id"],
        run_id=stored["run_id"],
        record_id=stored["record_id"],
        decision_key=stored["decision_key"],
        decision_spec=stored["decision_spec"],
        pack_version=stored["pack_version"],
        policy_versions=tuple(stored["policy_versions"]),
        outcome=result.outcome,
        diffs=_fitting(result),
        replayed_by=BY,
        replayed_at=at,
    )


def publish(kafka: KafkaSettings, results: Sequence[ReplayResult]) -> None:
    """Write results to their topic and wait for the broker."""
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer(
        kafka.client(
            **{
                "client.id": "tachograph-replay",
                "enable.idempotence": True,
                "message.timeout.ms": _TIMEOUT_S * 1000,
                "partitioner": "murmur2_random",
            }
        )
    )
    codec = Codec()
    headers: Any = [(Header.CONTENT_TYPE.value, CONTENT_TYPE_AVRO)]
    for result in results:
        value = codec.encode(REPLAYS.schemas[0], to_avro(result))
        producer.produce(
            REPLAYS.name, key=result.trace_id.encode(), value=value, headers=headers, on_delivery=delivered
        )
    left = producer.flush(_TIMEOUT_S + 5)
    if left or failed:
        reason = failed[0].name() if failed else "no answer"
        raise ResultsNotStoredError(f"Kafka did not take the results ({reason}): is the broker well?")


def _fitting(result: Replayed) -> str:
    """Differences as text, as many as a row may hold; how many there are is said in any case."""
    listed = [diff.as_json() for diff in result.diffs]
    while len(text := json.dumps(listed)) > MAX_CONTENT_BYTES:
        kept = len(listed) // 2
        listed = [*listed[:kept], {"type": "", "place": f"{len(result.diffs) - kept} more", "expected": "", "got": ""}]
    return text
