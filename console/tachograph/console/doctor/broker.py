"""Whether the broker is there, its topics are what the contract says, schemas can be read, and who is behind."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tachograph.console.doctor.finding import Finding, fail, ok, skipped, warn
from tachograph.deploy.errors import BrokerUnreachable, TopicConflict
from tachograph.deploy.topics import plan_topics
from tachograph.schemas.errors import TachographError, UnknownSchemaError
from tachograph.schemas.settings import Settings
from tachograph.schemas.topics import DLQ, EVENTS, TOPICS, Topic
from tachograph.schemas.wire.catalogue import load_catalogue
from tachograph.schemas.wire.registry import ConfluentRegistry

_QUIET: Final = {"log_level": 0}
_NO_BROKER: Final = "the broker does not answer"


def check_broker(settings: Settings, topics: Sequence[Topic] = TOPICS) -> Iterator[Finding]:
    """Broker, topics and lag, in that order; what stands on a broken thing is skipped."""
    kafka = settings.kafka
    try:
        changes = plan_topics(kafka, topics)
    except BrokerUnreachable:
        todo = "start it with `tachograph up`, or set TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS and __SECURITY_PROTOCOL"
        yield fail("kafka.broker", f"no broker answers at {kafka.address}", todo)
        yield from (skipped(name, _NO_BROKER) for name in ("kafka.topics", "lag.worker", "lag.sink", "lag.snapshots"))
        return
    except TopicConflict as error:
        yield ok("kafka.broker", f"answers at {kafka.address}")
        yield fail("kafka.topics", str(error), "set TACHOGRAPH_KAFKA__PARTITIONS to what the topics have")
        yield from check_lag(settings)
        return
    yield ok("kafka.broker", f"answers at {kafka.address}")
    absent = [change.topic for change in changes if change.action == "create"]
    differing = [change.topic for change in changes if change.action == "configure"]
    if absent:
        yield fail("kafka.topics", f"missing: {', '.join(absent)}", "run `tachograph topics apply`")
    elif differing:
        yield warn("kafka.topics", f"configured otherwise: {', '.join(differing)}", "run `tachograph topics apply`")
    else:
        yield ok("kafka.topics", f"all {len(changes)} are there, with {kafka.partitions} partitions each")
    if EVENTS.name in absent:
        yield from (skipped(f"lag.{name}", "topics are missing") for name in ("worker", "sink", "snapshots"))
    else:
        yield from check_lag(settings)


def check_schemas(settings: Settings) -> Iterator[Finding]:
    """Every schema of the contract is in the package and sound, and the registry answers if there is one."""
    names = sorted({schema for topic in TOPICS for schema in topic.schemas})
    try:
        catalogue = load_catalogue()
        unknown = [name for name in names if name not in catalogue.names]
        for name in catalogue.names:
            catalogue.latest(name).plain  # noqa: B018 - parses it
    except (TachographError, ValueError, OSError) as error:
        yield fail("schemas", f"cannot be read ({type(error).__name__})", "reinstall tachograph")
        return
    if unknown:
        yield fail("schemas", f"not in the package: {', '.join(unknown)}", "reinstall tachograph")
        return
    url = settings.schema_registry.url
    if url:
        try:
            ConfluentRegistry(url).schema_of(1)  # asks and registers nothing
        except UnknownSchemaError:
            pass
        except TachographError as error:
            yield fail(
                "schemas",
                f"the registry does not answer as it should: {error}",
                "check TACHOGRAPH_SCHEMA_REGISTRY__URL, or unset it: schemas travel in the package",
            )
            return
    yield ok("schemas", f"{len(names)} record types; {'the registry answers' if url else 'no registry is needed'}")


def check_lag(settings: Settings) -> Iterator[Finding]:
    """How far worker, sink and snapshot step are behind, and whether anybody is at work."""
    admin = AdminClient(settings.kafka.client(**_QUIET))
    landing = [topic.name for topic in TOPICS if topic.table is not None and topic is not DLQ]
    groups = (
        ("worker", settings.worker.app_id, [EVENTS.name]),
        ("sink", settings.sink.group_id, landing),
        ("snapshots", settings.snapshots.group_id, [EVENTS.name]),
    )
    for name, group, topics in groups:
        try:
            yield _lag(admin, settings, name, group, topics)
        except KafkaException as error:
            yield fail(f"lag.{name}", f"the broker would not tell ({error.args[0].name()})", "look at the broker's log")


def _lag(admin: AdminClient, settings: Settings, name: str, group: str, topics: Sequence[str]) -> Finding:
    timeout = settings.kafka.request_timeout_ms / 1000
    committed = _committed(admin, group, timeout)
    ends = _ends(admin, _places(admin, topics, timeout), timeout)
    behind = sum(max(0, end - max(committed.get(place, 0), 0)) for place, end in ends.items())
    members = _members(admin, group, timeout)
    start = f"start one with `tachograph {name}`; its log is named by `tachograph status`"
    if members == 0:
        detail = f"no {name} is at work, {behind:,} messages wait"
        return fail(f"lag.{name}", detail, start) if behind else warn(f"lag.{name}", detail, start)
    if behind > settings.doctor.max_lag:
        detail = f"{behind:,} messages behind, with {members} at work"
        return fail(f"lag.{name}", detail, f"start another with `tachograph {name}`, or look at its log")
    return ok(f"lag.{name}", f"{behind:,} messages behind, {members} at work")


def _places(admin: AdminClient, topics: Sequence[str], timeout: float) -> list[tuple[str, int]]:
    found = admin.list_topics(timeout=timeout).topics
    return [(topic, partition) for topic in topics if topic in found for partition in found[topic].partitions]


def _ends(admin: AdminClient, places: Sequence[tuple[str, int]], timeout: float) -> dict[tuple[str, int], int]:
    asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}  # type: ignore[no-untyped-call]
    answers: dict[TopicPartition, Any] = admin.list_offsets(asked, request_timeout=timeout) if asked else {}
    return {(place.topic, place.partition): answer.result().offset for place, answer in answers.items()}


def _committed(admin: AdminClient, group: str, timeout: float) -> dict[tuple[str, int], int]:
    (answer,) = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)], request_timeout=timeout
    ).values()
    return {(place.topic, place.partition): place.offset for place in answer.result().topic_partitions or ()}


def _members(admin: AdminClient, group: str, timeout: float) -> int:
    (answer,) = admin.describe_consumer_groups([group], request_timeout=timeout).values()
    try:
        described = answer.result()
    except KafkaException:
        return 0  # a group that nobody ever joined
    return 0 if described.state in (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD) else len(described.members)
