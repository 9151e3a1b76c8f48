"""A recording: what an agent's code needs to be run again without a model, a tool or a network.

One file of JSON lines per run: a header, then the run and its sub-agents' runs, then their calls and decisions. It
holds what has to be served (completions and tool results, in their capture mode) and only hashes of what was sent.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from tachograph.schemas.canonical import CanonicalError, canonical_bytes
from tachograph.schemas.enums import CaptureMode
from tachograph.schemas.errors import TachographError
from tachograph.schemas.models.base import Count, Frozen, Sha256

FORMAT: Final = "tachograph-recording/1"
SUFFIX: Final = ".jsonl"

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class RecordingError(TachographError):
    """Not a recording, or one that is not whole. Export it again with `tachograph recording export RUN DIR`."""


class RecordedRun(Frozen):
    """The run, or a run of a sub-agent."""

    kind: Literal["run"] = "run"
    run_id: str
    trace_id: str
    session_id: str
    agent_id: str
    agent_version: str
    parent_run_id: str | None = None
    capture_mode: CaptureMode
    request_hash: Sha256
    """Of the user's request in its capture mode."""
    status: str
    started_at: Count
    """Microseconds since 1970, as every time here."""


class RequestedTool(Frozen):
    """A tool call that the model asked for."""

    tool_call_id: str
    name: str
    arguments: JsonValue = None


class RecordedModelCall(Frozen):
    """A completion, and the hashes by which its prompt is known again."""

    kind: Literal["model_call"] = "model_call"
    run_id: str
    event_id: str
    began_at: Count
    ended_at: Count
    provider: str
    model: str
    capture_mode: CaptureMode
    prompt_bundle_hash: Sha256 | None
    """Of the bundle as sent."""
    captured_hash: Sha256
    """Of the bundle as captured: what a prompt that repeats redacted content is known by."""
    text: str | None = None
    structured: JsonValue = None
    tool_calls: tuple[RequestedTool, ...] = ()
    completion_id: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    error_type: str | None = None
    """The call failed with an error of this class."""
    is_whole: bool = True
    """Nothing of the content was cut off, or left behind in an artifact store."""


class RecordedToolCall(Frozen):
    """What a tool returned or raised, and the hash by which its input is known again."""

    kind: Literal["tool_call"] = "tool_call"
    run_id: str
    tool_use_id: str
    tool_name: str
    began_at: Count
    ended_at: Count
    capture_mode: CaptureMode
    input_hash: Sha256 | None
    """None if the input lies in an artifact store and was not fetched: the call is then known by its tool only."""
    output: JsonValue = None
    error_type: str | None = None
    error: str | None = None
    skipped: bool = False
    """A hook skipped it."""
    is_whole: bool = True


class RecordedDecision(Frozen):
    """A choice the agent made: codes only."""

    kind: Literal["decision"] = "decision"
    run_id: str
    decided_at: Count
    decision_hash: Sha256


Entry = Annotated[RecordedRun | RecordedModelCall | RecordedToolCall | RecordedDecision, Field(discriminator="kind")]
_ENTRY: Final[TypeAdapter[Any]] = TypeAdapter(Entry)


class Recording(Frozen):
    """Everything that was recorded of a run, ready to be served."""

    run_id: str
    runs: tuple[RecordedRun, ...]
    model_calls: tuple[RecordedModelCall, ...] = ()
    tool_calls: tuple[RecordedToolCall, ...] = ()
    decisions: tuple[RecordedDecision, ...] = ()

    @property
    def run(self) -> RecordedRun:
        """The run itself."""
        return next(run for run in self.runs if run.run_id == self.run_id)

    def save(self, folder: Path) -> Path:
        """Write the recording into a folder; returns its file. One of the same run is replaced."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (file_name(self.run_id) + SUFFIX)
        entries = (*self.runs, *self.model_calls, *self.tool_calls, *self.decisions)
        lines = [orjson.dumps({"format": FORMAT, "run_id": self.run_id, "entries": len(entries)})]
        lines += [orjson.dumps(entry.model_dump(mode="json")) for entry in entries]
        path.write_bytes(b"\n".join(lines) + b"\n")
        return path

    @classmethod
    def load(cls, path: Path) -> "Recording":
        """Read a recording from its file."""
        try:
            header, *lines = path.read_bytes().splitlines()
            said = orjson.loads(header)
            entries = [_ENTRY.validate_json(line) for line in lines]
            if said["format"] != FORMAT or said["entries"] != len(entries):
                raise RecordingError(f"{path.name} is not a whole recording: export it again")
            return made(said["run_id"], entries)
        except OSError as error:
            raise RecordingError(f"{path.name} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, ValidationError):
            raise RecordingError(f"{path.name} is not a recording of format {FORMAT}: export it again") from None


def made(run_id: str, entries: Iterable[Any]) -> Recording:
    """A recording from its entries, each kind in the order in which things happened."""
    found = list(entries)

    def of(kind: type[Any], key: str) -> tuple[Any, ...]:
        return tuple(sorted((item for item in found if isinstance(item, kind)), key=lambda item: getattr(item, key)))

    recording = Recording(
        run_id=run_id,
        runs=of(RecordedRun, "started_at"),
        model_calls=of(RecordedModelCall, "began_at"),
        tool_calls=of(RecordedToolCall, "began_at"),
        decisions=of(RecordedDecision, "decided_at"),
    )
    if run_id not in {run.run_id for run in recording.runs}:
        raise RecordingError("the start of the run is not in its recording: was the run recorded whole?")
    return recording


def load_folder(folder: Path) -> list[Recording]:
    """Every recording of a folder, by file name."""
    if not folder.is_dir():
        raise RecordingError(f"{folder} is not a folder of recordings")
    return [Recording.load(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def file_name(run_id: str) -> str:
    """A name for a run's file: its id, or a hash of it where the id would be no good name."""
    return run_id if _PLAIN_NAME.fullmatch(run_id) else "run-" + hashlib.sha256(run_id.encode()).hexdigest()[:32]


def text_hash(text: str) -> str:
    """Hash of content in its captured form."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def data_hash(value: Mapping[str, Any]) -> str:
    """Hash of plain data, the same whatever the order of its members."""
    try:
        return hashlib.sha256(canonical_bytes(value)).hexdigest()
    except CanonicalError:
        return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def decision_hash(decision_type: str, selected: str, reason_code: str) -> str:
    """Hash of a decision's codes."""
    return data_hash({"decision_type": decision_type, "selected": selected, "reason_code": reason_code})


def bundle_hash(bundle: Mapping[str, Any]) -> str:
    """Hash of a prompt bundle as captured, in the shape a DecisionEvent carries it."""
    return data_hash(
        {
            "messages": [[item["role"], item["content"]] for item in bundle["messages"]],
            "retrieval": [
                bundle["retrieval"]["enabled"],
                list(bundle["retrieval"]["sources"]),
                bundle["retrieval"]["snippets"],
            ],
            "tools": [[item["name"], item["description"], item["schema"]] for item in bundle["tools"]],
            "transformations": [[item["type"], item["summary"]] for item in bundle["transformations"]],
        }
    )
