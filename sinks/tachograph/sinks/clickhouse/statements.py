"""SQL text to statements: pure, and strict about what it replaces."""

import re
from typing import Final

from tachograph.schemas.errors import ConfigError

DATABASE_PLACEHOLDER: Final = "{database}"

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TOKEN: Final = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<quoted>'(?:[^'\\]|\\.|'')*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*")
    | (?P<end>;)
    | (?P<placeholder>\{database\})
    | (?P<other>[^-/'`";{]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def quoted_identifier(name: str) -> str:
    """A database name as SQL takes it. Raises ConfigError for anything that is not a plain word."""
    if not _IDENTIFIER.fullmatch(name):
        raise ConfigError(
            "clickhouse.database must be a plain name: letters, digits and underscores, at most 64, no digit first"
        )
    return f"`{name}`"


def statements(sql: str, *, database: str) -> list[str]:
    """The statements of a migration, without comments. ``{database}`` is replaced outside quotes and comments only."""
    target = quoted_identifier(database)
    found: list[str] = []
    current: list[str] = []
    for token in _TOKEN.finditer(sql):
        match token.lastgroup:
            case "comment":
                current.append(" ")
            case "placeholder":
                current.append(target)
            case "end":
                found.append("".join(current).strip())
                current = []
            case _:
                current.append(token.group())
    found.append("".join(current).strip())
    return [statement for statement in found if statement]
