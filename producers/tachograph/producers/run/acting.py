"""What an agent does in a run: steps, model calls, actions and what they leave."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from tachograph.producers.actions import Acting
from tachograph.producers.decision_event import event_body
from tachograph.producers.model.call import ModelCall
from tachograph.producers.run.core import RunCore
from tachograph.producers.step import Step
from tachograph.schemas.enums import ActionType

if TYPE_CHECKING:
    from tachograph.producers.artifacts import ArtifactBuilder

T = TypeVar("T")

_RECORD_ONLY: Final = frozenset(
    {
        "provider",
        "retrieval",
        "transformations",
        "parameters",
        "capture_mode",
        "action_type",
        "summary",
        "evaluation",
        "sent_hash",
        "reader",
    }
)
"""Arguments of a model call that its function is not called with."""


class ActingRun(RunCore):
    """The boundary's methods."""

    def step(
        self, step_type: str, name: str, *, step_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Step:
        """A step: a context manager or a decorator, plain or async. Steps nest.

        ::

            with run.step("tool", "fetch_data") as step:
                step.annotate(rows=2)

            @run.step("validate", "check the answer")
            def check(answer):
                return bool(answer)

        Kinds are words: plan, tool, retrieve, validate, or your own.
        """
        return Step(self._whole, step_type, name, step_id=step_id, metadata=metadata)

    @overload
    def model_call(self, function: None = None, /, *, model: str, **fields: Any) -> ModelCall: ...

    @overload
    def model_call(self, function: Callable[..., T], /, *, model: str, **fields: Any) -> T: ...

    def model_call(self, function: Callable[..., Any] | None = None, /, *, model: str, **fields: Any) -> Any:
        """A model call at the boundary, in one of three uses.

        ::

            answer = run.model_call(client.create, model="m-1", messages=messages, temperature=0)  # call it now

            with run.model_call(model="m-1", messages=messages) as call:  # around other code
                call.record(client.create(model="m-1", messages=messages))

            @run.model_call(model="m-1")  # around each call
            def ask(messages):
                return client.create(model="m-1", messages=messages)

        With a function, it is called with ``model``, ``messages``, ``system``, ``tools`` and whatever else is given;
        ``provider, retrieval, transformations, parameters, capture_mode, action_type, summary, evaluation, sent_hash,
        reader`` are for the record only. Returns what the function returns: an awaitable, if it is async.
        """
        if function is None:
            return ModelCall(self._whole, model=model, **fields)
        recorded = {name: fields.pop(name) for name in list(fields) if name in _RECORD_ONLY}
        return ModelCall(self._whole, model=model, **recorded).around(function, (), {"model": model, **fields})

    def action(
        self,
        action_type: ActionType | str,
        summary: str,
        *,
        artifacts: Iterable[Any] = (),
        evaluation: Any = None,
        overrides_event_id: str | None = None,
    ) -> str | None:
        """Record an action boundary: an edit, a test run, a pull request, a deployment. Returns its event id.

        ::

            run.action("api_call", "asked the carrier for the parcel")
            run.action("run_tests", "ran the tests", artifacts=[run.artifacts.test_run("pytest -q", 0, passed=12)])

        Actions that involve code carry artifacts; ``run.artifacts`` builds them.
        """
        self.check_going()
        span_id = self.recorder.ids.span_id()
        around = self.position()
        return self.recorder.record(
            "DecisionEvent",
            lambda: event_body(
                self._whole,
                span_id=span_id,
                parent_span_id=around.span_id,
                step_id=None if around.step is None else around.step.step_id,
                action_type=action_type,
                summary=summary,
                policy=self.recorder.policy,
                artifacts=artifacts,
                evaluation=evaluation,
                overrides_event_id=overrides_event_id,
            ),
            span_id=span_id,
        )

    def acting(self, action_type: ActionType | str, summary: str, *, artifacts: Iterable[Any] = ()) -> Acting:
        """The same around code that does it: a context manager that collects artifacts, or a decorator.

        ::

            with run.acting("command", "listed the folder") as action:
                action.artifacts.append(run.artifacts.command("ls", 0))

            @run.acting("edit", "renamed the helper")
            def rename(text):
                return run.artifacts.file_edit("a.py", text, text.replace("f", "g"))
        """
        return Acting(self._whole, action_type, summary, artifacts)

    @property
    def artifacts(self) -> "ArtifactBuilder":
        """Builds artifacts in the run's capture mode: file edits, commands, test runs, pull requests, commits."""
        if self._artifacts is None:
            from tachograph.producers.artifacts import ArtifactBuilder  # noqa: PLC0415 - brings pydantic

            self._artifacts = ArtifactBuilder(self.recorder.policy)
        return self._artifacts

    def no_op(self, reason: str) -> str | None:
        """The agent decided to do nothing, and says why.

        ::

            run.no_op("the customer answered meanwhile")
        """
        return self.action(ActionType.NO_OP, reason)

    def override(self, event_id: str, *, reason: str, artifacts: Iterable[Any] = ()) -> str | None:
        """A human set an event aside, now or in retrospect: also one of a run that has ended, from a run of its own.

        ::

            planned = run.action("deploy", "deploy to production")
            run.override(planned, reason="a person chose staging")
        """
        return self.action(ActionType.OVERRIDE, reason, artifacts=artifacts, overrides_event_id=event_id)

    def overriding(self, event_id: str, *, reason: str, artifacts: Iterable[Any] = ()) -> Acting:
        """The same around code that does what the person wants: a context manager or a decorator, plain or async.

        ::

            with run.overriding(planned, reason="a person chose staging") as action:
                action.artifacts.append(run.artifacts.command("deploy staging", 0))
        """
        return Acting(self._whole, ActionType.OVERRIDE, reason, artifacts, event_id)
