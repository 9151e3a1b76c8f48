"""Spans and logs, gathered by who acted, as the requests that a collector takes. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from tachograph.sinks.otlp.values import attributes

SCOPE: Final = "tachograph"


class Exported(StrEnum):
    """The two signals that are sent, as the path of a collector names them."""

    TRACES = "traces"
    LOGS = "logs"


Actor = tuple[tuple[str, str], ...]
"""Attributes of a resource."""


@dataclass(frozen=True, slots=True)
class Item:
    """A span or a log, and who acted."""

    actor: Actor
    told: Span | LogRecord


def actor_of(row: Mapping[str, str], names: Mapping[str, str]) -> Actor:
    """The resource of a row: tenant, agent, version, environment, as far as the row knows them."""
    return tuple((name, row[column]) for column, name in names.items() if row.get(column))


def batches(items: Iterable[Item], most: int, most_bytes: int) -> Iterator[Sequence[Item]]:
    """Items in order, in batches of at most so many items and about so many bytes."""
    batch: list[Item] = []
    size = 0
    for item in items:
        bytes_of_it = item.told.ByteSize()
        if batch and (len(batch) >= most or size + bytes_of_it > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += bytes_of_it
    if batch:
        yield batch


def request_of(signal: Exported, items: Sequence[Item], version: str, schema_url: str) -> bytes:
    """The body of a request."""
    scope = InstrumentationScope(name=SCOPE, version=version)
    by_actor: dict[Actor, list[Item]] = {}
    for item in items:
        by_actor.setdefault(item.actor, []).append(item)
    if signal is Exported.TRACES:
        return ExportTraceServiceRequest(
            resource_spans=[
                ResourceSpans(
                    resource=_resource(actor),
                    scope_spans=[
                        ScopeSpans(
                            scope=scope,
                            spans=[item.told for item in found if isinstance(item.told, Span)],
                            schema_url=schema_url,
                        )
                    ],
                    schema_url=schema_url,
                )
                for actor, found in by_actor.items()
            ]
        ).SerializeToString()
    return ExportLogsServiceRequest(
        resource_logs=[
            ResourceLogs(
                resource=_resource(actor),
                scope_logs=[
                    ScopeLogs(
                        scope=scope,
                        log_records=[item.told for item in found if isinstance(item.told, LogRecord)],
                        schema_url=schema_url,
                    )
                ],
                schema_url=schema_url,
            )
            for actor, found in by_actor.items()
        ]
    ).SerializeToString()


def rejected_of(signal: Exported, body: bytes) -> int:
    """How many items the collector took and threw away. Raises DecodeError if it answered something else."""
    if signal is Exported.TRACES:
        return int(ExportTraceServiceResponse.FromString(body).partial_success.rejected_spans)
    return int(ExportLogsServiceResponse.FromString(body).partial_success.rejected_log_records)


def _resource(actor: Actor) -> Resource:
    return Resource(attributes=attributes(actor))
