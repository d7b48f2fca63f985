"""Validity schedules: start, end and recurrences (ranger-semantics.md §10).

Recurrences use the wall clock of UTC, where Java uses that of its default zone. They look back to the closest past
start, field by field with a borrow, with the corner cases of Java's calendar at month ends.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.schedule import ValidityInterval, ValidityRecurrence, ValiditySchedule

_EPOCH = datetime(1970, 1, 1)
TIME = re.compile(r"[ \t]*(\d+)/[ \t]*(\d+)/[ \t]*(\d+) [ \t]*(\d+):[ \t]*(\d+):[ \t]*(\d+)", re.ASCII)
_OFFSET = re.compile(r"GMT([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
# Names in the time zone database that are missing in Java's TimeZone, which takes them for GMT.
_NOT_IN_JAVA = re.compile(r"(?:posix|right)/.+|ROC|Factory|localtime|posixrules")
_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_NUMBER = 11  # of a Java integer with its sign
_WILDCARD = "*"

# Java loops forever on a day that no month has; a day that no month of four years has does not exist.
_MONTHS_TO_SEARCH = 48

# Names in Java's TimeZone that are missing in the time zone database.
_SHORT_ZONES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}

Ranges = tuple[tuple[int, int], ...]


class _NoMatch(Exception):
    """Raised if no value of a field is allowed."""


@dataclass(frozen=True, slots=True)
class Field:
    """Field of a recurrence: its bounds, and the ranges it allows; no ranges allow everything."""

    low: int
    high: int
    allowed: Ranges

    def past(self, value: int, *, borrow: bool = False, highest: int | None = None) -> tuple[int, bool]:
        """Return the greatest allowed value up to `value`, and whether the search wrapped around to find it."""
        highest = self.high if highest is None else highest
        value -= borrow
        if not self.allowed:
            return (highest if value < self.low else value), False
        wrapped = False
        for _ in range(self.high - self.low + 1):
            if value < self.low:
                value, wrapped = highest, True
            if any(first <= value <= last for first, last in self.allowed):
                return value, wrapped
            value -= 1
        raise _NoMatch


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Recurring validity: its starts, and how long each lasts."""

    minute: Field
    hour: Field
    day_of_month: Field
    day_of_week: Field
    month: Field
    year: Field
    by_day_of_month: bool
    by_day_of_week: bool
    interval: timedelta

    def applies(self, now: datetime) -> bool:
        """Return True if the closest past start is at most one interval ago, inclusive."""
        try:
            start = self._closest_start(now)
        except (_NoMatch, OverflowError, ValueError):
            return False
        return start is not None and start <= now <= start + self.interval

    def _closest_start(self, now: datetime) -> datetime | None:
        minute, borrow = self.minute.past(now.minute)
        hour, borrow = self.hour.past(now.hour, borrow=borrow)
        starts = [
            self._in_allowed_month(start.replace(hour=hour, minute=minute, second=0, microsecond=0))
            for start in (self._by_month_day(now, borrow), self._by_week_day(now, borrow))
            if start is not None
        ]
        return max(starts, default=None)

    def _by_month_day(self, now: datetime, borrow: bool) -> datetime | None:
        if not self.by_day_of_month:
            return None
        day = now
        yesterday = now - timedelta(days=1)
        # Java applies the borrowed day only if it leads into the previous month.
        if borrow and yesterday.month != now.month:
            day = yesterday
        for _ in range(_MONTHS_TO_SEARCH):
            before = _month_before(day)
            try:
                found, wrapped = self.day_of_month.past(day.day, highest=monthrange(before.year, before.month)[1])
            except _NoMatch:
                day = before
                continue
            first = (before if wrapped else day).replace(day=1)
            return first + timedelta(days=found - 1)
        raise _NoMatch

    def _by_week_day(self, now: datetime, borrow: bool) -> datetime | None:
        if not self.by_day_of_week:
            return None
        today = now.isoweekday() % 7 + 1
        found, wrapped = self.day_of_week.past(today, borrow=borrow)
        back = today - found
        if wrapped:
            back = int(borrow) if back == borrow else 7 + back
        return now - timedelta(days=back)

    def _in_allowed_month(self, start: datetime) -> datetime:
        month, borrow = self.month.past(start.month - 1)
        year, _ = self.year.past(start.year, borrow=borrow)
        # A day beyond the end of the month overflows into the next one.
        return start.replace(year=year, month=month + 1, day=1) + timedelta(days=start.day - 1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Compiled schedule; `start` and `end` in epoch milliseconds, 0 if open."""

    start: int
    end: int
    recurrences: tuple[Recurrence | None, ...]

    def applies(self, at: int) -> bool:
        """Return True if the schedule applies at a time in epoch milliseconds, inclusive."""
        if (self.start and at < self.start) or (self.end and at > self.end):
            return False
        if not self.recurrences:
            return True
        try:
            now = _EPOCH + timedelta(milliseconds=at)
        except OverflowError:
            return False
        return any(recurrence is None or recurrence.applies(now) for recurrence in self.recurrences)


def compile_schedules(schedules: Sequence[ValiditySchedule], *, lenient: bool) -> tuple[Schedule, ...]:
    """Compile several schedules, of which one must apply.

    Raises:
        PolicySetError: as in `compile_schedule`.
    """
    return tuple(compile_schedule(schedule, lenient=lenient) for schedule in schedules)


def compile_schedule(schedule: ValiditySchedule, *, lenient: bool) -> Schedule:
    """Compile a schedule; `lenient` reads as Java does: an unreadable time is open, an unknown time zone is GMT.

    Raises:
        PolicySetError: a recurrence is unreadable, or, unless `lenient`, a time or a time zone.
    """
    zone = _zone(schedule.time_zone, lenient=lenient)
    return Schedule(
        start=_instant(schedule.start_time, zone, lenient=lenient),
        end=_instant(schedule.end_time, zone, lenient=lenient),
        recurrences=tuple(map(_recurrence, schedule.recurrences)),
    )


def _instant(text: str, zone: tzinfo, *, lenient: bool) -> int:
    """Return epoch milliseconds: read in UTC, then shifted by the zone's difference at that instant."""
    if not text:
        return 0
    parts = TIME.match(text)
    try:
        if parts is None:
            return _unreadable(text, lenient=lenient)
        year, month, day, hour, minute, second = map(int, parts.groups())
        years, months = divmod(month - 1, 12)
        wall = datetime(year + years, months + 1, 1) + timedelta(
            days=day - 1, hours=hour, minutes=minute, seconds=second
        )
        moved = wall - _offset(zone, wall) if wall > _EPOCH else wall
    except (ValueError, OverflowError):
        return _unreadable(text, lenient=lenient)
    return (moved - _EPOCH) // timedelta(milliseconds=1)


def _unreadable(text: str, *, lenient: bool) -> int:
    if lenient:
        return 0
    raise PolicySetError(f"`{shown(text)}` is not a time like 2026/11/21 08:00:00")


def _offset(zone: tzinfo, utc: datetime) -> timedelta:
    return utc.replace(tzinfo=UTC).astimezone(zone).utcoffset() or timedelta()


def _zone(name: str, *, lenient: bool) -> tzinfo:
    if not name.strip():
        return UTC
    if offset := _OFFSET.fullmatch(name):
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if hours < 24 and minutes < 60:
            shift = timedelta(hours=hours, minutes=minutes)
            return timezone(shift if offset[1] == "+" else -shift)
    if name.startswith("SystemV/"):  # in the tables of Java only
        raise PolicySetError(f"the time zone `{shown(name)}` is not supported")
    if not _NOT_IN_JAVA.fullmatch(name):
        try:
            return ZoneInfo(_SHORT_ZONES.get(name, name))
        except (ValueError, OSError, LookupError):
            pass
    if lenient:
        return UTC
    raise PolicySetError(f"`{shown(name)}` is not a time zone")


def is_saved_zone(name: str) -> bool:
    """Return whether Ranger Admin saves a policy with that time zone: one that Java lists by name, and no short one."""
    if name in _SHORT_ZONES or _OFFSET.fullmatch(name):
        return False
    try:
        return _zone(name, lenient=False) is not None
    except PolicySetError:
        return False


def _recurrence(recurrence: ValidityRecurrence) -> Recurrence | None:
    """Compile a recurrence; None if it has no interval, which means always in Java."""
    interval = recurrence.interval or ValidityInterval()
    try:
        lasts = timedelta(days=interval.days, hours=interval.hours, minutes=interval.minutes)
    except OverflowError:
        raise PolicySetError("a recurrence lasts longer than there are days") from None
    if lasts <= timedelta():
        return None
    schedule = recurrence.schedule
    if schedule is None:
        raise PolicySetError("a recurrence has an interval and no schedule")
    return Recurrence(
        minute=Field(0, 59, _ranges(schedule.minute)),
        hour=Field(0, 23, _ranges(schedule.hour)),
        day_of_month=Field(1, 31, _ranges(schedule.day_of_month)),
        day_of_week=Field(1, 7, _ranges(schedule.day_of_week)),
        month=Field(0, 11, _ranges(schedule.month, shift=1)),
        year=Field(2017, 2100, _ranges(schedule.year)),
        by_day_of_month=bool(schedule.day_of_month.strip()),
        by_day_of_week=bool(schedule.day_of_week.strip()),
        interval=lasts,
    )


def _ranges(text: str, shift: int = 0) -> Ranges:
    everything = ((-(10**9), 10**9),)
    if not text.strip():
        return ()
    found = []
    for spec in text.rstrip(",").split(","):
        ends = spec.rstrip("-").split("-")[:2]
        if _WILDCARD in ends:
            return everything
        if not all(_NUMBER.fullmatch(end) and len(end) <= _LONGEST_NUMBER for end in ends):
            raise PolicySetError(f"`{shown(text)}` is not a list of numbers and ranges in a recurrence")
        found.append((int(ends[0]) - shift, int(ends[-1]) - shift))
    return tuple(found)


def _month_before(day: datetime) -> datetime:
    first = day.replace(day=1)
    last = first - timedelta(days=1)
    return last.replace(day=min(day.day, last.day))
