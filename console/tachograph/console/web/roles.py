"""Who may see what. Each role may do everything the one before it may."""

from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Role of a session."""

    VIEWER = "viewer"
    """Everything but captured content."""
    AUDITOR = "auditor"
    """Captured content too; each view is recorded."""
    OPERATOR = "operator"
    """Dead letters may be sent back, too."""

    def may(self, needed: "Role") -> bool:
        """Whether this role includes the other."""
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER = list(Role)


def strongest(claim: Any) -> Role | None:
    """Role that a claim of an identity provider names: a word, or the strongest of a list; None if it names none."""
    words = claim if isinstance(claim, list) else [claim]
    found = [role for role in Role if role.value in words]
    return found[-1] if found else None
