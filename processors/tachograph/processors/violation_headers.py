"""Headers of a violation: what an alerting consumer can route and trace by without decoding it."""

import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from tachograph.schemas.headers import CONTENT_TYPE_AVRO, Header

VIOLATION_TYPE: Final = b"tachograph.Violation.v1"
"""CloudEvents type of every violation. Its kind is the topic it comes from."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID_DIGITS: Final = 16


def violation_headers(row: dict[str, Any]) -> list[tuple[str, bytes]]:
    """CloudEvents in binary mode, trace context and content type of a row of ``violations``.

    Made of the row and nothing else, so that a repeat is the same message.
    """
    headers = [
        (Header.CE_SPECVERSION.value, b"1.0"),
        (Header.CE_ID.value, row["violation_id"].encode()),
        (Header.CE_TYPE.value, VIOLATION_TYPE),
        (Header.CE_SOURCE.value, f"/tenants/{row['tenant_id']}/agents/{row['agent_id']}".encode()),
        (Header.CE_TIME.value, _rfc3339(row["occurred_at"]).encode()),
        (Header.CONTENT_TYPE.value, CONTENT_TYPE_AVRO),
    ]
    if row["run_id"]:
        # CloudEvents has no empty subject.
        headers.append((Header.CE_SUBJECT.value, row["run_id"].encode()))
    # A foreign producer's trace id may be anything; trace context takes 32 hexadecimal digits and no others.
    if _TRACE_ID.fullmatch(row["trace_id"]):
        headers.append((Header.TRACEPARENT.value, f"00-{row['trace_id']}-{_span_id(row)}-01".encode()))
    return headers


def _rfc3339(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _span_id(row: dict[str, Any]) -> str:
    """The violation as a span of its trace. Derived from its id, because a violation has no span of its own."""
    return sha256(row["violation_id"].encode()).hexdigest()[:_SPAN_ID_DIGITS]
