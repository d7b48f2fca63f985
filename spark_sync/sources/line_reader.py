"""`read_line`: the content of one line of a source, and the checks common to all sources. Without Spark.

A line is rejected if it cannot be read or trusted, names an entity that CDAP cannot have, or is too far in the future.
The readable events of a rejected line are kept: they may be the only trace of a creation, which must not go unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Final

from ranger_cdap.cdap.creations import ChangeKind, load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from ranger_cdap.ranger_model.strict_json import HALF, LONGEST
from ranger_cdap.wire.record_events import RecordedChange, is_well_formed
from spark_sync.ledger.event import NEVER, EntityEvent, Outcome, Stage

MOST_AHEAD: Final = 900_000
"""Milliseconds by which the clock of a source may be ahead of ours."""

TOO_EARLY: Final = f"its time is more than {MOST_AHEAD // 60_000} minutes in the future; is a clock wrong?"
INCOMPLETE: Final = "the source returned an incomplete event"

SHOWN: Final = 500
"""Characters of a line in its dead letter."""

UNREADABLE_USER: Final = "?"
"""Placeholder for an unreadable user name; no user has that name, and nothing is granted to it."""

_TEXTS: Final = ("id", "user", "requester", "clock", "check", "request", "version", "child", "refused", "caller")
_TYPES: Final = [EntityId, ChangeKind, Stage, Outcome, int, int, int, int, *(str for _ in _TEXTS)]
_values: Final = attrgetter("entity", "kind", "stage", "outcome", "started", "ended", "received", "requested", *_TEXTS)


@dataclass(frozen=True, slots=True)
class LineReading:
    """Content of a line: the reason of a rejection, and its events; those of a rejected line are `Stage.REJECTED`.

    `shown`: the part of the line that dead letters may show; all of it if `None`.
    """

    rejected: str | None = None
    events: tuple[EntityEvent, ...] = ()
    shown: str | None = None


LineReader = Callable[[str, SourceSettings, str], LineReading]
"""Reads a line of a source of a CDAP instance, without the checks of `read_line`. Pure; never raises."""


def read_line(reader: LineReader, raw: bytes, settings: SourceSettings, instance: str, now: int) -> LineReading:
    """Return the content of a line, each event once and checked; `now` is in epoch milliseconds.

    Of a line that is too long only the ends are read. `shown` is the text for its dead letter, if it is rejected.
    """
    line = (raw if len(raw) <= LONGEST else raw[:HALF] + raw[-HALF:]).decode("utf-8", "surrogateescape")
    reading = reader(line, settings, instance)
    if reading.rejected is None and not reading.events:  # as most lines
        return reading
    return checked_reading(line, reading, settings.name, now)


def checked_reading(line: str, reading: LineReading, source: str, now: int) -> LineReading:
    """Return what a reader found in a line of that source, as far as it can be believed."""
    once: dict[str, EntityEvent] = {}
    for event in reading.events:
        once.setdefault(event.id, event)
    complete = [event for event in once.values() if _is_complete(event)]
    well_formed = [event for event in complete if event.entity.type in _types() and is_well_formed(event.entity)]
    reason = (
        reading.rejected
        or (INCOMPLETE if len(complete) < len(once) else None)
        or _bad_name(complete, well_formed)
        or _too_early(complete, now)
    )
    counting = [
        event if event.source == source else replace(event, source=source)
        for event in well_formed
        if not load_creations().skips(event.entity)
    ]
    if reason is None:
        return LineReading(None, tuple(counting))
    raw = bytes_of(line)
    name = hashlib.sha256(raw).hexdigest()
    # A change that did not happen is irrelevant.
    kept = (event for event in counting if event.user and event.outcome is not Outcome.NOTHING)
    shown = raw.decode("utf-8", "replace") if reading.shown is None else reading.shown
    return LineReading(reason, tuple(_as_rejected(event, name, now) for event in kept), shown[:SHOWN])


def event_id(name: str, change: RecordedChange | EntityEvent) -> str:
    """Return the id of an event in the line of that name: one change to one entity by one check."""
    version = f"@{change.version}" if change.version else ""
    check = f"#{change.check}" if change.check else ""
    return f"{name}#{change.kind}#{change.entity}{version}{check}"


def bytes_of(line: str) -> bytes:
    """Return the bytes of a line; those that were not UTF-8 are low surrogates in it (`surrogateescape`)."""
    try:
        return line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return line.encode("utf-8", "surrogatepass")


def is_unicode(text: str) -> bool:
    """Return whether a text has no bytes that were not UTF-8, so that it can be stored."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def bad_name(entity: EntityId) -> str:
    """Return the reason for rejecting a line that names such an entity."""
    return f"`{str(entity)[:120]}` is not a valid CDAP name"


@cache
def _types() -> frozenset[str]:
    """Return the types of entities that have creators."""
    return frozenset(kind.name for kind in load_creations().entities)


def _is_complete(event: EntityEvent) -> bool:
    """Return whether each field has a value of its type: a reader may be that of a plugin."""
    values = _values(event)
    if list(map(type, values)) != _TYPES or not {str}.issuperset(map(type, event.entity.parts)):
        return False
    return is_unicode("".join(values[-len(_TEXTS) :]))


def _bad_name(events: Collection[EntityEvent], well_formed: Collection[EntityEvent]) -> str | None:
    if len(events) == len(well_formed):
        return None
    said = (event for event in events if event.outcome is not Outcome.NOTHING)
    return next((bad_name(event.entity) for event in said if event not in well_formed), None)


def _too_early(events: Iterable[EntityEvent], now: int) -> str | None:
    latest = now + MOST_AHEAD
    ahead = any(event.started > latest or NEVER != event.ended > latest for event in events)
    return TOO_EARLY if ahead else None


def _as_rejected(event: EntityEvent, name: str, now: int) -> EntityEvent:
    """Return the event of a rejected line: implausible times are unknown, and the process's clock is not used.

    Its id is derived from the whole line, so that it never replaces a trusted event.
    """
    started, ended = event.started, event.ended
    if not 0 < started <= min(ended, now + MOST_AHEAD):
        started, ended = 0, NEVER
    elif ended > now + MOST_AHEAD:
        ended = NEVER
    unknown = replace(
        event, stage=Stage.REJECTED, outcome=Outcome.UNCLEAR, started=started, ended=ended, clock="", requested=0
    )
    return replace(unknown, id=event_id(f"rejected-{name}", event))
