"""Evidence of a finding: where it is in the event, and a name from there if that shows no secret."""

from typing import Final

from tachograph.processors.evaluate.secrets import first_secret

_LONGEST: Final = 200


def excerpt(where: str, name: str) -> str:
    """Pointer with a short name (a path, a host, a rule). A name that may hold a secret is left out."""
    if first_secret(name) is not None:
        return where
    return f"{where}: {''.join(c if c.isprintable() else '?' for c in name[:_LONGEST])}"
