"""Validity periods that Ranger Admin's own validator refuses are those that ours refuses, for the same reasons."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
import pytest

from ranger_cdap.ranger.changes.refusals import MISSING_VALUES, schedule_refusals
from ranger_cdap.ranger_model.schedule import ValiditySchedule
from servicedef import service_definition
from tests.differential.java_engine import JavaEngine

pytestmark = pytest.mark.java

TIMES = (
    *("", "2026/01/01 00:00:00", "2026/01/01 00:00:01", "2020/02/29 23:59:59", "2021/02/29 00:00:00", "tomorrow"),
    *("2026/13/01 00:00:00", "2026/00/10 00:00:00", "2026/1/2 3:4:5", "2999/12/31 23:59:59", "2026/01/01 24:00:00"),
    *(
        "2026/01/01 00:00",
        "2026/01/01 00:00:00 and more",
        " 2026/01/01 00:00:00",
        "2026-01-01 00:00:00",
        "26/1/1 0:0:0",
    ),
    *(
        "2026/01/01  00:00:00",
        "2026/01/01\t00:00:00",
        "2026/04/31 00:00:00",
        "2026/01/01 23:60:00",
        "2026/01/01 23:59:60",
    ),
)
ZONES = (
    *(
        "",
        " ",
        "UTC",
        "GMT",
        "Europe/Berlin",
        "Mars/Base",
        "europe/berlin",
        "GMT+5",
        "GMT+05:30",
        "GMT0",
        "GMT+0",
        "EST",
    ),
    *("MST", "HST", "EST5EDT", "ROC", "posix/UTC", "SystemV/AST4", "JST", "PST", "Etc/GMT+5", "Z", "UTC+1", "Factory"),
    *("Asia/Kolkata", "Greenwich", "Zulu", "localtime", "../UTC", "right/UTC", "America/Argentina/Buenos_Aires"),
)
REPORTED = re.compile(r"error code\[0\], reason\[([^\]]*)\], field\[([^\]]*)\], subfield\[\], type\[([^\]]*)\]")


def drawn(random: Random) -> dict[str, Any]:
    drawn = {"startTime": random.choice(TIMES), "endTime": random.choice(TIMES), "timeZone": random.choice(ZONES)}
    return {name: text for name, text in drawn.items() if text}


def ours(schedule: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = schedule_refusals(msgspec.convert(schedule, ValiditySchedule), datetime.now(UTC).replace(tzinfo=None))
    return [(why, field, "missing" if why in MISSING_VALUES else "semantically incorrect") for field, why in found]


def test_a_period_is_refused_as_ranger_s_validator_refuses_it(java: JavaEngine) -> None:
    """All pairs of two fields; one period to a policy, and each policy on a namespace of its own."""
    random = Random(49)
    schedules = [{"startTime": time, "timeZone": zone} for time in TIMES[1:3] for zone in ZONES]
    schedules += [{"startTime": start, "endTime": end} for start in TIMES for end in TIMES]
    schedules += [drawn(random) for _ in range(2_000)]
    policies = [
        {
            "name": f"p{n}",
            "service": "cdapdev",
            "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": [f"n{n}"]}},
            "policyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}],
            "validitySchedules": [schedule],
        }
        for n, schedule in enumerate(schedules)
    ]
    _, answers = java.validate(service_definition(), "cdapdev", policies)
    reported = [REPORTED.findall(answer or "") for answer in answers]
    assert [pair for pair in zip(schedules, reported, map(ours, schedules), strict=True) if pair[1] != pair[2]] == []
    assert 500 < sum(map(bool, reported)) < len(reported) - 100
