"""Time zones of validity schedules: every name means in our engine what it means in Java, or is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

import pytest

from ranger_cdap.engine.compiled.schedule import _SHORT_ZONES, compile_schedule
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.schedule import ValiditySchedule
from tests.differential.java_engine import JavaEngine
from tests.differential.small_documents import ASKED, DEFINITION, item, on, policy
from tests.differential.strategies import numbered

pytestmark = pytest.mark.java

OFFSETS = ("GMT+5", "UTC+5", "Etc/GMT+5", "GMT0", "GMT+0", "GMT-0", "GMT+05:30", "+05:00", "Z", "gmt", "utc")
MISSING = ("ROC", "Factory", "posix/Asia/Taipei", "right/Asia/Taipei", "localtime", "posixrules", "Nowhere/Land")
OF_NEW_JAVA = ("America/Coyhaique",)  # from 17.0.16 on
STARTS = ("2026/01/15 12:00:00", "2026/07/15 12:00:00")


def start_here(start: str, zone: str) -> int | None:
    """When a schedule begins to apply in `ranger`, in seconds; None if it is refused."""
    try:
        compiled = compile_schedule(ValiditySchedule(start_time=start, time_zone=zone), lenient=True)
    except PolicySetError:
        return None
    noon = int(datetime.strptime(start, "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
    moments = range(noon - 18 * 3_600, noon + 18 * 3_600, 60)
    return next(moment for moment in moments if compiled.applies(moment * 1_000))


def test_a_zone_means_what_it_means_in_java(java: JavaEngine) -> None:
    names = sorted({*available_timezones(), *_SHORT_ZONES, *OFFSETS, *MISSING}.difference(OF_NEW_JAVA))
    pairs = [(zone, start, begins) for zone in names for start in STARTS if (begins := start_here(start, zone))]
    policies = [
        policy(on(r0=[f"s{n}"]), [item()], validitySchedules=[{"startTime": start, "timeZone": zone}])
        for n, (zone, start, _) in enumerate(pairs)
    ]
    download: dict[str, Any] = {"serviceName": "s", "policyVersion": 1, "serviceDef": DEFINITION}
    java.load({"policies": {**download, "policies": numbered(policies)}})
    moments = [(n, begins + shift) for n, (_, _, begins) in enumerate(pairs) for shift in (-1, 0)]
    answers = java.evaluate(
        {**ASKED, "resource": {"r0": f"s{n}"}, "accessTime": moment * 1_000} for n, moment in moments
    )
    wanted = [False, True] * len(pairs)
    answered = zip(moments, answers, wanted, strict=True)
    found = [pairs[n] for (n, _), answer, allowed in answered if answer["allowed"] is not allowed]
    assert not found
    assert len(pairs) == len(names) * len(STARTS)
