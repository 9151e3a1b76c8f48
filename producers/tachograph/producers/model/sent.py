"""Whether what was sent is what was given, and the hash that says so."""

from typing import Any

import orjson

from tachograph.schemas.canonical import CanonicalError, prompt_bundle_hash


def sent_hash(given: dict[str, Any], sent: dict[str, Any]) -> str | None:
    """Hash of the bundle that was sent. That of the given one if the two differ in spelling only.

    Clients leave out or spell out what is null and keep members in an order of their own; neither changes a prompt.
    """
    try:
        return prompt_bundle_hash(given if _bare(given) == _bare(sent) else sent)
    except CanonicalError:
        return None


def _bare(value: Any) -> Any:
    """The value without nulls, JSON inside of texts read."""
    if isinstance(value, str):
        if not value.startswith(("{", "[")):
            return value
        try:
            return _bare(orjson.loads(value))
        except orjson.JSONDecodeError:
            return value
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if item is not None}
    return [_bare(item) for item in value] if isinstance(value, list) else value
