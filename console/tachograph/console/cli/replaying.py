"""``tachograph replay`` and ``recording``: what was recorded, gone through again."""

import asyncio
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tachograph.console.cli.output import JsonFlag, note, print_json, print_table
from tachograph.schemas.settings import load_settings

EXIT_DIFFERS = 1

Tenant = Annotated[str, typer.Option("--tenant", help="Whose data. [default: the tenant_id setting]")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(replay)
    group = typer.Typer(help="Recordings: what an agent's code is replayed against.", no_args_is_help=True)
    group.command("export")(export)
    app.add_typer(group, name="recording")


def replay(
    name: Annotated[str, typer.Argument(metavar="RUN|RECORD", help="Id of a run, or of a sealed record.")],
    *,
    tenant: Tenant = "",
    store: Annotated[bool, typer.Option("--store/--no-store", help="Keep the results in the table replays.")] = True,
    as_json: JsonFlag = False,
) -> None:
    """Go through a record, or a run and its records, again from the stored inputs. Nothing is executed.

    Exit codes: 0 all are replay_equal, 1 something differs or cannot be had, 2 the call or the settings are wrong.
    """
    from tachograph.console.database import reader  # noqa: PLC0415 - imported where it is used
    from tachograph.console.replay.results import publish, result_of  # noqa: PLC0415 - as above
    from tachograph.console.replay.whole import replay_all  # noqa: PLC0415 - as above

    settings = load_settings()
    with reader(settings) as database:
        outcomes = replay_all(database, settings, tenant or settings.tenant_id, name)
    if store:
        at = datetime.now(UTC)
        publish(
            settings.kafka,
            [result_of(item.about, item.result, replay_id=str(uuid.uuid4()), at=at) for item in outcomes],
        )
    shown = [
        {
            "record_id": item.about["record_id"],
            "run_id": item.about["run_id"],
            "outcome": item.result.outcome.value,
            "diffs": [diff.as_json() for diff in item.result.diffs],
            "unchecked": list(item.result.unchecked),
        }
        for item in outcomes
    ]
    _show(shown, as_json=as_json)
    if any(item["outcome"] != "replay_equal" for item in shown):
        raise typer.Exit(EXIT_DIFFERS)


def _show(shown: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(shown)
        return
    print_table(
        ["record", "run", "outcome", "differences", "unchecked"],
        [
            [
                item["record_id"] or "-",
                item["run_id"],
                item["outcome"],
                len(item["diffs"]),
                ", ".join(item["unchecked"]),
            ]
            for item in shown
        ],
    )
    for item in shown:
        for diff in item["diffs"]:
            note(f"{item['record_id'] or item['run_id']}: {diff['type']} at {diff['place']}")


def export(
    run: Annotated[str, typer.Argument(help="Id of the run.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of recordings; made if it is not there.")],
    *,
    tenant: Tenant = "",
    workspace: Annotated[
        Path, typer.Option("--workspace", help="Workspace of the agent, whose artifact folder is looked at too.")
    ] = Path(),
) -> None:
    """Write a recording that an agent's code can be run against, with no server: see docs/replay.md."""
    from tachograph.console.database import reader  # noqa: PLC0415 - imported where it is used
    from tachograph.console.replay.recording import read_recording  # noqa: PLC0415 - as above

    settings = load_settings()
    owner = tenant or settings.tenant_id

    def fetch(artifact_id: str) -> str | None:
        from tachograph.console.cli.artifacts import content_of  # noqa: PLC0415 - as above
        from tachograph.schemas.errors import TachographError  # noqa: PLC0415 - as above

        try:
            return asyncio.run(content_of(settings, owner, artifact_id, workspace)).data.decode()
        except (TachographError, UnicodeDecodeError):
            note(f"artifact {artifact_id} cannot be read here: its content is not in the recording")
            return None

    with reader(settings) as database:
        recording = read_recording(database, owner, run, fetch)
    path = recording.save(folder)
    calls = f"{len(recording.model_calls)} model calls and {len(recording.tool_calls)} tool calls"
    note(f"{path}: {calls}. `pytest --tachograph-replay {folder}` runs an agent's tests against it")
