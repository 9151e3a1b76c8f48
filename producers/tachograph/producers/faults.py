"""Faults: what triggers them, and the encrypted capture of prompt and tool outputs that each leaves.

The last prompt and the raw tool outputs of a step stay in memory, within bounds, for that purpose only.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any, Final

import orjson

from tachograph.producers import checks
from tachograph.producers.captures import CaptureKey, capture_messages
from tachograph.producers.errors import SystemErrorStop
from tachograph.producers.recorder import Recorder, error_name
from tachograph.schemas.enums import FaultTrigger, SnapshotKind

_MOST_CALLS: Final = 1024  # different calls the loop guard remembers; the oldest are forgotten
_MOST_PROMPTS: Final = 16  # steps whose last prompt is kept
_MOST_OUTPUTS: Final = 64  # tool outputs kept
_MOST_BYTES: Final = 16 * 1024 * 1024  # of all kept outputs, and of any one prompt

Stop = Callable[[str, str], SystemErrorStop]
"""Ends the run as SYSTEM_ERROR and returns what is to be raised: (sentence, what is missing)."""


class Faults:
    """Watches one run. Methods may be called from any thread; what they keep is best effort under a race."""

    def __init__(
        self, recorder: Recorder, run_id: str, key: Callable[[], CaptureKey], stop: Stop, *, loop_threshold: int
    ) -> None:
        self._recorder = recorder
        self._run_id = run_id
        self._key = key
        self._stop = stop
        self._threshold = loop_threshold
        self._calls: OrderedDict[tuple[str, Hashable], int] = OrderedDict()
        self._prompts: OrderedDict[str | None, bytes] = OrderedDict()
        self._outputs: deque[tuple[str | None, str, str | bytes]] = deque(maxlen=_MOST_OUTPUTS)
        self._output_bytes = 0
        self._too_large: deque[tuple[str | None, str]] = deque(maxlen=_MOST_OUTPUTS)
        """Step and name of what could not be held for a capture: a fault of that step says that it is missing."""

    def saw_prompt(self, step_id: str | None, prompt: bytes) -> None:
        """Keep the exact bytes of a step's last prompt."""
        self._prompts.pop(step_id, None)
        if len(prompt) <= _MOST_BYTES:
            self._prompts[step_id] = prompt
        else:
            self._too_large.append((step_id, "prompt"))
        while len(self._prompts) > _MOST_PROMPTS:
            self._prompts.popitem(last=False)

    def saw_output(self, step_id: str | None, tool_use_id: str, output: Any) -> None:
        """Keep what a tool returned, raw."""
        # A text is kept as it is, and made bytes if a fault asks for it.
        raw = output if type(output) is str and output.isascii() else _raw(output)
        if raw is None:  # what has no bytes cannot be kept as bytes
            return
        if len(raw) > _MOST_BYTES:
            self._too_large.append((step_id, f"tool_output:{tool_use_id}"))
            return
        if len(self._outputs) == _MOST_OUTPUTS:
            self._forget()
        self._outputs.append((step_id, tool_use_id, raw))
        self._output_bytes += len(raw)
        while self._output_bytes > _MOST_BYTES:
            self._forget()

    def loops(self, tool_name: str, tool_input: Hashable) -> bool:
        """Count a call. True the one time that its repeats pass the threshold. Inputs are equal if the given are."""
        call = (tool_name, tool_input)
        times = self._calls.pop(call, 0) + 1
        self._calls[call] = times
        if len(self._calls) > _MOST_CALLS:
            self._calls.popitem(last=False)
        return times == self._threshold + 1

    def fault(
        self,
        trigger: FaultTrigger,
        *,
        error: BaseException | None = None,
        error_type: str | None = None,
        message: str = "",
        step_id: str | None = None,
        span_id: str | None = None,
        tool_use_id: str | None = None,
        missing_pointer: str | None = None,
    ) -> tuple[str, ...]:
        """Capture and record a fault. Returns the capture ids; raises SystemErrorStop if a capture is not kept."""
        captured, missing = self.capture(trigger, step_id)
        self.failure(
            error=error,
            error_type=error_type,
            message=message,
            trigger=trigger,
            step_id=step_id,
            span_id=span_id,
            tool_use_id=tool_use_id,
            capture_ids=captured,
            missing_pointer=missing or missing_pointer,
        )
        if missing is not None and trigger is not FaultTrigger.SYSTEM_ERROR:
            raise self._stop("a fault's capture could not be kept, so the run cannot be explained", missing) from error
        return captured

    def failure(
        self,
        *,
        error: BaseException | None = None,
        error_type: str | None = None,
        message: str = "",
        trigger: FaultTrigger | None = None,
        step_id: str | None = None,
        span_id: str | None = None,
        tool_use_id: str | None = None,
        capture_ids: tuple[str, ...] = (),
        missing_pointer: str | None = None,
        metadata: Any = None,
    ) -> str | None:
        """Record an AgentFailure. Returns its event id, None if it was not kept."""
        recorder = self._recorder

        def body() -> dict[str, Any]:
            text = message or (_text(error) if error is not None else "")
            kind = error_type or (error_name(error) if error is not None else "Failure")
            return {
                "failure_id": recorder.ids.uuid(),
                "step_id": step_id,
                "span_id": span_id,
                "error_type": checks.name("error_type", kind, recorder.label, 200),
                "message": recorder.policy.text(text).text if text else "",
                "trigger": None if trigger is None else trigger.value,
                "tool_use_id": tool_use_id,
                "snapshots": [],
                "capture_ids": list(capture_ids),
                "missing_pointer": checks.maybe_name(missing_pointer, recorder.label, 1024),
                "metadata": recorder.metadata(metadata),
            }

        return recorder.record("AgentFailure", body, span_id=span_id)

    def capture(
        self, trigger: FaultTrigger, step_id: str | None, event_id: str | None = None
    ) -> tuple[tuple[str, ...], str | None]:
        """Publish encrypted captures of the step. Returns their ids, and the first that could not be kept."""
        kept: list[str] = []
        for kind, tool_use_id, data in self._held(step_id):
            capture_id = self._recorder.ids.uuid()
            if not self._publish(data, capture_id, kind, trigger, step_id, tool_use_id, event_id):
                return tuple(kept), f"capture:{kind.value}:{capture_id}"
            kept.append(capture_id)
        lost = next((name for step, name in tuple(self._too_large) if step == step_id), None)
        return tuple(kept), None if lost is None else f"capture:{lost}:too_large"

    def _held(self, step_id: str | None) -> list[tuple[SnapshotKind, str | None, bytes]]:
        held: list[tuple[SnapshotKind, str | None, bytes]] = []
        prompts = list(self._prompts.items())
        prompt = next((data for step, data in reversed(prompts) if step == step_id), None)
        if prompt is None and prompts:
            prompt = prompts[-1][1]  # a tool step acts on the prompt of the step before
        if prompt is not None:
            held.append((SnapshotKind.PROMPT, None, prompt))
        outputs = list(self._outputs)
        held += [
            (SnapshotKind.TOOL_OUTPUT, call, data.encode() if isinstance(data, str) else data)
            for step, call, data in outputs
            if step == step_id
        ]
        return held

    def _publish(  # noqa: PLR0917 - the parts of one thing
        self,
        data: bytes,
        capture_id: str,
        kind: SnapshotKind,
        trigger: FaultTrigger,
        step_id: str | None,
        tool_use_id: str | None,
        event_id: str | None,
    ) -> bool:
        channel = self._recorder.channel
        try:
            messages = capture_messages(
                self._key(),
                data,
                trace_id=channel.trace_id,
                run_id=self._run_id,
                capture_id=capture_id,
                kind=kind,
                trigger=trigger,
                step_id=step_id,
                tool_use_id=tool_use_id,
                event_id=event_id,
                source=channel.messages.source,
            )
        except Exception as error:  # noqa: BLE001 - without it there is less to tell, and that is all
            self._recorder.guard.note("capture", type(error).__name__)
            return False
        return all(channel.send(message) for message in messages)

    def _forget(self) -> None:
        self._output_bytes -= len(self._outputs.popleft()[2])


def _raw(output: Any) -> bytes | None:
    """The output's bytes: text as UTF-8, the rest as JSON. None where it has no bytes."""
    try:
        if isinstance(output, bytes):
            return output
        if isinstance(output, str):
            return output.encode("utf-8", "surrogatepass")
        return orjson.dumps(output, default=lambda value: f"<{type(value).__name__}>", option=orjson.OPT_NON_STR_KEYS)
    except Exception:  # noqa: BLE001 - without it there is less to tell, and that is all
        return None


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - without it there is less to tell, and that is all
        return ""
