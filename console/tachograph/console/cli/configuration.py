"""``tachograph config``: which settings are in force, what they mean, where they would be set."""

from typing import Any

import typer
from pydantic import BaseModel, SecretStr

from tachograph.console.cli.output import JsonFlag, print_json, print_table
from tachograph.schemas.settings import ENV_PREFIX, load_settings

MASK = "********"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Settings in force.", no_args_is_help=True)
    group.command("show")(show)
    app.add_typer(group, name="config")


def show(*, as_json: JsonFlag = False) -> None:
    """Show every setting, its value, and the variable that sets it. Secrets are masked."""
    rows = settings_rows(load_settings())
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["setting", "value", "variable", "meaning"],
            [[row["setting"], row["value"], row["variable"], row["meaning"]] for row in rows],
        )


def settings_rows(model: BaseModel, prefix: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Every leaf of a settings tree."""
    rows: list[dict[str, Any]] = []
    for name, info in type(model).model_fields.items():
        value, path = getattr(model, name), (*prefix, name)
        if isinstance(value, BaseModel):
            rows += settings_rows(value, path)
        else:
            rows.append(
                {
                    "setting": ".".join(path),
                    "value": _shown(value),
                    "variable": ENV_PREFIX + "__".join(path).upper(),
                    "meaning": " ".join((info.description or "").split()),
                }
            )
    return rows


def _shown(value: object) -> object:
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else "(not set)"
    return value if isinstance(value, bool | int | float | None) else str(value)
