"""Bodies of RecordProposal: rare, deep and to be sealed, so the model itself checks them."""

from collections.abc import Mapping
from typing import Any, Final

from tachograph.producers import checks
from tachograph.producers.avro_bytes import ENVELOPE
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.recorder import Recorder
from tachograph.schemas.canonical import CanonicalError, sealed_bytes
from tachograph.schemas.enums import CaptureMode

_STAND_IN: Final = {
    "tenant_id": "-",
    "agent_id": "-",
    "event_id": "-",
    "trace_id": "-",
    "run_id": "-",
    "seq": 0,
    "occurred_at": "1970-01-01T00:00:00Z",
}


def proposal_body(recorder: Recorder, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The proposal, less the envelope. Secrets in its texts are redacted; nothing is hashed, for it must be judged."""
    from tachograph.schemas.models.record import RecordProposal  # noqa: PLC0415 - not at import: it would double the cost
    from tachograph.schemas.wire.convert import to_avro  # noqa: PLC0415 - not at import: it would double the cost

    given = {"record_id": recorder.ids.uuid(), **{key: plain(value) for key, value in fields.items()}}
    # Before redaction, which would write a number that is too large as text and so hide it.
    _check_outputs(given.get("outputs", {}))
    policy = recorder.policy
    if policy.mode is not CaptureMode.FULL:
        given = policy.redactor.value(given, key_names=False).value
    body = to_avro(checks.fits("proposal", RecordProposal, given | _STAND_IN))
    return {name: value for name, value in body.items() if name not in ENVELOPE}


def _check_outputs(outputs: Any) -> None:
    reason = ""
    try:
        sealed_bytes(outputs)
    except CanonicalError as error:
        reason = error.reason.value
    if reason:
        raise RecordRefusedError("outputs", f"have no exact form ({reason}): write numbers with a point as text")


def plain(value: Any) -> Any:
    """Models as plain data, with exact decimals as text and times as RFC 3339."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    isoformat = getattr(value, "isoformat", None)
    if callable(isoformat):
        return isoformat()
    return str(value) if type(value).__name__ == "Decimal" else value
