"""Conditions of every kind, and times at which policies are in force [8, 10].

Left out, because Java itself gives no one answer: moments within hours of a change to or from summer time (21).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.differential.strategies import core_scenarios, everywhere, rarely, some

Json = dict[str, Any]

TAG_TYPES = ("PII", "PI", "FINANCE", "P*")
MOMENTS = [
    datetime(2024, month, day, hour, minute, second, tzinfo=UTC)
    for month, day in ((1, 1), (1, 31), (2, 28), (2, 29), (3, 1), (6, 15), (6, 30), (12, 31))
    for hour, minute, second in ((0, 0, 0), (9, 0, 0), (9, 30, 30), (12, 0, 1), (17, 0, 0), (23, 59, 59))
]
moments = st.sampled_from(MOMENTS)


def epoch_ms(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def wall_clock(moment: datetime) -> str:
    return moment.strftime("%Y/%m/%d %H:%M:%S")


schedule_times = st.one_of(
    st.builds(lambda moment, seconds: wall_clock(moment + timedelta(seconds=seconds)), moments, st.integers(-1, 1)),
    st.builds(lambda moment, hours: wall_clock(moment + timedelta(hours=hours)), moments, st.integers(-14, 14)),
    st.sampled_from(["", "garbage"]),
)
FIELD_VALUES = {
    "minute": ("*", "0", "0,30", "15-45", "59", ""),
    "hour": ("*", "0", "9", "9-17", "0,12,23"),
    "dayOfMonth": ("*", "", "1", "15,30", "28-31", "31"),
    "dayOfWeek": ("*", "", "1", "2-6", "7,1"),
    "month": ("*", "1", "2,12", "6-9"),
    "year": ("*", "2024", "2023", "2023-2025"),
}
recurrences = st.fixed_dictionaries(
    {
        "schedule": st.fixed_dictionaries({field: st.sampled_from(values) for field, values in FIELD_VALUES.items()}),
        "interval": st.fixed_dictionaries(
            {}, optional={"days": st.integers(0, 3), "hours": st.integers(0, 30), "minutes": st.integers(0, 70)}
        ),
    }
)
TIME_ZONES = ("", "UTC", "Asia/Tokyo", "America/New_York", "Asia/Kolkata", "Nowhere/Land")
schedules = st.fixed_dictionaries(
    {"startTime": schedule_times, "endTime": schedule_times},
    optional={
        "timeZone": st.sampled_from(TIME_ZONES),
        "recurrences": st.lists(recurrences, max_size=2),
    },
)

CONDITION_VALUES: dict[str, st.SearchStrategy[list[str]]] = {
    "ip": some(("10.0.0.1", "10.0.0.*", "10.*.*", "10.0.*.*", "*", "fe80::*", "FE80::1", "*.*", "10.*", ".*")),
    "time-of-day": some(("9am-5pm", "9:30 AM - 4:00 p.m.", "5pm-9am", "12:00pm-12:01pm", "12am-1am", "soon", "17-18")),
    "project-in": some(("a", "b", "")),
    "project-not-in": some(("a", "b", "")),
    "cluster": some(("c1", "c2")),
    "not-cluster": some(("c1", "c2")),
    "cluster-type": some(("t1", "t2")),
    "not-cluster-type": some(("t1", "t2")),
    "all-tags": some(("PII", " PII ", "FINANCE")),
    "any-tag": some(("PII", " PII ", "FINANCE")),
    "no-tag": some(("PII", " PII ", "FINANCE")),
    "action": some(("query", "que*", "*", "QUERY")),
    "validity": st.lists(st.one_of(schedules.map(json.dumps), st.just("{")), max_size=2),
}
conditions = st.one_of(
    *(st.fixed_dictionaries({"type": st.just(name), "values": values}) for name, values in CONDITION_VALUES.items())
)
condition_lists = st.lists(conditions, min_size=1, max_size=2)
circumstances = st.fixed_dictionaries(
    {"accessTime": moments.map(epoch_ms)},
    optional={
        "clientIP": st.sampled_from(["10.0.0.1", "10.0.1.2", "192.168.0.1", "fe80::1", "FE80::1", "10"]),
        "remoteIP": st.sampled_from(["10.0.0.1", "192.168.0.1"]),
        "forwarded": st.just(["10.0.0.1"]),
        "clusterName": st.sampled_from(["c1", "c3"]),
        "clusterType": st.sampled_from(["t1", "t3"]),
        "action": st.sampled_from(["query", "que", "drop", ""]),
        "tags": st.lists(st.fixed_dictionaries({"type": st.sampled_from(TAG_TYPES)}), max_size=2, unique_by=str),
        "context": st.fixed_dictionaries({}, optional={"project": st.sampled_from(["a", "c", ""])}),
    },
)


@st.composite
def condition_scenarios(draw: st.DrawFn) -> Json:
    """Conditions of every kind, of a policy and of each of its items."""
    scenario = draw(core_scenarios())
    for policy in scenario["policies"]["policies"]:
        if draw(rarely):
            policy["conditions"] = draw(condition_lists)
        for side in ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"):
            for item in policy.get(side, ()):
                if draw(st.booleans()):
                    item["conditions"] = draw(condition_lists)
    everywhere(scenario, draw(st.lists(circumstances, min_size=7, max_size=7)))
    return scenario


@st.composite
def schedule_scenarios(draw: st.DrawFn) -> Json:
    """Policies that are in force at some times only."""
    scenario = draw(core_scenarios())
    for policy in scenario["policies"]["policies"]:
        policy["validitySchedules"] = draw(st.lists(schedules, max_size=2))
    times = draw(st.lists(moments, min_size=7, max_size=7))
    everywhere(scenario, [{"accessTime": epoch_ms(moment)} for moment in times])
    return scenario
