"""Values of a policy that Ranger Admin 2.9.0 does not save: validity periods, long descriptions and labels. Pure.

Law: Ranger's own validator reports the same of every validity period without recurrences, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from ranger_cdap.engine.view import TIME, is_saved_zone
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.step import Step
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.schedule import ValiditySchedule

LONGEST_DESCRIPTION: Final = 1024
LONGEST_LABEL: Final = 512


MISSING_VALUES: Final = ("empty values", "invalid value")
"""Reasons for which Ranger takes the value for missing."""
_SENTENCES: Final = {
    "empty values": "a validity period has no start, end or recurrence",
    "invalid value": "a validity period has a time that is not like 2026/11/21 08:00:00",
    "endTime is not later than startTime": "a validity period ends before it begins, which without a start is now",
    "invalid timeZone": "a validity period has a time zone that is not like Europe/Berlin",
}
"""Ranger's reasons, in words."""


def schedule_refusals(schedule: ValiditySchedule, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield Ranger's field and reason for what it refuses of a validity period, at a time of Ranger's own clock."""
    if not (schedule.start_time or schedule.end_time or schedule.recurrences):
        yield "startTime,endTime,recurrences", "empty values"
        return
    start = _moment(schedule.start_time) if schedule.start_time else now
    end = _moment(schedule.end_time) if schedule.end_time else datetime.max
    yield from ((field, "invalid value") for field, at in (("startTime", start), ("endTime", end)) if at is None)
    if start is None or end is None:
        return
    if start >= end:
        yield "startTime", "endTime is not later than startTime"
    if schedule.time_zone.strip() and not is_saved_zone(schedule.time_zone):
        yield "timeZone", "invalid timeZone"


def require_savable(steps: Iterable[Step], now: datetime) -> None:
    """Require that Ranger saves the descriptions, labels and validity periods of the policies that are written.

    Raises:
        InvalidInput: it names the first refused value of each such policy.
    """
    found = {step.subject: next(_refused(step, now), "") for step in steps if step.kind == "policy" and step.wanted}
    if refused := [f"{subject}: {sentence}" for subject, sentence in found.items() if sentence]:
        raise InvalidInput(f"nothing was done, because Ranger refuses: {'; '.join(refused)}")


def _refused(step: Step, now: datetime) -> Iterator[str]:
    policy = step.wanted or {}
    if len(policy.get("description") or "") > LONGEST_DESCRIPTION:
        yield f"its description is longer than {LONGEST_DESCRIPTION:,} characters"
    if any(len(str(label)) > LONGEST_LABEL for label in policy.get("policyLabels") or ()):
        yield f"a label is longer than {LONGEST_LABEL} characters, and Ranger would never answer"
    for schedule in msgspec.convert(policy.get("validitySchedules") or [], list[ValiditySchedule], strict=False):
        written = shown(f"{schedule.start_time} - {schedule.end_time} {schedule.time_zone}")
        yield from (f"{_SENTENCES[reason]}: `{written}`" for _, reason in schedule_refusals(schedule, now))


def _moment(text: str) -> datetime | None:
    parts = TIME.match(text)
    try:
        return datetime(*map(int, parts.groups())) if parts else None  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None
