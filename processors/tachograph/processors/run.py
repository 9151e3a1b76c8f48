"""Starts a worker, waits, and stops it."""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any, Final

from tachograph.processors.app import build_app
from tachograph.processors.batch import BatchProcessor
from tachograph.processors.core import Core
from tachograph.processors.errors import WorkerCrashedError
from tachograph.processors.evaluate import RulePacks
from tachograph.processors.limits import DeadLetterLimits
from tachograph.processors.metrics import WorkerMetrics
from tachograph.processors.names import TopicNames
from tachograph.processors.outputs import Outputs
from tachograph.processors.preflight import prepare
from tachograph.processors.replay import Replay, parse_start
from tachograph.processors.status import WorkerStatus
from tachograph.processors.timed import TimedEvaluator
from tachograph.processors.worker import Worker
from tachograph.schemas.settings import Settings
from tachograph.schemas.status_server import StatusServer
from tachograph.schemas.wire import Codec
from tachograph.schemas.wire.registry import ConfluentRegistry

_STOP_S: Final = 8.0
"""Seconds for leaving the group and closing connections once all work is committed."""

_QUIET_LOGGERS: Final = ("faust", "mode", "aiokafka")
"""Their debug lines print keys and values of messages, so they are never let below WARNING."""

log = logging.getLogger(__name__)


def run_worker(settings: Settings, *, names: TopicNames | None = None, replay_from: str | None = None) -> None:
    """Run until SIGTERM or SIGINT, then finish the batch in hand, commit and return.

    Raises a WorkerError that says what to do if it cannot start or cannot go on; whatever it had not finished is then
    unacknowledged. ``replay_from`` first moves the group back to an offset, a time or ``earliest``. Blocks; call it in
    a process of its own, from the main thread.
    """
    for name in _QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    # It warns whenever a commit takes longer than the interval between commits, which under load is no news.
    logging.getLogger("mode.timers").setLevel(logging.ERROR)
    names = names or TopicNames()
    start = None if replay_from is None else parse_start(replay_from)
    packs = RulePacks.load(settings.evaluate.rules)
    partitions = prepare(settings, names, f"{settings.worker.app_id}-runs-changelog")
    replay = Replay(settings, names)
    if replay_from is not None:
        for item in replay.rewind(start):
            log.info("partition %d is read again from %d; it was at %d", item.partition, item.after, item.before)
    written = replay.written()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run(settings, names, partitions, written, packs))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - an extra, and not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _run(
    settings: Settings, names: TopicNames, partitions: int, written: dict[int, int], packs: RulePacks
) -> None:
    registry = settings.schema_registry.url
    codec = Codec(registry=None if registry is None else ConfluentRegistry(registry))
    app = build_app(settings)
    outputs = Outputs(settings)
    metrics, own = WorkerMetrics(), settings.worker
    worker = Worker(
        app,
        names,
        settings.worker,
        partitions=partitions,
        processor=BatchProcessor(
            codec,
            names,
            DeadLetterLimits(settings.dlq),
            core=Core(TimedEvaluator(packs, metrics.evaluated), join_timeout=round(own.join_timeout_s * 1_000_000)),
        ),
        outputs=outputs,
        metrics=metrics,
        written=written,
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, _reload, packs)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    served = StatusServer.at(
        own.http_host, own.http_port, WorkerStatus(worker, metrics), setting="TACHOGRAPH_WORKER__HTTP_PORT"
    )
    try:
        with served:
            await _until_stopped(app, worker, stop)
    finally:
        try:
            async with asyncio.timeout(_STOP_S):
                await app.stop()
        except TimeoutError:
            log.warning("connections did not close in time; all work that was finished is committed")
        outputs.close()


def _reload(packs: RulePacks) -> None:
    """Read the rule packs again. Bad ones are named, and those in force stay."""
    problems = packs.reload()
    for problem in problems:
        log.error("rule packs were not changed: %s", problem)
    if not problems:
        log.info("rule packs in force: %s", packs.in_force[1])


async def _until_stopped(app: Any, worker: Worker, stop: asyncio.Event) -> None:
    starting = asyncio.ensure_future(app.start())
    stopping = asyncio.ensure_future(stop.wait())
    crashed = asyncio.ensure_future(_crash_of(app))
    try:
        ends: set[asyncio.Future[Any]] = {stopping, worker.failed, crashed}
        await asyncio.wait({starting, *ends}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            log.info("worker is ready")
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if worker.failed.done():
            worker.failed.result()
        if crashed.done():
            crashed.result()
        if starting.done():
            await worker.finish()
    finally:
        for task in (starting, stopping, crashed):
            task.cancel()


async def _crash_of(app: Any) -> None:
    """Return never, or raise when Faust itself gives up."""
    await app.wait_until_stopped()
    reason = app.crash_reason
    raise WorkerCrashedError(
        f"the connection to Kafka ended with a {type(reason).__name__}; nothing unfinished was acknowledged, so "
        "restart the worker when the broker is well again"
    ) from reason
