"""Tracer: what an agent makes once, and starts its runs with."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from tachograph.producers import checks, lifetimes, position
from tachograph.producers.clock import Clock, SystemClock
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.guard import Guard
from tachograph.producers.hooks.types import HookRegistry
from tachograph.producers.ids import Ids, RandomIds
from tachograph.producers.labels import Labels
from tachograph.producers.options import TracerOptions
from tachograph.producers.publishing import Publisher
from tachograph.producers.workspace import WorkspaceArtifacts
from tachograph.schemas.enums import CaptureMode, Environment
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.trace_ids import ForeignParent, parse_traceparent, trace_id_of

if TYPE_CHECKING:  # importing the tracer must be cheap; what a run needs is imported when there is one
    from tachograph.producers.audit import AuditTrail
    from tachograph.producers.capture import ArtifactWriter, CapturePolicy
    from tachograph.producers.captures import CaptureKey
    from tachograph.producers.encoding import RecordEncoder
    from tachograph.producers.recorder import Recorder
    from tachograph.producers.replay import Recording, Replay, Revival
    from tachograph.producers.replay.session import RunReplay
    from tachograph.producers.run import Run
    from tachograph.producers.run_start import RunStart
    from tachograph.producers.tools.executor import ToolExecutor
    from tachograph.schemas.wire.registry import SchemaRegistry

F = TypeVar("F", bound=Callable[..., Any])

SDK: Final = "tachograph-python/0.1.0"


class Tracer:
    """Records what an agent does. Make one per process and agent; it is safe to use from many threads.

    ::

        tracer = Tracer(agent_id="support", agent_version="2.0.0", tools={"search": search})
        with tracer.start_run("What is the weather?") as run:
            with run.step("tool", "look it up"):
                run.tools.execute("search", {"query": "weather"})

    ``publisher`` keeps and sends records; unless given, a spool under ``.tachograph/spool`` that sends to the broker of
    the settings (``TACHOGRAPH_KAFKA__…``), or to ``bootstrap_servers``. ``constraints`` are those of your policy: they
    stand in every run, before the request's own. ``capture`` is a policy or a mode; with a mode, content over 64 KB
    goes to ``artifacts``, sealed, by default below ``.tachograph/artifacts``. ``audit`` turns on the trail of JSON
    lines: True, or its folder. ``capture_key`` encrypts fault captures: a key, a key file, or None for
    ``.tachograph/keys/capture.key``. ``strict`` raises the recorder's own errors: True always, False never, None under
    pytest only.
    """

    def __init__(
        self,
        agent_id: str,
        agent_version: str = "0",
        *,
        tenant_id: str = "default",
        environment: Environment | str = Environment.UNKNOWN,
        bootstrap_servers: str | None = None,
        publisher: Publisher | None = None,
        constraints: Iterable[Any] = (),
        capture: "CapturePolicy | CaptureMode | str | None" = None,
        artifacts: "ArtifactWriter | None" = None,
        capture_key: "CaptureKey | Path | None" = None,
        tools: Mapping[str, Any] | None = None,
        hooks: HookRegistry | None = None,
        audit: bool | Path = False,
        options: TracerOptions | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        strict: bool | None = None,
        registry: "SchemaRegistry | None" = None,
    ) -> None:
        from tachograph.producers.capture import CapturePolicy  # noqa: PLC0415 - see above

        self.guard = Guard(strict=strict)
        self.options = options or TracerOptions()
        self.policy = (
            capture
            if isinstance(capture, CapturePolicy)
            else CapturePolicy(_mode(capture), writer=artifacts if artifacts is not None else WorkspaceArtifacts())
        )
        self.tools = dict(tools or {})
        self.hooks = hooks if hooks is not None else HookRegistry()
        self._labels = Labels(self.policy)
        self.agent_id = checks.name("agent_id", agent_id, self._labels)
        self.agent_version = checks.name("agent_version", agent_version, self._labels)
        self.tenant_id = checks.name("tenant_id", tenant_id, self._labels)
        self.environment = checks.member("environment", environment, Environment)
        self._require_controlled(self.policy.mode)
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._key = capture_key
        self._audit = audit
        self._registry = registry
        self._encoder: RecordEncoder | None = None
        if publisher is not None and bootstrap_servers is not None:
            raise ConfigError("a tracer is given a publisher, or the address that its own publishes to, not both")
        self._constraints = tuple(constraints)
        self._publisher = publisher if publisher is not None else _spool(bootstrap_servers)
        self._replay: Replay | None = None
        lifetimes.close_at_exit()

    @property
    def publisher(self) -> Publisher:
        """Where records go."""
        return self._publisher if self._replay is None else self._replay.publisher

    def start_run(
        self,
        request: Any = None,
        *,
        constraints: Iterable[Any] = (),
        session_id: str | None = None,
        run_id: str | None = None,
        trace_id: str | None = None,
        traceparent: str | None = None,
        channel: str = "sdk",
        capture_mode: CaptureMode | str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Run":
        """A run for a request: a text, a mapping, or a Request. Use it in a ``with`` block, plain or async.

        ::

            with tracer.start_run("What is the weather?", constraints=["answer in one sentence"]) as run:
                run.no_op("nobody asked")

            @tracer.start_run()  # each call is a run; its first argument is the request
            def answer(question):
                return current_run().model_call(client.create, model="m-1", messages=question)

        Constraints are mappings with ``id, type, rule``, Constraint models, or rules as text. A run started inside
        another is its sub-agent's: it shares the session and names the other as its parent. Decorate functions before
        a replay begins: inside of one, asking for a run takes a recorded one.

        ``traceparent`` is the W3C header of a request that this run answers: the run joins its trace, below its span.
        ``trace_id`` may be any name; one that is no W3C trace id is turned into one (``trace_ids.trace_id_of``).
        """
        from tachograph.producers.request import raw_text  # noqa: PLC0415 - see above
        from tachograph.producers.run import Run  # noqa: PLC0415 - see above
        from tachograph.producers.run_start import RunStart  # noqa: PLC0415 - see above

        constraints = tuple(constraints)
        again = partial(
            self.start_run,
            constraints=constraints,
            session_id=session_id,
            trace_id=trace_id,
            traceparent=traceparent,
            channel=channel,
            capture_mode=capture_mode,
            metadata=metadata,
        )
        policy, labels = self.policy, self._labels
        if capture_mode is not None:
            mode = checks.member("capture_mode", capture_mode, CaptureMode)
            self._require_controlled(mode)
            policy = policy.with_mode(mode)
            labels = Labels(policy)
        parent = position.current_run()
        served: RunReplay | None = None
        if self._replay is not None:  # the ids of then: an agent may have shown them to a model
            inside = None if parent is None or parent.replay is None else parent.run_id
            served = self._replay.run(inside, raw_text(request), policy)
            policy, run_id, trace_id = served.policy, served.recorded.run_id, served.recorded.trace_id
            session_id, traceparent = served.recorded.session_id, None
        run_id = checks.maybe_name(run_id, labels) or self._ids.uuid()
        foreign = self._foreign(traceparent)
        named = checks.maybe_name(trace_id, labels)  # redacted first: a hash of a short secret could be guessed
        trace_id = trace_id_of(named) if named else self._ids.trace_id()
        session_id = checks.maybe_name(session_id, labels) or (parent.session_id if parent is not None else run_id)
        start = RunStart(
            run_id=run_id,
            trace_id=trace_id if foreign is None else foreign.trace_id,
            session_id=session_id,
            parent_span_id=None if foreign is None else foreign.span_id,
            parent_run_id=None if parent is None else parent.run_id,
            session_body={
                "session_id": session_id,
                "run_id": run_id,
                "agent_id": self.agent_id,
                "agent_version": self.agent_version,
                "environment": self.environment.value,
            },
            request_body=self._request(request, constraints, policy, labels, channel),
            metadata=metadata,
            sdk=SDK,
            at=self._clock.now_micros(),
        )
        run = Run(self, self._recorder(start, policy, labels), start, served)
        run.again = lambda asked: again(asked if request is None else request)
        return run

    def tool(self, function: F, name: str | None = None) -> F:
        """Make a function a tool of this agent, called like a function, plain or async. A decorator.

        ::

            @tracer.tool
            def search(query):
                return f"nothing about {query}"

            with tracer.start_run("What is the weather?"):
                search("weather")  # recorded, with hooks and attribution; outside of a run it is only called

        Models may call it by its name, too: ``run.tools.execute("search", {"query": "weather"})``.
        """
        from tachograph.producers.tools.decorated import FunctionTool, through  # noqa: PLC0415 - see above

        chosen = name or function.__name__
        self.tools[chosen] = tool = FunctionTool(function)

        def executor() -> "tuple[ToolExecutor, str] | None":
            run = position.current_run()
            if run is None:
                return None
            if run.tools.tools.setdefault(chosen, tool) is tool:
                return run.tools, chosen
            # A run of another agent, which has a tool of that name itself.
            run.tools.tools[f"{self.agent_id}.{chosen}"] = tool
            return run.tools, f"{self.agent_id}.{chosen}"

        return through(executor, tool, function)

    def replaying(self, run_id: str, recording: "Recording | Path", *, revival: "Revival | None" = None) -> "Replay":
        """Run the agent's code against a recording: a context manager.

        ``recording`` is a Recording, its file, or the folder that `tachograph recording export RUN DIR` wrote it to.
        Inside the block the runs of this tracer are served: models and tools are not called, the network is refused,
        nothing is published. Pre-hooks run, post-hooks do not: outputs were recorded as they left them. The first
        difference raises ReplayDivergedError, at the latest when the block ends.

        ::

            with tracer.replaying("run-1", Path("recordings")):
                main(tracer)
        """
        from tachograph.producers.replay.opening import opened  # noqa: PLC0415 - see above
        from tachograph.producers.replay.session import Replay  # noqa: PLC0415 - see above

        return Replay(self, opened(recording, run_id), revival)

    def begin_replay(self, replay: "Replay") -> None:
        """Serve runs from now on. For Replay."""
        if self._replay is not None:
            raise ConfigError("this tracer is replaying already: one recording after the other")
        self._replay = replay

    def end_replay(self) -> None:
        """Record runs from now on. For Replay."""
        self._replay = None

    @property
    def _is_controlled(self) -> bool:
        return self.environment.value in self.options.full_capture_in

    def _require_controlled(self, mode: CaptureMode) -> None:
        if mode is CaptureMode.FULL and not self._is_controlled:
            raise ConfigError(
                f"capture mode full is for environments you control, and {self.environment.value} is not one: use "
                "redacted or hashed, or name it in TracerOptions(full_capture_in=...)"
            )

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the broker has everything. False if it has not in time; nothing is lost by that."""
        try:
            return self._publisher.flush(self.options.exit_timeout if timeout is None else timeout)
        except Exception as error:  # noqa: BLE001 - the guard decides
            self.guard.swallow("flush", error)
            return False

    def close(self, timeout: float | None = None) -> None:
        """Try once more to end runs whose last record was not kept, then close the publisher."""
        for run in lifetimes.open_runs():
            if run.belongs_to(self) and not run.is_open:
                run.finish()
        try:
            self._publisher.close(self.options.exit_timeout if timeout is None else timeout)
        except Exception as error:  # noqa: BLE001 - the guard decides
            self.guard.swallow("close", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def capture_key(self) -> "CaptureKey":
        """The key of fault captures; read, or made, when the first fault needs it."""
        from tachograph.producers.captures import DEFAULT_KEY_FILE, CaptureKey  # noqa: PLC0415 - see above

        if self._replay is not None:
            return self._replay.capture_key
        if not isinstance(self._key, CaptureKey):
            self._key = CaptureKey.from_file(self._key or DEFAULT_KEY_FILE)
        return self._key

    def audit_trail(self, session_id: str) -> "AuditTrail | None":
        """The trail of a session, if trails are wanted."""
        if self._audit is False or self._replay is not None:
            return None
        from tachograph.producers.audit import AuditTrail  # noqa: PLC0415 - see above

        return AuditTrail(session_id, None if self._audit is True else self._audit, clock=self._clock, guard=self.guard)

    def _recorder(self, start: "RunStart", policy: "CapturePolicy", labels: Labels) -> "Recorder":
        from tachograph.producers.channel import RunChannel  # noqa: PLC0415 - see above
        from tachograph.producers.recorder import Recorder  # noqa: PLC0415 - see above

        if self._encoder is None:
            from tachograph.producers.encoding import RecordEncoder  # noqa: PLC0415 - not at import: it would double the cost

            self._encoder = RecordEncoder(registry=self._registry)
        channel = RunChannel(
            tenant_id=self.tenant_id,
            agent_id=self.agent_id,
            trace_id=start.trace_id,
            run_id=start.run_id,
            root_span=self._ids.span_id(),
            publisher=self.publisher,
            encoder=self._encoder,
            clock=self._clock,
            ids=self._ids,
            guard=self.guard,
        )
        return Recorder(
            channel=channel,
            policy=policy,
            labels=labels,
            guard=self.guard,
            clock=self._clock,
            ids=self._ids,
            full_allowed=self._is_controlled,
        )

    def _foreign(self, traceparent: str | None) -> ForeignParent | None:
        if traceparent is None:
            return None
        foreign = parse_traceparent(traceparent) if isinstance(traceparent, str) else None
        if foreign is None:
            advice = "is a W3C header, 00-<32 digits>-<16 digits>-<2 digits>; leave it out to start a trace"
            self.guard.swallow("traceparent", RecordRefusedError("traceparent", advice))
        return foreign

    def _request(
        self, request: Any, constraints: Iterable[Any], policy: "CapturePolicy", labels: Labels, channel: str
    ) -> dict[str, Any]:
        from tachograph.producers.request import request_body  # noqa: PLC0415 - see above

        given: dict[str, Any] = {
            "always": self._constraints,
            "refused": partial(self.guard.swallow, "constraints"),
            "policy": policy,
            "label": labels,
            "ids": self._ids,
            "channel": channel,
        }
        try:
            return request_body(request, constraints, **given)
        except Exception as error:  # noqa: BLE001 - the guard decides
            self.guard.swallow("request", error)
            return request_body(None, (), **given)


def _mode(given: CaptureMode | str | None) -> CaptureMode:
    return CaptureMode.REDACTED if given is None else checks.member("capture", given, CaptureMode)


def _spool(bootstrap_servers: str | None) -> Publisher:
    from tachograph.producers.spool import SpoolOptions, SpoolPublisher  # noqa: PLC0415 - not at import: it would double the cost
    from tachograph.schemas.settings import load_settings  # noqa: PLC0415 - not at import: it would double the cost

    settings = load_settings()
    kafka = settings.kafka
    if bootstrap_servers is not None:
        kafka = kafka.model_copy(update={"bootstrap_servers": bootstrap_servers})
    return SpoolPublisher(SpoolOptions(folder=settings.home / "spool"), kafka=kafka)
