"""Which files the agent shows its model: those that share words with the question."""

import re
from dataclasses import dataclass
from typing import Final

from tachograph.console.demo.workspace import Workspace

RANKER: Final = ("shared-words", "1")
"""Name and version, as manifests want them."""

ENOUGH: Final = 0.3
"""Files that score less are left out."""

_WORD: Final = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Found:
    """A file and how well it fits."""

    path: str
    text: str
    score: float

    @property
    def is_relevant(self) -> bool:
        """Whether the model is to see it."""
        return self.score >= ENOUGH


def search(workspace: Workspace, query: str) -> list[Found]:
    """Every file of the workspace, the best first. The score is the share of the query's words that it has."""
    wanted = _words(query)
    found = [
        Found(path, text, round(len(wanted & _words(f"{path} {text}")) / len(wanted), 2))
        for path, text in workspace.sources().items()
    ]
    return sorted(found, key=lambda item: (-item.score, item.path))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
