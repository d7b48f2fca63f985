"""Ids of spans that two programs know without a message between them: those of a permission check of CDAP.

CDAP's extension gives each check a stamp with a random id. The decision service traces the check under ids made of it,
and the sync job, which finds the stamp in the journal and in CDAP's record, puts the grant into the same trace.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

_STAMP: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_LINE: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class TraceIds:
    """Ids of a trace (128 bits) and of a span (64 bits), neither of them zero; W3C Trace Context."""

    trace: int
    span: int

    @property
    def trace_text(self) -> str:
        """Return the id of the trace as logs and collectors show it."""
        return f"{self.trace:032x}"


def ids_of_check(stamp: str) -> TraceIds | None:
    """Return the ids of the span of the check with that stamp; None if it is not the id of a stamp.

    Law: the stamp cannot be found from them. Who knew it and could store records could testify to the request.
    """
    if not _STAMP.fullmatch(stamp):
        return None
    digest = hashlib.sha256(b"ranger-cdap trace of a check\0" + stamp.encode()).digest()
    return TraceIds(int.from_bytes(digest[:16]) or 1, int.from_bytes(digest[16:24]) or 1)


def ids_of_event(event: str) -> TraceIds | None:
    """Return the ids of the span of the check that an event of the ledger names; None if it names none."""
    return ids_of_check(event.rpartition("#")[2])


def line_of_event(event: str) -> str:
    """Return the id of the line that an event of the ledger is of, which is a hash; empty if there is none.

    An event's own id has the name of its entity.
    """
    line = event.partition("#")[0]
    return line if _LINE.fullmatch(line) else ""
