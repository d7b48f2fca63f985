"""OpenTelemetry traces, sent if the standard `OTEL_*` variables ask for it; nothing of it is imported if not."""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

TRACEPARENT: Final = "traceparent"


class TraceIds(NamedTuple):
    """Ids of a trace (128 bits) and of a span (64 bits), neither of them zero; W3C Trace Context."""

    trace: int
    span: int


def ids_of_check(stamp: str) -> TraceIds | None:
    """Return the ids of the span of the check with that stamp, in every program; None if it is not the id of a stamp.

    Law: the stamp cannot be found from them. Who knew it and could store records could testify to the request.
    """
    if not re.fullmatch(r"[0-9a-f]{32}", stamp, re.ASCII):
        return None
    digest = hashlib.sha256(b"ranger-cdap trace of a check\0" + stamp.encode()).digest()
    return TraceIds(int.from_bytes(digest[:16]) or 1, int.from_bytes(digest[16:24]) or 1)


def ids_of_event(event: str) -> TraceIds | None:
    """Return the ids of the span of the check that an event of the ledger names; None if it names none."""
    return ids_of_check(event.rpartition("#")[2])
