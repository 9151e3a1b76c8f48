"""The demo's runs in the real tables, under a tenant of their own."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import click
import pytest
from typer.testing import CliRunner

from tachograph.console.cli.app import app
from tachograph.console.database import Reader, reader
from tachograph.console.demo.recording import play_stories
from tachograph.console.demo.stage import stage
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.errors import ConfigError, TachographError
from tachograph.schemas.settings import Settings
from tests.console.export.landing import Landing, Rows, stream

BEGAN = datetime(2026, 3, 4, 5, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Exported:
    """A tenant with runs, and the program."""

    settings: Settings
    tenant: str
    runs: tuple[str, ...]
    rows: Rows
    """As the worker's core made them."""
    database: Reader

    def program(self, *arguments: str, **environment: str) -> Ran:
        """Run `tachograph export …` for this tenant in this process."""
        quiet = {name: "" for name in os.environ if name.startswith("OTEL_") or name.lower().endswith("_proxy")}
        home = {"TACHOGRAPH_HOME": str(self.settings.home), "NO_COLOR": "1"}
        answer = CliRunner().invoke(
            app, ["export", *arguments, "--tenant", self.tenant], env=quiet | home | environment
        )
        code, said = answer.exit_code, answer.stderr
        if isinstance(answer.exception, TachographError):
            # As the program's outermost function has it.
            code = 2 if isinstance(answer.exception, ConfigError) else 1
            said += f"error: {answer.exception}"
        elif answer.exception is not None and not isinstance(answer.exception, (SystemExit, click.ClickException)):
            raise answer.exception
        return Ran(code, answer.stdout, said)

    def ask(self, sql: str, **more: Any) -> list[tuple[Any, ...]]:
        """Rows of a query; ``{tenant:String}`` is this tenant."""
        return [tuple(row) for row in self.database.rows(sql, {"tenant": self.tenant, **more})]


@pytest.fixture(scope="session")
def exported(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    """Every story of the demo, landed."""
    tenant, publisher = f"x{uuid4().hex[:10]}", InMemoryPublisher()
    home = tmp_path_factory.mktemp("exported")
    with stage(Settings(home=home, tenant_id=tenant), publisher, started_at=BEGAN, suffix=tenant) as on:
        play_stories(on)
        runs = tuple(run.run_id for run in on.runs)
    rows = stream(publisher)
    landing = Landing(stack)
    landing.land(rows)
    landing.close()
    with reader(stack) as database:
        yield Exported(stack, tenant, runs, rows, database)


HOUR = timedelta(hours=1)
