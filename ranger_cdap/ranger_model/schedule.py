"""Validity schedules of policies and tags."""

from __future__ import annotations

from ranger_cdap.ranger_model.document import Document, JavaInt


class RecurrenceSchedule(Document):
    """Start of a recurring validity: comma-separated numbers, ranges or `*`."""

    minute: str = ""
    hour: str = ""
    day_of_month: str = ""
    day_of_week: str = ""
    month: str = ""
    year: str = ""


class ValidityInterval(Document):
    """Duration of a recurring validity."""

    days: JavaInt = 0
    hours: JavaInt = 0
    minutes: JavaInt = 0


class ValidityRecurrence(Document):
    """A recurring validity."""

    schedule: RecurrenceSchedule | None = None
    interval: ValidityInterval | None = None


class ValiditySchedule(Document):
    """Start, end and recurrences; times are `yyyy/MM/dd HH:mm:ss` in `time_zone`."""

    start_time: str = ""
    end_time: str = ""
    time_zone: str = ""
    recurrences: list[ValidityRecurrence] = []
