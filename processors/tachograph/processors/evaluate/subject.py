"""One event as the checks see it: what was said, run and touched, taken apart once and only as far as somebody asks."""

import re
from typing import Any, Final, NamedTuple

import orjson

from tachograph.processors.evaluate.facts import RunFacts

COMMAND_FIELDS: Final = ("command", "cmd", "script", "code", "args", "argv")
PATH_FIELDS: Final = ("path", "file", "file_path", "filename", "target")
MOST_COMMAND: Final = 4096
"""Characters of a command that are judged. The patterns are quadratic in hostile text: 30 ms at this size."""

HASHED: Final = "hmac:"
_STANDS_FOR: Final = (HASHED, "[ARTIFACT:", "[DROPPED:")
_CUT: Final = re.compile(r"\[TRUNCATED: \d+ bytes\]$")
_WRITES: Final = re.compile(
    r"edit|write|create|delete|remove|move|rename|patch|replace|apply|insert|update", re.IGNORECASE
)
_DIFF_PATH: Final = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?([^\t\n]+)", re.MULTILINE)
_FILE_ARTIFACTS: Final = frozenset({"file_edit", "diff"})
_DEPLOYS: Final = re.compile(
    r"\b(?:kubectl\s+(?:apply|rollout|set\s+image)|helm\s+(?:upgrade|install)|terraform\s+apply|pulumi\s+up|"
    r"serverless\s+deploy|cdk\s+deploy|flyctl\s+deploy|fly\s+deploy|gcloud\s+\S+\s+deploy|"
    r"ansible-playbook|docker\s+push|npm\s+publish|twine\s+upload|(?:make|npm\s+run|yarn)\s+deploy)\b"
)
_MERGES: Final = re.compile(r"\b(?:git\s+merge|gh\s+pr\s+merge|glab\s+mr\s+merge)\b(?!\s+--(?:abort|continue))")


class Text(NamedTuple):
    """A text of the agent and where it stands in the event."""

    where: str
    text: str
    tool_use_id: str | None = None


def is_hidden(text: str) -> bool:
    """Whether the text stands for content that is not here: a hash, a pointer or a drop."""
    return text.startswith(_STANDS_FOR)


def is_cut(text: str) -> bool:
    """Whether the end of the text is missing."""
    return text.endswith(" bytes]") and _CUT.search(text) is not None


class Subject:
    """An event taken apart."""

    __slots__ = (
        "_commands",
        "_paths",
        "_texts",
        "action_type",
        "artifacts",
        "commands_hidden",
        "environment",
        "event",
        "facts",
        "hashed",
        "output",
        "output_hidden",
        "partial",
        "paths_unknown",
        "request",
        "tool_calls",
    )

    def __init__(self, event: dict[str, Any], facts: RunFacts) -> None:
        self.event = event
        self.facts = facts
        action = event["agent_action"]
        self.action_type: str = action["action_type"]
        self.artifacts: list[dict[str, Any]] = action["artifacts"]
        self.request: dict[str, Any] = event["request"]
        self.environment: str = event["session"]["environment"] or facts.environment
        provenance, output = event["prompt_provenance"], event["model_output"]
        mode = facts.capture_mode if provenance is None else provenance["capture_mode"]
        self.hashed: bool = mode == "hashed"
        """Content was hashed; names and numbers were not."""
        self.output: str | None = None
        """What the model said, if it is here."""
        self.output_hidden: bool = False
        """The model said something, and it is not here, or not all of it."""
        self.tool_calls: list[dict[str, Any]] = []
        if output is not None:
            self.tool_calls = output["tool_calls"]
            raw = output["output_raw"]
            if raw is None:
                self.output_hidden = output["output_pointer"] is not None
            elif self.hashed or is_hidden(raw):
                self.output_hidden = True
            else:
                self.output = raw
                self.output_hidden = is_cut(raw)
        self._texts: list[Text] | None = None
        self.partial: bool = False
        """Some text of the agent is not here. Known once ``texts`` were asked for."""
        self._commands: list[Text] | None = None
        self.commands_hidden: bool = False
        """Some command is not here, or too long to be judged. Known once ``commands`` were asked for."""
        self._paths: list[Text] | None = None
        self.paths_unknown: bool = False
        """Some edit does not say which file. Known once ``paths`` were asked for."""

    @property
    def texts(self) -> list[Text]:
        """Everything that the agent or its model produced, as far as it is here."""
        if self._texts is None:
            self._texts = found = []
            self.partial = self.output_hidden
            if self.output:
                found.append(Text("model_output.output_raw", self.output))
            output = self.event["model_output"]
            if output is not None and output["output_structured"]:
                self._take("model_output.output_structured", output["output_structured"])
            for place, call in enumerate(self.tool_calls):
                if call["arguments_pointer"] is not None:
                    self.partial = True
                if call["arguments"]:
                    self._take(f"model_output.tool_calls[{place}].arguments", call["arguments"], call["tool_call_id"])
            for place, artifact in enumerate(self.artifacts):
                content = artifact["content"]
                if content:
                    self._take(f"agent_action.artifacts[{place}].content", content)
                elif artifact["content_ref"] is not None:
                    self.partial = True
        return self._texts

    def _take(self, where: str, text: str, tool_use_id: str | None = None) -> None:
        if self.hashed or is_hidden(text):
            self.partial = True
            return
        if is_cut(text):
            self.partial = True
        assert self._texts is not None
        self._texts.append(Text(where, text, tool_use_id))

    @property
    def commands(self) -> list[Text]:
        """Shell commands that were asked for or run."""
        if self._commands is None:
            found: list[Text] = []
            self._commands = found
            for place, call in enumerate(self.tool_calls):
                where = f"model_output.tool_calls[{place}].arguments"
                for command in self._commands_of(call):
                    self._judged(found, where, command, call["tool_call_id"])
            for place, artifact in enumerate(self.artifacts):
                if artifact["type"] in ("command", "test_run"):
                    content = artifact["content"]
                    if content:
                        self._judged(found, f"agent_action.artifacts[{place}].content", content, None)
                    else:
                        self.commands_hidden = True
        return self._commands

    def _judged(self, found: list[Text], where: str, command: str, tool_use_id: str | None) -> None:
        if self.hashed or is_hidden(command):
            self.commands_hidden = True
            return
        if len(command) > MOST_COMMAND or is_cut(command):
            self.commands_hidden = True
            command = command[:MOST_COMMAND]
        found.append(Text(where, command, tool_use_id))

    def _commands_of(self, call: dict[str, Any]) -> list[str]:
        arguments = self._arguments(call)
        if isinstance(arguments, str):
            return [arguments]
        if not isinstance(arguments, dict):
            return []
        found = []
        for name in COMMAND_FIELDS:
            value = arguments.get(name)
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, list):
                found.append(" ".join(map(str, value)))
        return found

    def _arguments(self, call: dict[str, Any]) -> Any:
        if call["arguments_pointer"] is not None:
            self.commands_hidden = True
        text = call["arguments"]
        if not text:
            return None
        try:
            arguments = orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
        if isinstance(arguments, dict) and len(arguments) == 1 and "dropped" in arguments:
            self.commands_hidden = True
            return None
        if self.hashed:
            self.commands_hidden = True
            return None
        return arguments

    @property
    def paths(self) -> list[Text]:
        """Files that were changed, or that the model asked to change."""
        if self._paths is None:
            self._paths = found = []
            for place, artifact in enumerate(self.artifacts):
                for path in changed_paths(artifact):
                    if path is None:
                        self.paths_unknown = True
                    else:
                        found.append(Text(f"agent_action.artifacts[{place}]", path))
            for place, call in enumerate(self.tool_calls):
                if _WRITES.search(call["name"]):
                    self._take_paths(found, place, call)
            if self.action_type == "edit" and not found:
                self.paths_unknown = True
        return self._paths

    def _take_paths(self, found: list[Text], place: int, call: dict[str, Any]) -> None:
        arguments = self._arguments(call)
        if not isinstance(arguments, dict):
            self.paths_unknown = self.paths_unknown or self.hashed
            return
        for name in PATH_FIELDS:
            value = arguments.get(name)
            if isinstance(value, str) and value:
                where = f"model_output.tool_calls[{place}].arguments.{name}"
                found.append(Text(where, normal(value), call["tool_call_id"]))

    @property
    def deploys(self) -> bool:
        """Whether this is a deployment, by its type or by its commands."""
        return self.action_type == "deploy" or any(_DEPLOYS.search(command.text) for command in self.commands)

    @property
    def merges(self) -> bool:
        """Whether this is a merge, by its type or by its commands."""
        return self.action_type == "merge" or any(_MERGES.search(command.text) for command in self.commands)


def changed_paths(artifact: dict[str, Any]) -> list[str | None]:
    """Files that an artifact says were changed; None stands for one that it does not name."""
    if artifact["type"] not in _FILE_ARTIFACTS:
        return []
    path = artifact["metadata"]["path"]
    if path:
        return [normal(path)]
    content = artifact["content"]
    if not content or is_hidden(content):
        return [None]
    named = {normal(found) for found in _DIFF_PATH.findall(content)} - {"/dev/null"}
    return [*sorted(named)] if named else [None]


def normal(path: str) -> str:
    """A path in normal form. One that climbs out of the workspace keeps its dots, so that no glob takes it in."""
    if "\\" in path:
        path = path.replace("\\", "/")
    if "./" not in path and "//" not in path and not path.endswith(("/.", "/..")):
        return path
    kept: list[str] = []
    for part in path.split("/"):
        if part == ".." and kept and kept[-1] not in ("..", ""):
            kept.pop()
        elif part not in (".", "") or (part == "" and not kept):
            kept.append(part)
    return "/".join(kept)
