"""Where the example catalog is that ships with the package."""

from pathlib import Path
from typing import Final

_INSTALLED: Final = Path(__file__).parent / "decisions"
_IN_THE_TREE: Final = Path(__file__).parents[4] / "catalog" / "decisions"


def decisions_folder() -> Path:
    """The wheel puts the tree's ``catalog/`` beside the code."""
    return _INSTALLED if _INSTALLED.is_dir() else _IN_THE_TREE
