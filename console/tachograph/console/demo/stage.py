"""What the scenarios are played on: a tracer as any agent has one, with the stories' clock and a scratch repository."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tachograph.console.demo.agent import CodingAgent
from tachograph.console.demo.clock import StoryClock
from tachograph.console.demo.model import Answer, ScriptedModel
from tachograph.console.demo.publisher import WatchedPublisher
from tachograph.console.demo.tools import hooks, tools
from tachograph.console.demo.workspace import Workspace
from tachograph.producers import AttributionScope, Run, Tracer
from tachograph.producers.ids import Ids
from tachograph.producers.options import TracerOptions
from tachograph.producers.publishing import Publisher
from tachograph.schemas.settings import Settings

AGENT: Final = "demo-coder"
SCOPE: Final = {"id": "constraint.scope", "type": "scope", "rule": "paths_within('src/**', 'tests/**')"}
LOOP_THRESHOLD: Final = 3
"""Identical tool calls that are still no loop. An agent of your own has ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One demo."""

    tracer: Tracer
    publisher: WatchedPublisher
    clock: StoryClock
    workspace: Workspace
    suffix: str
    """Makes the names of runs and sessions unique."""
    runs: list[Run] = field(default_factory=list)
    """Runs so far, in order."""

    @contextmanager
    def working_on(
        self,
        name: str,
        request: str,
        ticket: str,
        constraints: tuple[Mapping[str, str], ...],
        answers: Sequence[Answer],
    ) -> Iterator[tuple[Run, CodingAgent]]:
        """A run for a ticket, as a session of its own, on a branch of its own, and the agent that works on it."""
        branch = f"agent/{ticket}"
        self.workspace.start_branch(branch)
        run = self.tracer.start_run(
            {
                "request_id": f"req_{ticket}",
                "user_request_raw": request,
                "context": {"channel": "cli", "repo": "acme/parser", "branch": branch, "ticket_id": ticket},
            },
            constraints=constraints,
            run_id=f"run_{name}_{self.suffix}",
            session_id=f"session_{name}_{self.suffix}",
        )
        self.runs.append(run)
        with run, AttributionScope(task_id=ticket):
            yield run, CodingAgent(run, ScriptedModel(self.clock, *answers), self.workspace)


@contextmanager
def stage(
    settings: Settings,
    publisher: Publisher,
    *,
    started_at: datetime,
    suffix: str,
    audit: Path | None = None,
    ids: Ids | None = None,
) -> Iterator[Stage]:
    """Set it up, and take it down. Leaving the block closes the tracer and the publisher."""
    watched, clock = WatchedPublisher(publisher), StoryClock(started_at)
    with TemporaryDirectory(prefix="tachograph-demo-") as folder:
        workspace = Workspace(Path(folder))
        named: dict[str, Any] = {"agent_id": AGENT, "agent_version": "1.0.0", "tenant_id": settings.tenant_id}
        with Tracer(
            **named,
            environment="local",
            publisher=watched,
            capture_key=settings.home / "keys" / "capture.key",
            tools=tools(workspace, clock),
            hooks=hooks(workspace),
            audit=audit or False,
            options=TracerOptions(loop_threshold=LOOP_THRESHOLD),
            clock=clock,
            ids=ids,
            strict=True,  # a demo that records less than it shows should fail
        ) as tracer:
            yield Stage(tracer=tracer, publisher=watched, clock=clock, workspace=workspace, suffix=suffix)
