"""The model of the demo: its answers are written down, so that no account is needed and every demo says the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tachograph.console.demo.clock import StoryClock

NAME: Final = "scripted-1"
_CHARACTERS_PER_TOKEN: Final = 4  # the usual rule of thumb for English and code


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says next, and the tool it asks for."""

    text: str
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    thinking_ms: int = 900


class ScriptedModel:
    """Gives its answers one after the other, in the shape that chat models answer in."""

    def __init__(self, clock: StoryClock, *answers: Answer) -> None:
        self._clock = clock
        self._answers = enumerate(answers, 1)

    def complete(self, messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """The next answer."""
        place, answer = next(self._answers)
        self._clock.pass_time(answer.thinking_ms)
        asked = [{"id": f"call_{place}", "name": answer.tool, "arguments": dict(answer.arguments or {})}]
        return {
            "id": f"completion_{place}",
            "content": answer.text,
            "tool_calls": asked if answer.tool is not None else [],
            "usage": {
                "input_tokens": sum(tokens(message["content"]) for message in messages),
                "output_tokens": tokens(answer.text),
            },
        }


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
