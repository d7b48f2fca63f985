"""Validity schedules: ends that count, time zones, recurrences, and what cannot be read."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.schedule import compile_schedule, compile_schedules
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.schedule import ValiditySchedule
from tests.ranger_source import MISSING, ranger_file, read_ranger_file

RANGERS = [
    "policyengine/validityscheduler/test-validity-schedules-valid-and-applicable.json",
    "policyengine/validityscheduler/test-validity-schedules-valid.json",
]


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def schedule(start: str = "", end: str = "", zone: str = "", **recurrence: Any) -> ValiditySchedule:
    fields = {"minute": "*", "hour": "*", "dayOfMonth": "*", "dayOfWeek": "*", "month": "*", "year": "*"}
    interval = {"minutes": recurrence.pop("lasts", 0)}
    recurrences = [{"schedule": fields | recurrence, "interval": interval}] if recurrence else []
    return msgspec.convert(
        {"startTime": start, "endTime": end, "timeZone": zone, "recurrences": recurrences}, ValiditySchedule
    )


ENDS = [
    (schedule(), "2026-11-21T08:00:00", True),
    (schedule("2026/11/21 08:00:00"), "2026-11-21T08:00:00", True),
    (schedule("2026/11/21 08:00:00"), "2026-11-21T07:59:59.999", False),
    (schedule(end="2026/11/21 08:00:00"), "2026-11-21T08:00:00", True),
    (schedule(end="2026/11/21 08:00:00"), "2026-11-21T08:00:00.001", False),
    (schedule("2026/11/21 08:00:00", zone="Asia/Tokyo"), "2026-11-20T23:00:00", True),
    (schedule("2026/11/21 08:00:00", zone="Asia/Tokyo"), "2026-11-20T22:59:59", False),
    (schedule("2026/11/21 08:00:00", zone="GMT-08:00"), "2026-11-21T15:59:59", False),
    (schedule("2026/11/21 08:00:00", zone="GMT-8"), "2026-11-21T16:00:00", True),
    (schedule("2026/11/21 08:00:00", zone="PST"), "2026-11-21T16:00:00", True),
    (schedule("2026/06/21 08:00:00", zone="PST"), "2026-06-21T15:00:00", True),
    # On 2026-03-08 at 10:00 UTC the clocks of that zone are put forward.
    (schedule("2026/03/08 09:30:00", zone="PST"), "2026-03-08T17:29:59", False),
    (schedule("2026/03/08 09:30:00", zone="PST"), "2026-03-08T17:30:00", True),
    (schedule("2026/13/01 00:00:00"), "2026-12-31T23:59:59", False),
    (schedule("2026/13/01 00:00:00"), "2027-01-01T00:00:00", True),
]

# 2026-11-21 is a Saturday, the seventh day of Ranger's week.
RECURRENCES = [
    ("at nine for an hour", schedule(hour="9", minute="0", lasts=60), "2026-11-21T09:00:00", True),
    ("both ends count", schedule(hour="9", minute="0", lasts=60), "2026-11-21T10:00:00", True),
    ("not after its end", schedule(hour="9", minute="0", lasts=60), "2026-11-21T10:00:01", False),
    ("every quarter", schedule(minute="0,15,30-31,45", lasts=5), "2026-11-21T08:36:00", True),
    ("between quarters", schedule(minute="0,15,30-31,45", lasts=5), "2026-11-21T08:37:00", False),
    ("a minute that no hour has is as none", schedule(minute="30,60", lasts=60), "2026-11-21T09:10:00", True),
    (
        "on Saturdays",
        schedule(dayOfWeek="7", dayOfMonth="", hour="8", minute="0", lasts=120),
        "2026-11-21T09:30:00",
        True,
    ),
    (
        "not on Sundays",
        schedule(dayOfWeek="7", dayOfMonth="", hour="8", minute="0", lasts=120),
        "2026-11-22T09:30:00",
        False,
    ),
    (
        "from Friday over midnight",
        schedule(dayOfWeek="6", dayOfMonth="", hour="22", minute="0", lasts=240),
        "2026-11-21T01:30:00",
        True,
    ),
    (
        "on Sundays, the first day of the week",
        schedule(dayOfWeek="1", dayOfMonth="", hour="8", minute="0", lasts=120),
        "2026-11-22T09:30:00",
        True,
    ),
    (
        "from the last day of the year over midnight",
        schedule(dayOfMonth="31", dayOfWeek="", hour="22", minute="0", lasts=240),
        "2027-01-01T01:00:00",
        True,
    ),
    # 57,600 minutes are 40 days. Before its hour of the 1st the latest start is a month ago, as in Java; on another day
    # Java looks at that day all the same, and its hour has not come.
    (
        "from the 1st of the month before",
        schedule(dayOfMonth="1", dayOfWeek="", hour="22", minute="0", lasts=57_600),
        "2027-01-01T01:00:00",
        True,
    ),
    (
        "not before its hour of the 2nd",
        schedule(dayOfMonth="2", dayOfWeek="", hour="22", minute="0", lasts=57_600),
        "2027-01-02T01:00:00",
        False,
    ),
    (
        "on the 21st",
        schedule(dayOfMonth="21", dayOfWeek="", hour="0", minute="0", lasts=1440),
        "2026-11-21T12:00:00",
        True,
    ),
    (
        "not on the 22nd",
        schedule(dayOfMonth="21", dayOfWeek="", hour="0", minute="0", lasts=1440),
        "2026-11-22T12:00:00",
        False,
    ),
    ("in November", schedule(month="11", lasts=1), "2026-11-21T12:00:00", True),
    ("not in December", schedule(month="11", lasts=1), "2026-12-21T12:00:00", False),
    ("in 2026", schedule(year="2026", lasts=1), "2026-11-21T12:00:00", True),
    ("not in 2025", schedule(year="2026", lasts=1), "2025-11-21T12:00:00", False),
    ("never on the 32nd", schedule(dayOfMonth="32", dayOfWeek="", lasts=1), "2026-11-21T12:00:00", False),
    ("no day at all", schedule(dayOfMonth="", dayOfWeek="", lasts=1), "2026-11-21T12:00:00", False),
    ("no interval is always", schedule(hour="9", lasts=0), "2026-11-21T12:00:00", True),
]


@pytest.mark.parametrize(("compiled", "at", "applies"), ENDS)
def test_from_and_to(compiled: ValiditySchedule, at: str, applies: bool) -> None:
    assert compile_schedule(compiled, lenient=False).applies(ms(at)) is applies


@pytest.fixture(params=["America/New_York", "Asia/Tokyo"])
def zone_of_the_machine(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone_of_the_machine")
@pytest.mark.parametrize(("compiled", "at", "applies"), ENDS)
def test_the_zone_of_the_machine_does_not_matter(compiled: ValiditySchedule, at: str, applies: bool) -> None:
    assert compile_schedule(compiled, lenient=False).applies(ms(at)) is applies


# `java.time.ZoneId.SHORT_IDS`: minutes from UTC on 2026-11-21, in the zones that Java's documentation names.
SHORT_IDS = {
    "ACT": 570, "AET": 660, "AGT": -180, "ART": 120, "AST": -540, "BET": -180, "BST": 360, "CAT": 120, "CNT": -210,
    "CST": -360, "CTT": 480, "EAT": 180, "ECT": 60, "EST": -300, "HST": -600, "IET": -300, "IST": 330, "JST": 540,
    "MIT": 780, "MST": -420, "NET": 240, "NST": 780, "PLT": 300, "PNT": -420, "PRT": -240, "PST": -480, "SST": 660,
    "VST": 420,
}  # fmt: skip


@pytest.mark.parametrize("name", SHORT_IDS)
def test_a_short_name_is_the_zone_that_java_takes_it_for(name: str) -> None:
    compiled = compile_schedule(schedule("2026/11/21 08:00:00", zone=name), lenient=False)
    begins = ms("2026-11-21T08:00:00") - SHORT_IDS[name] * 60_000
    assert [compiled.applies(begins - 1), compiled.applies(begins)] == [False, True]


@pytest.mark.parametrize(
    ("name", "wanted", "at", "applies"), RECURRENCES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_recurrences(name: str, wanted: ValiditySchedule, at: str, applies: bool) -> None:
    assert compile_schedule(wanted, lenient=False).applies(ms(at)) is applies


@pytest.mark.parametrize(
    "unreadable",
    [
        schedule("yesterday"),
        schedule(end="2026-11-21"),
        schedule(zone="Atlantis/Capital"),
        schedule(zone="../../etc/passwd"),
        schedule(zone="America"),
        schedule(zone="GMT+24"),
        schedule(zone="GMT-24:00"),
        schedule(zone="GMT+10:60"),
        schedule("99999999999999/1/1 00:00:00"),
    ],
)
def test_what_cannot_be_read_is_refused_or_as_in_java_open(unreadable: ValiditySchedule) -> None:
    with pytest.raises(PolicySetError):
        compile_schedule(unreadable, lenient=False)

    assert compile_schedule(unreadable, lenient=True).applies(ms("2026-11-21T08:00:00"))


@pytest.mark.parametrize(
    "zone", ["ROC", "posix/Asia/Taipei", "right/Asia/Taipei", "localtime", "Factory", "posixrules"]
)
def test_a_zone_that_java_lacks_is_unknown(zone: str) -> None:
    given = schedule("2026/11/21 08:00:00", zone=zone)
    with pytest.raises(PolicySetError, match="is not a time zone"):
        compile_schedule(given, lenient=False)
    as_java = compile_schedule(given, lenient=True)
    assert (as_java.applies(ms("2026-11-21T07:59:59")), as_java.applies(ms("2026-11-21T08:00:00"))) == (False, True)


@pytest.mark.parametrize("lenient", [True, False])
def test_a_zone_that_java_alone_has_is_refused(lenient: bool) -> None:
    with pytest.raises(PolicySetError, match="`SystemV/EST5` is not supported"):
        compile_schedule(schedule("2026/11/21 08:00:00", zone="SystemV/EST5"), lenient=lenient)


@pytest.mark.parametrize("field", ["5, 7", "x", "1-x", "-5", "1..2"])
def test_a_recurrence_that_cannot_be_read_is_never_taken(field: str) -> None:
    for lenient in (True, False):
        with pytest.raises(PolicySetError):
            compile_schedule(schedule(hour=field, lasts=1), lenient=lenient)


@given(
    st.builds(
        schedule,
        *[st.sampled_from(["", "2026/11/21 08:00:00", "0001/01/01 00:00:00", "9999/12/31 23:59:59", "2/30/400 9:9:9"])]
        * 2,
        st.sampled_from(["", "PST", "GMT+14", "Pacific/Apia"]),
        minute=st.sampled_from(["*", "0", "59", "1-5,7"]),
        hour=st.sampled_from(["", "*", "23", "0-3"]),
        dayOfMonth=st.sampled_from(["", "*", "31", "1", "30,31"]),
        dayOfWeek=st.sampled_from(["", "*", "1", "3-5"]),
        month=st.sampled_from(["", "*", "2", "12"]),
        year=st.sampled_from(["", "*", "2100", "2017"]),
        lasts=st.integers(-5, 10**9),
    ),
    st.integers(-(2**63), 2**63 - 1),
)
def test_any_schedule_answers_at_any_time(any_schedule: ValiditySchedule, at: int) -> None:
    assert compile_schedule(any_schedule, lenient=True).applies(at) in (True, False)


@pytest.mark.parametrize("name", RANGERS)
def test_rangers_own_cases(name: str) -> None:
    if ranger_file(name) is None:
        pytest.skip(MISSING)
    pacific = ZoneInfo("America/Los_Angeles")  # of its JVM, by whose wall clock recurrences go
    for case in read_ranger_file(name):
        text = json.dumps(case["validitySchedules"]).replace(", ", ",")  # its validator takes blanks out before
        compiled = compile_schedules(msgspec.json.decode(text, type=list[ValiditySchedule]), lenient=True)
        time_ = datetime.strptime(case["accessTime"], "%Y%m%d-%H:%M:%S.%f%z")
        at, there = int(time_.timestamp() * 1000), ms(str(time_.astimezone(pacific).replace(tzinfo=None)))
        found = (replace(s, recurrences=()).applies(at) and replace(s, start=0, end=0).applies(there) for s in compiled)

        assert any(found) is case["result"]["isApplicable"], case["name"]
