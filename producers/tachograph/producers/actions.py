"""An action boundary around code that acts: collects artifacts, records when the code is done."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tachograph.producers.around import Around
from tachograph.schemas.enums import ActionType

if TYPE_CHECKING:
    from tachograph.producers.run import Run


class Acting(Around):
    """Made by ``Run.acting`` and ``Run.overriding``. A decorated function may return artifacts, one or a list.

    ::

        with run.acting("edit", "rename the helper") as action:
            action.artifacts.append(run.artifacts.file_edit("a.py", "def f(): ...", "def g(): ..."))
    """

    def __init__(
        self,
        run: "Run",
        action_type: ActionType | str,
        summary: str,
        artifacts: Iterable[Any],
        overrides_event_id: str | None = None,
    ) -> None:
        self._run = run
        self._action_type = action_type
        self._overrides = overrides_event_id
        self.summary = summary
        self.artifacts: list[Any] = list(artifacts)
        self.evaluation: Any = None
        self.event_id: str | None = None

    def begin(self) -> None:
        """A run that was stopped takes no more actions."""
        self._run.check_going()

    def end(self, error: BaseException | None) -> None:
        """Record the action. What raised before it did anything is a failure, not an action."""
        if error is None or self.artifacts:
            self.event_id = self._run.action(
                self._action_type,
                self.summary,
                artifacts=self.artifacts,
                evaluation=self.evaluation,
                overrides_event_id=self._overrides,
            )

    def again(self) -> "Acting":
        """The same action, with artifacts of its own."""
        return Acting(self._run, self._action_type, self.summary, self.artifacts, self._overrides)

    def took(self, made: Any) -> None:
        """Take the artifacts among what a decorated function returned."""
        for item in made if isinstance(made, (list, tuple)) else (made,):
            if hasattr(item, "content_ref") and hasattr(item, "hash"):
                self.artifacts.append(item)
