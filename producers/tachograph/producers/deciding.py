"""What an agent says about code around that code: a decision, a quality signal, a proposal."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tachograph.producers.around import Around
from tachograph.schemas.enums import DecisionType, SignalType

if TYPE_CHECKING:
    from tachograph.producers.run import Run


class Choice(NamedTuple):
    """What was chosen, and why, as a code."""

    selected: str
    reason_code: str
    confidence: float | None = None


class Deciding(Around):
    """Made by ``Run.deciding``. Call ``choose`` in the block; a decorated function returns a Choice.

    A block that raises before it has chosen decided nothing, and nothing is recorded.
    """

    def __init__(self, run: "Run", decision_type: DecisionType | str, fields: Mapping[str, Any]) -> None:
        self._run = run
        self._decision_type = decision_type
        self._fields = dict(fields)
        self._choice: Choice | None = None
        self.event_id: str | None = None

    def choose(self, selected: str, reason_code: str, confidence: float | None = None) -> None:
        """Say what was chosen. The last word counts."""
        self._choice = Choice(selected, reason_code, confidence)

    def begin(self) -> None:
        """Nothing to do before."""

    def end(self, error: BaseException | None) -> None:
        """Record the decision. A block that ends without one is refused as a decision without a selection is."""
        if self._choice is None and error is not None:
            return
        selected, reason_code, confidence = self._choice or Choice("", "")
        self.event_id = self._run.record_decision(
            decision_type=self._decision_type,
            selected=selected,
            reason_code=reason_code,
            confidence=confidence,
            **self._fields,
        )

    def again(self) -> "Deciding":
        """The same question once more."""
        return Deciding(self._run, self._decision_type, self._fields)

    def took(self, made: Any) -> None:
        """A Choice, or a tuple of its parts."""
        if isinstance(made, tuple) and 2 <= len(made) <= len(Choice._fields):  # noqa: PLR2004 - without confidence
            self._choice = Choice(*made)


class Signalling(Around):
    """Made by ``Run.signalling``. The signal's value is ``value`` if the block sets it, else whether it did not raise.

    A decorated function that returns a boolean has said the value itself.
    """

    def __init__(self, run: "Run", signal_type: SignalType | str, signal_code: str, fields: Mapping[str, Any]) -> None:
        self._run = run
        self._signal = (signal_type, signal_code)
        self._fields = dict(fields)
        self.value: bool | None = None
        self.event_id: str | None = None

    def begin(self) -> None:
        """Nothing to do before."""

    def end(self, error: BaseException | None) -> None:
        """Record the signal."""
        signal_type, signal_code = self._signal
        value = error is None if self.value is None else self.value
        self.event_id = self._run.record_quality_signal(
            signal_type=signal_type, signal_code=signal_code, value=value, **self._fields
        )

    def again(self) -> "Signalling":
        """The same signal once more."""
        return Signalling(self._run, *self._signal, self._fields)

    def took(self, made: Any) -> None:
        """A boolean is the value."""
        if isinstance(made, bool):
            self.value = made


class Proposing(Around):
    """Made by ``Run.proposing``. ``fields`` may be filled in the block; a decorated function returns the outputs.

    A block that raises has decided nothing, and proposes nothing.
    """

    def __init__(self, run: "Run", fields: Mapping[str, Any]) -> None:
        self._run = run
        self.fields: dict[str, Any] = dict(fields)
        self.event_id: str | None = None

    def begin(self) -> None:
        """A run that was stopped proposes nothing."""
        self._run.check_going()

    def end(self, error: BaseException | None) -> None:
        """Propose the record."""
        if error is None:
            self.event_id = self._run.propose_record(**self.fields)

    def again(self) -> "Proposing":
        """The same proposal once more. Its record has an id of its own."""
        return Proposing(self._run, {name: value for name, value in self.fields.items() if name != "record_id"})

    def took(self, made: Any) -> None:
        """A mapping is the decision's outputs."""
        if isinstance(made, Mapping):
            self.fields["outputs"] = dict(made)


def names(values: Iterable[str]) -> tuple[str, ...] | str:
    """Candidates as they can be used more than once; a lone text stays one, to be refused by its name."""
    return values if isinstance(values, str) else tuple(values)
