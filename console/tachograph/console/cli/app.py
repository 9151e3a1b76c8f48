"""The command line: one file per group of commands, one place where errors become sentences and exit codes.

Exit codes: 0 done, 1 the thing asked for failed, 2 the call or the settings are wrong, 130 interrupted.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tachograph.console.cli import (
    alerts,
    artifacts,
    catalog,
    configuration,
    demonstration,
    doctor,
    evidence,
    export,
    keys,
    panels,
    pipeline,
    prices,
    reading,
    recorder,
    replaying,
    report,
    retention,
    rules,
    slo,
    stack,
    verification,
    violations,
    website,
)
from tachograph.console.cli.output import ERR
from tachograph.console.visible import visible
from tachograph.schemas.errors import ConfigError, TachographError
from tachograph.schemas.logs import TEXT_FORMAT, silence_libraries
from tachograph.schemas.settings import ENV_PREFIX

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="tachograph",
    help=(
        "The tamper-evident recorder for autonomous agents.\n\n"
        "The five things people do:\n\n"
        "* `tachograph demo`: see it work; starts everything, lets a scripted agent work, shows what came of it\n\n"
        "* `tachograph up`: start Kafka, ClickHouse and the pipeline on this machine\n\n"
        "* `tachograph runs`, then `tachograph report RUN`: what an agent asked, saw, decided and did\n\n"
        "* `tachograph console`: the same as pages in a browser, and what is going wrong right now\n\n"
        "* `tachograph doctor`: when something does not work; says what to do\n\n"
        "Data goes to stdout, the rest to stderr; `--json` wherever there is a table. Exit codes: 0 done, 1 failed, "
        "2 wrong call or setting, 130 interrupted."
    ),
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
alerts.register(app)
stack.register(app)
pipeline.register(app)
reading.register(app)
report.register(app)
export.register(app)
violations.register(app)
recorder.register(app)
replaying.register(app)
rules.register(app)
slo.register(app)
prices.register(app)
retention.register(app)
artifacts.register(app)
configuration.register(app)
catalog.register(app)
keys.register(app)
verification.register(app)
doctor.register(app)
evidence.register(app)
demonstration.register(app)
website.register(app)
panels.arrange(app)


@app.callback()
def common(
    home: Annotated[
        Path | None, typer.Option("--home", help="State folder of the local stack. [default: .tachograph]")
    ] = None,
) -> None:
    """Options of every command."""
    if home is not None:
        # Children of this process must find the same folder.
        os.environ[f"{ENV_PREFIX}HOME"] = str(home)


def run() -> None:
    """Run a command. Errors we know are sentences; anything else is a bug and keeps its traceback."""
    logging.basicConfig(level=logging.INFO, format=TEXT_FORMAT)
    silence_libraries()
    try:
        app()
    except ConfigError as error:
        _fail(error, EXIT_USAGE)
    except TachographError as error:
        _fail(error, EXIT_FAILED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)


def _fail(error: Exception, code: int) -> None:
    ERR.print(Text.assemble(("error:", "bold red"), " ", visible(str(error))), soft_wrap=True)
    sys.exit(code)
