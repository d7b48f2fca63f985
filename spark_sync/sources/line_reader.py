"""`LineReading`: the content of one line of a source, and the checks common to all line readers. Without Spark.

A line is rejected if it cannot be read or trusted, names an entity that CDAP cannot have, or is too far in the future.
The readable events of a rejected line are kept: they may be the only trace of a creation, which must not go unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from ranger_cdap.service.events.record_events import RecordedChange, is_skipped, is_well_formed
from spark_sync.ledger.event import NEVER, EntityEvent, Outcome, Stage

MOST_AHEAD: Final = 900_000
"""Milliseconds by which the clock of a source may be ahead of ours."""

TOO_EARLY: Final = f"its time is more than {MOST_AHEAD // 60_000} minutes in the future; is a clock wrong?"

UNREADABLE_USER: Final = "?"
"""Placeholder for an unreadable user name; no user has that name, and nothing is granted to it."""


@dataclass(frozen=True, slots=True)
class LineReading:
    """Content of a line: the reason of a rejection, and its events; those of a rejected line are `Stage.REJECTED`.

    `shown`: the part of the line that dead letters may show; all of it if `None`.
    """

    rejected: str | None = None
    events: tuple[EntityEvent, ...] = ()
    shown: str | None = None


LineReader = Callable[[str, SourceSettings, str, int], LineReading]
"""Reads a line of a source of a CDAP instance at a time (epoch milliseconds). Pure; never raises."""


def checked_reading(
    line: str, events: Iterable[EntityEvent], now: int, *, rejected: str | None = None, shown: str | None = None
) -> LineReading:
    """Return the reading of a line with these events, each id once; checks their names and times."""
    once: dict[str, EntityEvent] = {}
    for event in events:
        once.setdefault(event.id, event)
    if not once:
        return LineReading(rejected, (), shown)
    well_formed = [event for event in once.values() if is_well_formed(event.entity)]
    reason = rejected or _bad_name(once.values(), well_formed) or _too_early(once.values(), now)
    counting = (event for event in well_formed if not is_skipped(event.entity))
    if reason is None:
        return LineReading(None, tuple(counting), shown)
    name = hashlib.sha256(bytes_of(line)).hexdigest()
    # A change that did not happen is irrelevant.
    kept = (_as_rejected(event, name, now) for event in counting if event.outcome is not Outcome.NOTHING)
    return LineReading(reason, tuple(kept), shown)


def sure_reading(reading: LineReading, line: str, now: int) -> LineReading:
    """Return a reader's reading of a line, checked if the reader has not done it."""
    events = reading.events
    if not events:
        return reading
    if reading.rejected is not None:
        if all(event.stage is Stage.REJECTED for event in events):
            return reading
        return replace(reading, events=tuple(event for event in events if event.stage is Stage.REJECTED))
    if all(is_well_formed(event.entity) for event in events) and not _too_early(events, now):
        return reading
    return checked_reading(line, events, now, shown=reading.shown)


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


def bad_name(entity: EntityId) -> str:
    """Return the reason for rejecting a line that names such an entity."""
    return f"`{str(entity)[:120]}` is not a valid CDAP name"


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
