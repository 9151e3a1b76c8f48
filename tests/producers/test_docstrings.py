"""What docstrings of the API show is run: an example that does not work is worse than none."""

import asyncio
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tachograph.producers import (
    AttributionScope,
    AuditTrail,
    CapturePolicy,
    HookMatcher,
    HookRegistry,
    JsonLinesPublisher,
    Run,
    ToolExecutor,
    Tracer,
    current_run,
)
from tachograph.producers.actions import Acting
from tachograph.producers.artifacts import ArtifactBuilder
from tachograph.producers.hooks.audit import AuditHook
from tachograph.producers.hooks.commands import DangerousCommandHook
from tachograph.producers.hooks.paths import PathScopeHook
from tachograph.producers.hooks.threads import in_thread
from tachograph.producers.manifest import ContextBuilder
from tachograph.producers.model.call import ModelCall
from tachograph.producers.testing import InMemoryPublisher
from tests.producers.support import make_tracer, validated
from tests.producers.test_records import PROPOSAL

SHOWN: list[Any] = [
    Tracer,
    Tracer.start_run,
    Tracer.tool,
    Run.step,
    Run.model_call,
    Run.action,
    Run.acting,
    Run.no_op,
    Run.override,
    Run.overriding,
    Run.record_decision,
    Run.deciding,
    Run.record_quality_signal,
    Run.signalling,
    Run.context,
    Run.record_manifest,
    Run.propose_record,
    Run.proposing,
    Acting,
    ContextBuilder,
    ModelCall,
    AttributionScope,
    AuditHook,
    DangerousCommandHook,
    JsonLinesPublisher,
    PathScopeHook,
    ToolExecutor,
    ToolExecutor.aexecute,
    ToolExecutor.call,
    ToolExecutor.execute,
    ToolExecutor.tool,
    in_thread,
]


def example(documented: Any) -> str:
    """The code after ``::`` in a docstring."""
    text = inspect.getdoc(documented) or ""
    _, found, rest = text.partition("::\n\n")
    assert found, f"{documented.__qualname__} shows no use"
    kept = []
    for line in rest.splitlines():
        if line and not line.startswith("    "):
            break
        kept.append(line)
    return textwrap.dedent("\n".join(kept))


class Client:
    """Stands for a model's client."""

    def create(self, **_: Any) -> str:
        return "fine"

    complete = staticmethod(lambda _messages: "fine")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Everything that an example may take for granted."""
    publisher = InMemoryPublisher()
    monkeypatch.setattr("tachograph.producers.tracer._spool", lambda _address: publisher)
    tracer = make_tracer(publisher, tools={"search": lambda query: f"nothing about {query}"})
    trail = AuditTrail("s", tmp_path)
    with tracer.start_run("What is the weather?") as run, run.step("tool", "look it up") as step:
        planned = run.action("plan", "deploy to production")
        yield {
            **{kind.__name__: kind for kind in SHOWN if inspect.isclass(kind)},
            "CapturePolicy": CapturePolicy,
            "HookMatcher": HookMatcher,
            "Path": Path,
            "ask_the_policy_server": lambda _context: None,
            "client": Client(),
            "current_run": current_run,
            "in_thread": in_thread,
            "messages": [{"role": "user", "content": "hi"}],
            "planned": planned,
            "proposal": PROPOSAL,
            "registry": HookRegistry(),
            "run": run,
            "search": lambda query="", **_: f"nothing about {query}",
            "step": step,
            "tracer": tracer,
            "trail": trail,
        }
    trail.close()
    validated(publisher)


@pytest.mark.parametrize("documented", SHOWN, ids=lambda item: item.__qualname__)
def test_what_a_docstring_shows_works(documented: Callable[..., Any], names: dict[str, Any]) -> None:
    """Run as it stands, in a run that is under way; functions that it defines are called."""
    code = example(documented)
    before = set(names)
    if "await " in code:
        exec("async def main():\n" + textwrap.indent(code, "    "), names)  # noqa: S102 - our own text
        asyncio.run(names["main"]())
        return
    exec(code, names)  # noqa: S102 - our own text
    arguments = {"after_an_error": 1, "decide": {"cents": 1200}, "is_valid": {"content": "x"}, "rename": "def f(): ..."}
    for name in set(names) - before - {"__builtins__"}:
        if inspect.isfunction(names[name]):
            names[name](arguments.get(name, "What is the weather?"))


def test_every_artifact_says_what_it_is() -> None:
    """Builders have one line each; the page shows them."""
    public = [name for name in dir(ArtifactBuilder) if not name.startswith("_")]
    assert all(inspect.getdoc(getattr(ArtifactBuilder, name)) for name in public)
