"""Writes docs/cli.md from the commands themselves: ``python -m tachograph.console.cli.reference > docs/cli.md``."""

import inspect
import sys
from collections.abc import Iterator
from typing import Any, Final

from typer.main import get_command

from tachograph.console.cli.json_shapes import SHAPES

HEAD: Final = """# The command line

`tachograph --help` shows the five things people do. Everything below is written by the program itself
(`python -m tachograph.console.cli.reference`), and a test compares the two.

**Streams.** Data goes to stdout, everything else (progress, counts, errors) to stderr. Progress bars and colours appear
on a terminal only; `NO_COLOR=1` turns colours off. Tables fit the terminal (`COLUMNS` says otherwise); where it is too
narrow, each row becomes a small list. Unprintable characters in what agents wrote are shown as escapes such as `\\x1b`,
and values over 2,000 characters are cut with a count; `--json` has them whole.

**JSON.** `--json` prints one document (`violations tail`: one object per line). Fields are added, not renamed or taken
away. Times are RFC 3339; unprintable characters are JSON escapes.

**Exit codes.**

| code | means |
|---|---|
| 0 | done |
| 1 | what was asked for failed, or a check found something wrong; stderr says what to do |
| 2 | the call or a setting is wrong; stderr names it |
| 130 | interrupted with Ctrl-C |

**Completion.** `tachograph --install-completion` for bash, zsh, fish or PowerShell; ids of runs are completed from
ClickHouse if it answers at once.

**Settings** come from the environment (`TACHOGRAPH_…`) and from the state folder (`--home`); `tachograph config show`
lists them with their meaning.
"""

HIDDEN: Final = frozenset({"--help", "--install-completion", "--show-completion"})


def reference() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for path, command in commands() for line in _described(path, command))])


def commands() -> Iterator[tuple[str, Any]]:
    """Every command there is, by the words it is called with, in the order of the alphabet."""
    from tachograph.console.cli.app import app  # noqa: PLC0415 - brings every command

    yield from sorted(_walk(get_command(app), ""))


def takes_json(command: Any) -> bool:
    """Whether a command has ``--json``."""
    return any("--json" in parameter.opts for parameter in command.params)


def _walk(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    # Groups are told by what they have: the library brings its own copy of click's classes.
    for name, command in group.commands.items():
        path = f"{before} {name}".strip()
        if hasattr(command, "commands"):
            if command.invoke_without_command:
                yield path, command
            yield from _walk(command, path)
        else:
            yield path, command


def _described(path: str, command: Any) -> Iterator[str]:
    words = [_argument(item) for item in command.params if item.param_type_name == "argument"]
    yield f"## `{' '.join(['tachograph', path, *words])}`"
    yield ""
    yield " ".join(inspect.cleandoc(command.help or "").split())
    rows = [row for item in command.params if (row := _row(item)) is not None]
    if rows:
        yield ""
        yield "| | |"
        yield "|---|---|"
        yield from rows
    if takes_json(command):
        yield ""
        yield f"`--json`: {SHAPES.get(path, 'one document.')}"
    yield ""


def _argument(item: Any) -> str:
    name = item.metavar or item.name.upper()
    return name if item.required else f"[{name}]"


def _row(item: Any) -> str | None:
    if item.opts[0] in HIDDEN or "--json" in item.opts:
        return None
    spelled = " / ".join(dict.fromkeys([*item.opts, *item.secondary_opts]))
    shown = _argument(item) if item.param_type_name == "argument" else spelled
    described = " ".join((getattr(item, "help", None) or "").split()).replace("|", "\\|")
    return f"| `{shown}` | {described} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
