"""The user's request, from whatever form the agent has it in."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tachograph.producers import checks
from tachograph.producers.capture import CapturePolicy
from tachograph.producers.checks import Label
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.ids import Ids
from tachograph.schemas.enums import ConstraintType

_RULE_LIMIT = 4096
_CONTEXT = ("channel", "repo", "branch", "ticket_id")


def request_body(
    request: Any,
    constraints: Iterable[Any],
    *,
    always: Iterable[Any],
    refused: Callable[[Exception], None],
    policy: CapturePolicy,
    label: Label,
    ids: Ids,
    channel: str,
) -> dict[str, Any]:
    """Plain Avro form of a request: a text, a mapping or a Request model, with further constraints.

    Constraints that hold for every request come first. One that is refused is left out, unless ``refused`` raises.
    """
    given = _given(request)
    context = _part(given, "context") or {}
    places = {name: _part(context, name) for name in _CONTEXT}
    places["channel"] = places["channel"] or channel
    own = _part(given, "constraints") or ()
    return {
        "request_id": checks.maybe_name(_part(given, "request_id"), label) or ids.uuid(),
        "user_request_raw": policy.text(raw_text(request)).text,
        "constraints": list(_constraints([*always, *own, *constraints], label, refused)),
        "context": {name: checks.maybe_name(place, label, 1024) for name, place in places.items()},
    }


def _constraints(given: Iterable[Any], label: Label, refused: Callable[[Exception], None]) -> Iterator[dict[str, Any]]:
    for place, item in enumerate(given):
        try:
            made = _constraint(item, place, label)
        except Exception as error:  # noqa: BLE001 - the guard decides; the request itself must not be lost for it
            refused(error)
        else:
            yield made


def raw_text(request: Any) -> str:
    """What the user asked for, before it is captured."""
    return str(_part(_given(request), "user_request_raw") or "")


def _given(request: Any) -> Any:
    return {"user_request_raw": request} if isinstance(request, str) or request is None else request


def _constraint(given: Any, place: int, label: Label) -> dict[str, Any]:
    if isinstance(given, str):
        given = {"rule": given}
    rule = _part(given, "rule")
    if not isinstance(rule, str) or not rule:
        raise RecordRefusedError("constraints", "each has a rule: a named check, an expression or a sentence")
    kind = checks.member("constraints.type", _part(given, "type") or ConstraintType.OTHER, ConstraintType)
    return {
        "id": checks.maybe_name(_part(given, "id"), label) or f"constraint.{place}",
        "type": kind.value,
        "rule": label(rule, _RULE_LIMIT),
    }


def _part(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
