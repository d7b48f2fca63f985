"""`trace_headers`: the trace of the calling program, for a service that it asks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

TRACEPARENT: Final = "traceparent"
_API: Final = "opentelemetry.trace"


def trace_headers() -> Mapping[str, str]:
    """Return the `traceparent` of the current span (W3C Trace Context); empty without one.

    Law: nothing is imported. A program with a current span has loaded OpenTelemetry's API itself.
    """
    api = sys.modules.get(_API)
    if api is None:
        return {}
    context = api.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    # The flags that version 00 defines, and no others, which a later version of the API may have.
    return {TRACEPARENT: f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 3:02x}"}
