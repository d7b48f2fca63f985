"""Conditions of policies and items: the kinds that Ranger brings along (ranger-semantics.md §8).

A condition may have nothing to judge by, for instance no client address. Java then decides one way or the other; here
that is an outcome of its own, and the engine takes it against whoever wants in: allow items and deny exceptions do not
apply, deny items and allow exceptions do (docs/reference/compatibility.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from typing import Any

import msgspec

from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.schedule import compile_schedule
from ranger_cdap.engine.compiled.tag_date import DateScript, read_date, read_script
from ranger_cdap.engine.model.wire import PolicyConditionDef, ValiditySchedule
from ranger_cdap.errors import PolicySetError

PACKAGE = "org.apache.ranger.plugin.conditionevaluator."

_ALL_WILDCARDS = re.compile(r"\*((\.\*)*|(:\*)*)")
_TIME_OF_DAY = re.compile(
    r" *(\d{1,2})(?::(\d{1,2}))? *([ap])\.?m\.? *- *(\d{1,2})(?::(\d{1,2}))? *([ap])\.?m\.? *", re.IGNORECASE | re.ASCII
)

_ANSWERS = {"yes": True, "true": True, "no": False, "false": False}


class Outcome(Enum):
    """Whether a condition holds; the last two mean that it cannot be judged, and what Java makes of that."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN_HOLDS = "unknown, Java: holds"
    UNKNOWN_FAILS = "unknown, Java: fails"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What conditions look at; `access_time` in epoch milliseconds, 0 where it is not known.

    `uncertain_tags` are those among `tags` of which it is not known whether they count. `tag_attributes` are those of
    the tag whose policy is looked at, None for a policy of the resource. Who asks for what on which resource is there
    for conditions that are added (`ConditionMaker`).
    """

    client_ip: str | None = None
    access_time: int = 0
    action: str | None = None
    cluster_name: str | None = None
    cluster_type: str | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    uncertain_tags: frozenset[str] = frozenset()
    tag_attributes: Mapping[str, str] | None = None
    user: str | None = None
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    access_type: str = ""
    resource: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)


UNREADABLE_TAG = "\0"
"""The type of a tag whose type cannot be read: it may be any."""

Condition = Callable[[Circumstances], Outcome]

ConditionMaker = Callable[[Sequence[str], Mapping[str, Any]], Callable[[Circumstances], bool | None] | None]
"""Makes conditions of a kind this engine does not know, like JavaScript, of their values and the evaluator's options.

What it gives says whether the condition holds, None where that cannot be judged; it is asked by many threads. A maker
gives None where the values cannot be read. Whatever raises cannot be evaluated, so nothing is allowed by it.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """How conditions are read.

    `lenient` like Java, dropping what it cannot read; `zone` of the time of day; `added` makes conditions by the name
    of the evaluator's class.
    """

    lenient: bool = False
    zone: tzinfo = UTC
    added: Mapping[str, ConditionMaker] = field(default_factory=dict)


_Maker = Callable[[Sequence[str], Mapping[str, Any], Reading], Condition | None]
"""Makes a condition of its values and the evaluator's options; None where they cannot be read."""


def compile_condition(
    definition: PolicyConditionDef | None, values: Sequence[str], reading: Reading
) -> Condition | None:
    """The condition as a function of the circumstances; None where it cannot be evaluated.

    `definition` is what the service definition says of the condition's type; None if it says nothing.
    """
    if definition is None:
        return None
    maker = _maker(definition)
    if maker:
        return maker(values, definition.evaluatorOptions, reading)
    added = reading.added.get(definition.evaluator)
    return _added(added, values, definition.evaluatorOptions) if added else None


def _maker(definition: PolicyConditionDef) -> _Maker | None:
    """What makes conditions of a definition, where it is one of the kinds known here."""
    if not definition.evaluator.startswith(PACKAGE):
        return None
    script = date_script(definition)
    return _accessed(script) if script else _MAKERS.get(definition.evaluator.removeprefix(PACKAGE))


def date_script(definition: PolicyConditionDef) -> DateScript | None:
    """What conditions of a definition ask of a date in a tag, where they do."""
    if definition.evaluator != PACKAGE + "RangerScriptTemplateConditionEvaluator":
        return None
    return read_script(definition.evaluatorOptions.get("scriptTemplate"))


def _added(maker: ConditionMaker, values: Sequence[str], options: Mapping[str, Any]) -> Condition | None:
    try:
        judge = maker(tuple(values), options)
    except Exception:
        return None
    if judge is None:
        return None

    def holds(c: Circumstances) -> Outcome:
        try:
            judged = judge(c)
        except Exception:
            judged = None
        return _outcome(judged) if isinstance(judged, bool) else Outcome.UNKNOWN_FAILS

    return holds


def _outcome(holds: bool) -> Outcome:
    return Outcome.HOLDS if holds else Outcome.FAILS


def _always(_: Circumstances) -> Outcome:
    return Outcome.HOLDS


def _ip(values: Sequence[str], _: Mapping[str, Any], reading: Reading) -> Condition | None:
    if not values or "*" in values:
        return _always
    exact, prefixes = set(), []
    for value in values:
        if _ALL_WILDCARDS.fullmatch(value) or (reading.lenient and not value):
            return _always
        if not value:
            return None
        if "." in value:
            digest = _without_trailing(".*", value)
            is_exact = digest == value
        else:
            digest = _without_trailing(":*", value).lower()
            # Java takes an exact IPv6 address with capital letters for a prefix.
            is_exact = digest == (value if reading.lenient else value.lower())
        exact.add(digest) if is_exact else prefixes.append(digest)

    def holds(c: Circumstances) -> Outcome:
        if c.client_ip is None:
            return Outcome.UNKNOWN_HOLDS
        lowered = c.client_ip.lower()
        by_prefix = any(("." in c.client_ip and c.client_ip.startswith(p)) or lowered.startswith(p) for p in prefixes)
        return _outcome(by_prefix or (c.client_ip if "." in c.client_ip else lowered) in exact)

    return holds


def _without_trailing(pair: str, value: str) -> str:
    """The value with one `.` or `:` for all `.*` or `:*` at its end."""
    end = len(value)
    while value.endswith(pair, 0, end):
        end -= len(pair)
    return value if end == len(value) else value[:end] + pair[0]


def _time_of_day(values: Sequence[str], _: Mapping[str, Any], reading: Reading) -> Condition | None:
    parsed = [_TIME_OF_DAY.fullmatch(value) for value in values if value]
    if not reading.lenient and (None in parsed or len(parsed) != len(values)):
        return None
    spans = [(_minutes(m[1], m[2], m[3]), _minutes(m[4], m[5], m[6])) for m in parsed if m]
    if not spans:
        return _always

    def holds(c: Circumstances) -> Outcome:
        if not c.access_time:
            return Outcome.UNKNOWN_HOLDS
        try:
            now = (datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=c.access_time)).astimezone(reading.zone)
        except OverflowError:
            return Outcome.UNKNOWN_FAILS
        minute = now.hour * 60 + now.minute
        return _outcome(
            any((a <= minute <= b) if a < b else (a <= minute or minute <= b) for a, b in spans)  # over midnight
        )

    return holds


def _minutes(hour: str, minute: str | None, half: str) -> int:
    hours = int(hour)
    if hours == 12:
        hours = 0 if half.lower() == "a" else 12
    elif half.lower() == "p":
        hours += 12
    return hours * 60 + int(minute or 0)


def _context_attribute(*, wanted: bool) -> _Maker:
    def make(values: Sequence[str], options: Mapping[str, Any], _: Reading) -> Condition | None:
        attribute = options.get("attributeName")
        if not isinstance(attribute, str) or not attribute:
            return None
        listed = frozenset(values)
        if not listed:
            return _always

        def holds(c: Circumstances) -> Outcome:
            value = c.context.get(attribute)
            return Outcome.UNKNOWN_HOLDS if value is None else _outcome((value in listed) is wanted)

        return holds

    return make


def _cluster(name_of: Callable[[Circumstances], str | None], *, wanted: bool) -> _Maker:
    def make(values: Sequence[str], _: Mapping[str, Any], __: Reading) -> Condition | None:
        if not values:
            return _always
        listed = frozenset(values)

        def holds(c: Circumstances) -> Outcome:
            name = name_of(c)
            if name is None:
                return Outcome.UNKNOWN_FAILS if wanted else Outcome.UNKNOWN_HOLDS
            return _outcome((name in listed) is wanted)

        return holds

    return make


def _tags(judge: Callable[[Collection[str], frozenset[str]], bool]) -> _Maker:
    def make(values: Sequence[str], _: Mapping[str, Any], __: Reading) -> Condition | None:
        listed = frozenset(value.strip() for value in values)

        def holds(c: Circumstances) -> Outcome:
            holding = judge(listed, c.tags)
            most = c.tags | listed if UNREADABLE_TAG in c.tags else c.tags
            if judge(listed, c.tags - c.uncertain_tags) is judge(listed, most):
                return _outcome(holding)
            return Outcome.UNKNOWN_HOLDS if holding else Outcome.UNKNOWN_FAILS

        return holds

    return make


def _action(values: Sequence[str], _: Mapping[str, Any], __: Reading) -> Condition | None:
    actions = [value.strip().lower() for value in values if value.strip()]
    prefixes = tuple(action[:-1].strip() for action in actions if action.endswith("*"))
    exact = frozenset(action for action in actions if not action.endswith("*"))
    if not actions or "" in prefixes:
        return _always

    def holds(c: Circumstances) -> Outcome:
        if c.action is None or not c.action.strip():
            return Outcome.UNKNOWN_FAILS
        action = c.action.lower()
        return _outcome(action in exact or action.startswith(prefixes))

    return holds


def _validity(values: Sequence[str], _: Mapping[str, Any], reading: Reading) -> Condition | None:
    schedules = []
    for value in values:
        try:
            schedule = msgspec.json.decode(value, type=ValiditySchedule)
            schedules.append(compile_schedule(schedule, lenient=reading.lenient, zone=reading.zone))
        except (msgspec.MsgspecError, PolicySetError, ValueError, RecursionError):
            if not reading.lenient:
                return None
    if not schedules:
        return _always

    def holds(c: Circumstances) -> Outcome:
        if not c.access_time:
            return Outcome.UNKNOWN_HOLDS
        return _outcome(any(schedule.applies(c.access_time) for schedule in schedules))

    return holds


def _accessed(script: DateScript) -> _Maker:
    """Whether the access comes after, or before, a date in the tag; at that very moment it is both."""
    attribute, after = script

    def make(values: Sequence[str], _: Mapping[str, Any], reading: Reading) -> Condition | None:
        if not values or not values[0].strip():
            return None
        answer = _ANSWERS.get(fold(values[0]))
        if not reading.lenient and (answer is None or len(values) > 1):
            return None
        wanted = answer is not False  # for Java every other value is as good as `yes`

        def holds(c: Circumstances) -> Outcome:
            date = read_date((c.tag_attributes or {}).get(attribute, ""))
            if date is None or not c.access_time:
                return Outcome.UNKNOWN_HOLDS if after is wanted else Outcome.UNKNOWN_FAILS
            return _outcome((c.access_time >= date if after else c.access_time <= date) is wanted)

        return holds

    return make


_MAKERS: Mapping[str, _Maker] = {
    "RangerIpMatcher": _ip,
    "RangerTimeOfDayMatcher": _time_of_day,
    "RangerContextAttributeValueInCondition": _context_attribute(wanted=True),
    "RangerContextAttributeValueNotInCondition": _context_attribute(wanted=False),
    "RangerAccessedFromClusterCondition": _cluster(lambda c: c.cluster_name, wanted=True),
    "RangerAccessedNotFromClusterCondition": _cluster(lambda c: c.cluster_name, wanted=False),
    "RangerAccessedFromClusterTypeCondition": _cluster(lambda c: c.cluster_type, wanted=True),
    "RangerAccessedNotFromClusterTypeCondition": _cluster(lambda c: c.cluster_type, wanted=False),
    "RangerTagsAllPresentConditionEvaluator": _tags(lambda listed, tags: set(listed) <= tags),
    "RangerAnyOfExpectedTagsPresentConditionEvaluator": _tags(lambda listed, tags: bool(set(listed) & tags)),
    "RangerNoneOfExpectedTagsPresentConditionEvaluator": _tags(lambda listed, tags: not set(listed) & tags),
    "RangerActionMatcher": _action,
    "RangerValidityScheduleConditionEvaluator": _validity,
}
