"""Values of a policy that Ranger Admin 2.9.0 does not save: validity periods, long descriptions and labels. Pure.

Law: Ranger's own validator reports the same of every validity period without recurrences, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """A refused value: Ranger's field and reason, whether Ranger takes it for missing, and what to do about it."""

    field: str
    reason: str
    missing: bool
    sentence: str


def schedule_refusals(schedule: ValiditySchedule, now: datetime) -> Iterator[RefusedValue]:
    """Yield what Ranger refuses of a validity period, at a time of Ranger's own clock."""
    if not (schedule.start_time or schedule.end_time or schedule.recurrences):
        what = "a validity period has no start, end or recurrence"
        yield RefusedValue("startTime,endTime,recurrences", "empty values", missing=True, sentence=what)
        return
    start = _moment(schedule.start_time) if schedule.start_time else now
    end = _moment(schedule.end_time) if schedule.end_time else datetime.max
    for field, text, moment in (("startTime", schedule.start_time, start), ("endTime", schedule.end_time, end)):
        if moment is None:
            sentence = f"`{shown(text)}` is not a time like 2026/11/21 08:00:00"
            yield RefusedValue(field, "invalid value", missing=True, sentence=sentence)
    if start is None or end is None:
        return
    if start >= end:
        begins = f"begins at {schedule.start_time}" if schedule.start_time else "has no start, so it begins now"
        sentence = f"a validity period ends at {schedule.end_time}, but {begins}"
        yield RefusedValue("startTime", "endTime is not later than startTime", missing=False, sentence=sentence)
    if schedule.time_zone.strip() and not is_saved_zone(schedule.time_zone):
        sentence = f"`{shown(schedule.time_zone)}` is not a time zone like Europe/Berlin"
        yield RefusedValue("timeZone", "invalid timeZone", missing=False, sentence=sentence)


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
        yield from (refusal.sentence for refusal in schedule_refusals(schedule, now))


def _moment(text: str) -> datetime | None:
    parts = TIME.match(text)
    try:
        return datetime(*map(int, parts.groups())) if parts else None  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None
