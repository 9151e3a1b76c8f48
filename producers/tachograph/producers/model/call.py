"""One model call at the boundary: the bundle as sent, what came back, how long it took."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

import orjson

from tachograph.producers import checks
from tachograph.producers.capture import CapturePolicy
from tachograph.producers.decision_event import event_body
from tachograph.producers.model.bundle import build_bundle
from tachograph.producers.model.provenance import output_body, provenance_body
from tachograph.producers.model.response import ModelResponse, RequestedCall, read_response
from tachograph.producers.model.sent import sent_hash as hash_of_sent
from tachograph.producers.redaction import Budget, Redactor
from tachograph.schemas.canonical import CanonicalError, canonical_bytes
from tachograph.schemas.enums import ActionType, CaptureMode, Provider

if TYPE_CHECKING:
    from tachograph.producers.replay.session import ServedCall
    from tachograph.producers.run import Run

_WHATEVER_WAS_SENT: Final = Redactor(budget=Budget(max_bytes=1 << 30, max_seconds=30.0))
_NANOS_PER_MS: Final = 1_000_000

F = TypeVar("F", bound=Callable[..., Any])


class ModelCall:
    """A model call in the making. Context manager, decorator, or driven by ``Run.model_call`` itself.

    ::

        with run.model_call(model="m-1", messages=messages) as call:
            call.record(client.complete(messages))
    """

    def __init__(
        self,
        run: "Run",
        *,
        model: str,
        provider: Provider | str = Provider.OTHER,
        messages: Any = None,
        system: Any = None,
        tools: Iterable[Any] | None = None,
        retrieval: Any = None,
        transformations: Iterable[Any] = (),
        parameters: Mapping[str, Any] | None = None,
        capture_mode: CaptureMode | str | None = None,
        action_type: ActionType | str | None = None,
        summary: str | None = None,
        evaluation: Any = None,
        sent_hash: str | None = None,
        reader: Callable[[Any], ModelResponse] = read_response,
    ) -> None:
        self._run = run
        self._given = {
            "model": model,
            "provider": provider,
            "messages": messages,
            "system": system,
            "tools": tools,
            "retrieval": retrieval,
            "transformations": transformations,
            "parameters": parameters,
            "capture_mode": capture_mode,
            "action_type": action_type,
            "summary": summary,
            "evaluation": evaluation,
            "sent_hash": sent_hash,
            "reader": reader,
        }
        self._response: ModelResponse | None = None
        self._bundle: dict[str, Any] | None = None
        self._left: dict[str, Any] | None = None
        """The bundle of the request that left, if somebody looked."""
        self._started = 0
        self.served: ServedCall | None = None
        """What the recording has for this call, if the run is replayed: code in a ``with`` block asks for it."""
        self.event_id: str | None = None
        """Id of the DecisionEvent, once it is recorded and kept."""

    @property
    def tool_calls(self) -> list[RequestedCall]:
        """Tool calls that the model asked for, once the response is recorded."""
        return [] if self._response is None else self._response.tool_calls

    def record(self, response: Any) -> Any:
        """Take note of the response, and return it. Text, a mapping, or a client's own object.

        In a run that is replayed the recorded response counts, and is returned.
        """
        if self.served is not None:
            self._response = self.served.response
            return self.served.result()
        try:
            self._response = self._given["reader"](response)
        except Exception as error:  # noqa: BLE001 - the guard decides
            self._response = ModelResponse()
            self._run.recorder.guard.swallow("model response", error)
        return response

    def saw_sent(self, *, messages: Any, system: Any = None, tools: Iterable[Any] | None = None, **_rest: Any) -> None:
        """Take note of what left for the provider, after whatever may have changed it on the way."""
        self._left = self._plain_bundle(messages, system, tools)

    def swallow(self, place: str, error: Exception) -> None:
        """Deal with an error of whoever reads the response."""
        self._run.recorder.guard.swallow(place, error)

    def begin(self) -> Self:
        """The call is about to be made: what is sent is read now, before anything can change it."""
        self._run.check_going()
        recorder = self._run.recorder
        try:
            self._bundle = self._sent()
            step = self._run.current_step()
            self._run.faults.saw_prompt(None if step is None else step.step_id, _bytes(self._bundle))
            if step is not None:
                step.saw_bundle(self._bundle)
        except Exception as error:  # noqa: BLE001 - the guard decides
            recorder.guard.swallow("prompt bundle", error)
        if self._run.replay is not None:
            bundle = self._bundle if self._bundle is not None else self._sent()
            self.served = self._run.replay.model_call(str(self._given["model"]), bundle)
        self._started = recorder.clock.steady_ns()
        return self

    def serve(self, revive: Callable[[ModelResponse], Any] | None = None) -> Any:
        """End a replayed call with the recorded completion. Raises what the call raised then."""
        assert self.served is not None
        try:
            result = self.served.result(revive)
        except BaseException as error:
            self.end(error)
            raise
        self._response = self.served.response
        self.end()
        return result

    async def serve_awaited(self, revive: Callable[[ModelResponse], Any] | None = None) -> Any:
        """The same for async code."""
        return self.serve(revive)

    def end(self, error: BaseException | None = None) -> None:
        """The call is over: record it. A call that failed is recorded too, with what was sent and no output."""
        run, recorder = self._run, self._run.recorder
        latency = (recorder.clock.steady_ns() - self._started) // _NANOS_PER_MS
        span_id = recorder.ids.span_id()
        around = run.position()
        response = self._response or ModelResponse()
        run.count_tokens(response)

        def body() -> dict[str, Any]:
            given = self._given
            policy = recorder.policy_for(given["capture_mode"])
            provenance = self._provenance(policy)
            run.transcript.prompted(span_id, provenance["prompt_bundle_hash"])
            return event_body(
                run,
                span_id=span_id,
                parent_span_id=around.span_id,
                step_id=None if around.step is None else around.step.step_id,
                action_type=given["action_type"] or _action(response),
                summary=given["summary"] or _summary(response, error),
                policy=policy,
                prompt_provenance=provenance,
                model_output=output_body(response, policy, recorder.label, latency),
                evaluation=given["evaluation"],
            )

        self.event_id = recorder.record("DecisionEvent", body, span_id=span_id)
        run.sample(around.step, self.event_id)

    def __enter__(self) -> Self:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)

    async def __aenter__(self) -> Self:
        return self.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)

    def __call__(self, function: F) -> F:
        """Decorate a function that calls a model: its keyword arguments are what is sent, its result the response."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                return await self.around(function, args, kwargs)

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return self.around(function, args, kwargs)

        return cast("F", called)

    def around(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function as one recorded model call. Returns an awaitable if the function does."""
        sent = {name: kwargs[name] for name in ("model", "messages", "system", "tools") if name in kwargs}
        if "messages" not in sent and self._given["messages"] is None and args:
            sent["messages"] = args[0]
        parameters = dict(self._given["parameters"] or {}) | {
            name: kwargs[name] for name in ("temperature", "top_p", "max_tokens") if name in kwargs
        }
        call = ModelCall(self._run, **(self._given | sent | {"parameters": parameters}))
        call.begin()
        if call.served is not None:  # the function is not called
            return call.serve_awaited() if inspect.iscoroutinefunction(inspect.unwrap(function)) else call.serve()
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            call.end(error)
            raise
        if inspect.isawaitable(result):
            return call._awaited(result)
        call.record(result)
        call.end()
        return result

    async def _awaited(self, pending: Awaitable[Any]) -> Any:
        try:
            result = await pending
        except BaseException as error:
            self.end(error)
            raise
        self.record(result)
        self.end()
        return result

    def _sent(self) -> dict[str, Any]:
        given = self._given
        return self._plain_bundle(given["messages"], given["system"], given["tools"])

    def _plain_bundle(self, messages: Any, system: Any, tools: Iterable[Any] | None) -> dict[str, Any]:
        given = self._given
        bundle = build_bundle(
            messages,
            system=system,
            tools=tools,
            retrieval=given["retrieval"],
            transformations=given["transformations"],
        )
        # Plain JSON data: no lone surrogates, no NaN, nothing cyclic. The redactor's budget is for what is stored, and
        # holds there, text by text; what was sent is hashed whole however large it is.
        made = _WHATEVER_WAS_SENT.plain(bundle).value
        return made if isinstance(made, dict) else build_bundle(())

    def _provenance(self, policy: CapturePolicy) -> dict[str, Any]:
        given = self._given
        bundle = self._bundle if self._bundle is not None else self._sent()
        left = given["sent_hash"]
        return provenance_body(
            bundle,
            policy,
            provider=checks.member("provider", given["provider"], Provider),
            model=checks.name("model", given["model"], self._run.recorder.label),
            parameters=given["parameters"] or {},
            sent_hash=left if left is not None or self._left is None else hash_of_sent(bundle, self._left),
        )


def _bytes(bundle: dict[str, Any]) -> bytes:
    try:
        return canonical_bytes(bundle)
    except CanonicalError:
        return orjson.dumps(bundle)


def _action(response: ModelResponse) -> ActionType:
    return ActionType.PLAN if response.tool_calls else ActionType.MESSAGE


def _summary(response: ModelResponse, error: BaseException | None) -> str:
    if error is not None:
        return f"the model call failed with {type(error).__name__}"
    if response.tool_calls:
        return f"the model asked for {', '.join(call.name for call in response.tool_calls)}"
    return "the model answered" if response.text is not None else "the model returned nothing"
