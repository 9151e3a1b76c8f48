"""What is wrong with a catalog, and where."""

from collections.abc import Sequence
from dataclasses import dataclass

from tachograph.schemas.errors import ConfigError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to mend. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class CatalogError(ConfigError):
    """The catalog cannot be used. Mend what the problems name; `tachograph catalog check` shows them again."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("the catalog cannot be used:\n" + "\n".join(map(str, self.problems)))
