"""The event source `csv`: lines `milliseconds,user,kind,type,part,part…` that an inventory system writes.

`1795233666254,alice,CREATE,dataset,ns1,purchases`.
"""

from __future__ import annotations

import hashlib

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from spark_sync.ledger.event import ChangeKind, EntityEvent, Stage
from spark_sync.sources.line_reader import LineReading, bytes_of
from spark_sync.sources.source import EventSource

TYPES = {"namespace": 1, "application": 2, "dataset": 2}
"""The entity types that are believed, and how many parts each has."""
LEAST = 5


def read(line: str, settings: SourceSettings, instance: str) -> LineReading:
    """Read a line; a malformed one is rejected with the reason."""
    fields = line.split(",")
    if len(fields) < LEAST:
        return LineReading("has fewer than 5 fields")
    time, user, kind, entity_type, *parts = fields
    if not (time.isascii() and time.isdigit() and int(time) > 0):
        return LineReading("its time cannot be read")
    if not user:
        return LineReading("names no user")
    if kind not in {each.value for each in ChangeKind}:
        return LineReading("is neither a creation nor a deletion")
    if TYPES.get(entity_type) != len(parts):
        return LineReading("is of a type that is not believed")
    event = EntityEvent(
        entity=EntityId(entity_type, tuple(parts)),
        kind=ChangeKind(kind),
        # The inventory reports only new entities, like CDAP's own audit messages.
        stage=Stage.MESSAGE,
        user=user,
        started=int(time),
        ended=int(time),
        source=settings.name,
        # A line that is repeated is one event.
        id=hashlib.sha256(bytes_of(line)).hexdigest(),
        received=int(time),
    )
    return LineReading(None, (event,))


CSV = EventSource(read, rank=5)
