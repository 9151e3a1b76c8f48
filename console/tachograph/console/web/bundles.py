"""What a model was sent, and what changed since the call before: message by message, and in tools and parameters."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

COMPARED: Final = 2000
"""Most lines of a changed message that are compared line by line; past it, the whole message counts as changed."""

PARAMETERS: Final = ("provider", "model", "temperature", "top_p", "max_tokens", "capture_mode")


@dataclass(frozen=True, slots=True)
class Change:
    """Messages that stayed, went or came; one that changed comes with its lines."""

    kind: str
    """``same``, ``removed``, ``added`` or ``changed``."""
    messages: Sequence[Any]
    lines: Sequence[tuple[str, str]] = ()
    """Of a changed message: ``+``, ``-`` or a space, and the line."""


@dataclass(frozen=True, slots=True)
class BundleDiff:
    """How a bundle differs from another."""

    messages: Sequence[Change]
    tools_added: Sequence[str]
    tools_removed: Sequence[str]
    parameters: Sequence[tuple[str, Any, Any]]

    @property
    def counts(self) -> dict[str, int]:
        """Messages by what became of them."""
        found = dict.fromkeys(("same", "added", "removed", "changed"), 0)
        for change in self.messages:
            found[change.kind] += len(change.messages) if change.kind != "changed" else 1
        return found


def bundle_diff(before: Any, after: Any) -> BundleDiff:
    """Compare two rows of ``decision_events``. In hashed mode the texts are hashes, and equality still tells."""
    old, new = ([(m["role"], m["content"]) for m in row["messages"]] for row in (before, after))
    changes: list[Change] = []
    for tag, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        gone, come = before["messages"][old_from:old_to], after["messages"][new_from:new_to]
        if tag == "equal":
            changes.append(Change("same", come))
        elif tag == "replace" and len(gone) == len(come) == 1 and gone[0]["role"] == come[0]["role"]:
            changes.append(Change("changed", come, _lines(gone[0]["content"], come[0]["content"])))
        else:
            changes += [Change(kind, found) for kind, found in (("removed", gone), ("added", come)) if found]
    old_tools, new_tools = ({tool["name"] for tool in row["tools"]} for row in (before, after))
    return BundleDiff(
        changes,
        sorted(new_tools - old_tools),
        sorted(old_tools - new_tools),
        [(name, before[name], after[name]) for name in PARAMETERS if before[name] != after[name]],
    )


def _lines(old: str, new: str) -> list[tuple[str, str]]:
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > COMPARED:
        return []
    return [(line[:1], line[2:]) for line in difflib.ndiff(before, after) if line[:1] in "+- "]
