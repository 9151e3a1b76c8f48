"""The witness of a tool call whose records may be made later: takes copies, and leaves the work to the sender.

What can stop the call or the run stays with the caller: hooks, metadata that is refused, faults. So do errors, and
content that cannot be copied cheaply; for those this is the plain witness.
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from tachograph.producers.channel import LateFields
from tachograph.producers.late_capture import LateCapture
from tachograph.producers.pointers import pair
from tachograph.producers.tools.conduct import Outcome, Telling
from tachograph.producers.tools.leg_bytes import leg_tail
from tachograph.producers.tools.legs import NANOS_PER_MS, RECORD_NAME, CallLegs
from tachograph.schemas.enums import ToolLeg

_SMALL: Final = 512
"""Bytes that a leg is taken to hold besides its content."""


class LateLegs(CallLegs):
    """Witness of one call in a run whose channel takes late records."""

    _is_late = False
    """The pre leg is made later."""
    _is_told = False
    """The result leg is out."""

    def handed_back(self, telling: Telling) -> None:
        """Write the result leg, unless it went with the post leg."""
        if not self._is_told:
            super().handed_back(telling)

    def _before(self, telling: Telling) -> None:
        given = telling.context.tool_input
        content = LateCapture.of(self._recorder.policy, given)
        call = None if content is None else _told_apart(given)
        if content is None or call is None:
            super()._before(telling)
            return
        self._identify(telling)
        self._call = call
        self._is_late = True
        self._run.transcript.missed()
        self._recorder.channel.emit_late(RECORD_NAME, self._tail, self._told(ToolLeg.PRE, content, None, telling))

    def _after(self, telling: Telling) -> None:
        content = None
        if telling.error is None and not telling.skipped and self._begun and not self._loops():
            content = LateCapture.of(self._recorder.policy, telling.output)
        if content is None:
            super()._after(telling)
            return
        if not self._is_late:
            self._run.transcript.missed()
        duration = telling.duration_ns // NANOS_PER_MS
        # Nothing can come between these two, now that the call is no fault: it does go back to the agent.
        result = ((ToolLeg.RESULT, None, duration, False, (), None), _SMALL, self._span_id)
        post = self._told(ToolLeg.POST, content, duration, telling)
        self._recorder.channel.emit_late(RECORD_NAME, self._tail, post, result)
        self._is_told = True
        self._run.observed.calls[telling.context.tool_use_id] = (self._tool_name, self._recorder.clock.now_micros())
        self._run.results.add_late(telling.context.tool_use_id, self._tool_name, content, duration)

    def _told(self, leg: ToolLeg, content: LateCapture, duration: int | None, telling: Telling) -> LateFields:
        # What the hooks said is read now: they may be asked again, and refused metadata is the caller's to hear of.
        if not telling.outcomes and not telling.metadata:
            return (leg, content, duration, telling.skipped, (), None), _SMALL + content.size, self._span_id
        outcomes = tuple(self._outcomes(telling.outcomes))
        metadata = self._recorder.metadata(telling.metadata)
        return (leg, content, duration, telling.skipped, outcomes, metadata), _SMALL + content.size, self._span_id

    def _tail(  # noqa: PLR0917 - the parts of one thing
        self,
        leg: ToolLeg,
        content: LateCapture | None,
        duration: int | None,
        skipped: bool,
        outcomes: Sequence[Outcome],
        metadata: dict[str, Any] | None,
    ) -> bytes:
        """Called by the sender's thread."""
        inline, pointer = (None, None) if content is None else pair(content.get())
        is_input = leg is ToolLeg.PRE
        return leg_tail(
            self._identity,
            leg,
            tool_input=inline if is_input else None,
            input_pointer=pointer if is_input else None,
            output=None if is_input else inline,
            output_pointer=None if is_input else pointer,
            duration_ms=duration,
            skipped=skipped,
            outcomes=outcomes,
            metadata=metadata,
        )


def _told_apart(given: Any) -> int | None:
    """What is the same for equal inputs. Most are flat objects, whose members are hashed: half of what JSON takes."""
    if type(given) is dict:
        try:
            return hash(frozenset(given.items()))
        except TypeError:  # a member that has members
            pass
    try:
        return hash(orjson.dumps(given, option=orjson.OPT_SORT_KEYS))
    except TypeError:  # texts or numbers that JSON does not take: the captured form tells calls apart
        return None
