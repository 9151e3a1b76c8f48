"""What a catalog with problems raises."""

from collections.abc import Sequence

from tachograph.schemas.errors import ConfigError
from tachograph.schemas.placed_yaml import Problem


class CatalogError(ConfigError):
    """The catalog cannot be used. Mend what the problems name; `tachograph catalog check` shows them again."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("the catalog cannot be used:\n" + "\n".join(map(str, self.problems)))
