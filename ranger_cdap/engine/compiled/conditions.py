"""Conditions of policies and items: the evaluators that Ranger ships (ranger-semantics.md §8).

The context may lack a value that a condition needs, for instance the client address. Java's evaluators then return
true or false; here the outcome is unknown, and it counts against the user: allow items and deny exceptions do not
apply, deny items and allow exceptions do (docs/reference/compatibility.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Protocol

from ranger_cdap.engine.compiled.cost import CUSTOM_STEPS
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.schedule import compile_schedule
from ranger_cdap.engine.compiled.tag_date import DateScript, read_date, read_script
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.json_text import decode
from ranger_cdap.ranger_model.schedule import ValiditySchedule
from ranger_cdap.ranger_model.service_def import PolicyConditionDef

PACKAGE = "org.apache.ranger.plugin.conditionevaluator."

_ALL_WILDCARDS = re.compile(r"\*((\.\*)*|(:\*)*)")
_TIME_OF_DAY = re.compile(
    r" *(\d{1,2})(?::(\d{1,2}))? *([ap])\.?m\.? *- *(\d{1,2})(?::(\d{1,2}))? *([ap])\.?m\.? *", re.IGNORECASE | re.ASCII
)

_OF_ADDRESSES = re.compile(r"[0-9A-Fa-f.:*]*(%.*)?")
_ANSWERS = {"yes": True, "true": True, "no": False, "false": False}


class ConditionOutcome(Enum):
    """Outcome of a condition; the last three are unknown, two of them with the result that Java returns."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN_HOLDS = "unknown, Java: holds"
    UNKNOWN_FAILS = "unknown, Java: fails"
    UNKNOWN = "unknown, and so is what Java returns"


@dataclass(frozen=True, slots=True)
class ContextTag:
    """Tag of the resource, as conditions see it; `match_type` is the name of Ranger's match type."""

    type: str
    match_type: str
    attributes: tuple[tuple[str, str], ...]


class AttributeStore(Protocol):
    """Attributes of users and groups by name; `UserStore` is one."""

    @property
    def user_attr_mapping(self) -> Mapping[str, Mapping[str, str]]: ...  # noqa: D102
    @property
    def group_attr_mapping(self) -> Mapping[str, Mapping[str, str]]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class ConditionContext:
    """Input of conditions; `access_time` in epoch milliseconds, 0 if unknown.

    `uncertain_tags` are those of `tags` that may not be effective. `tag_attributes` are those of the tag whose policy
    is evaluated, None for a resource policy. The fields from `user` on are there for custom conditions
    (`ConditionFactory`): `groups` and `roles` are incomplete unless `groups_known`, `tag` is the tag whose policy is
    evaluated, and `attributes` is None if the attributes of users and groups are unknown.
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
    owner: str | None = None
    groups_known: bool = True
    tag: ContextTag | None = None
    resource_tags: tuple[ContextTag, ...] = ()
    attributes: AttributeStore | None = None


UNREADABLE_TAG = "\0"
"""Type of a tag whose type is unreadable; it may be any."""

Condition = Callable[[ConditionContext], ConditionOutcome]

ConditionFactory = Callable[
    [Sequence[str], Mapping[str, Any]], Callable[[ConditionContext], bool | ConditionOutcome | None] | None
]
"""Factory of conditions that this engine does not implement, such as JavaScript; takes values and evaluator options.

The condition returns whether it holds, or None if unknown; it is called by several threads. An outcome instead says
what Java returns. The factory returns None if the values are unreadable. A factory or condition that raises makes the
condition unknown, so it allows nothing; the text of a ValueError of the factory says why.
A condition with the attribute `reads_resource = False` holds or not whatever the resource is. The attribute `max_steps`
is the most that an evaluation may cost, in steps (compiled/cost.py), `cost.CUSTOM_STEPS` without it.
"""


@dataclass(frozen=True, slots=True)
class ConditionOptions:
    """Options for compiling conditions.

    `lenient` ignores unreadable values, as Java does; `custom` holds factories by evaluator class name.
    """

    lenient: bool
    custom: Mapping[str, ConditionFactory]


_Compiler = Callable[[Sequence[str], Mapping[str, Any], ConditionOptions], Condition | None]
"""Compiles a condition from its values and the evaluator's options; None if they are unreadable."""


def compile_condition(
    definition: PolicyConditionDef | None, values: Sequence[str], options: ConditionOptions
) -> Condition | None:
    """Compile a condition to a function of its context; None if it cannot be evaluated.

    `definition` is the definition of the condition's type in the service definition, None if there is none.
    """
    if definition is None:
        return None
    built_in = _built_in(definition)
    if built_in:
        return built_in(values, definition.evaluator_options, options)
    custom = options.custom.get(definition.evaluator)
    return _custom_condition(custom, values, definition.evaluator_options) if custom else None


def _built_in(definition: PolicyConditionDef) -> _Compiler | None:
    """Return the built-in compiler of a definition's conditions, None if there is none."""
    if not definition.evaluator.startswith(PACKAGE):
        return None
    script = date_script(definition)
    return _accessed(script) if script else _COMPILERS.get(definition.evaluator.removeprefix(PACKAGE))


def date_script(definition: PolicyConditionDef) -> DateScript | None:
    """Return the date comparison of a script condition definition, None if it is none."""
    if definition.evaluator != PACKAGE + "RangerScriptTemplateConditionEvaluator":
        return None
    return read_script(definition.evaluator_options.get("scriptTemplate"))


def _custom_condition(
    factory: ConditionFactory, values: Sequence[str], evaluator_options: Mapping[str, Any]
) -> Condition | None:
    try:
        evaluate = factory(tuple(values), evaluator_options)
    except Exception:
        return None
    return None if evaluate is None else CustomCondition(evaluate)


def reason_against(definition: PolicyConditionDef | None, values: Sequence[str], options: ConditionOptions) -> str:
    """Return why a factory rejects a condition; empty if it does not say."""
    factory = options.custom.get(definition.evaluator) if definition is not None else None
    if factory is None or definition is None or _built_in(definition):
        return ""
    try:
        factory(tuple(values), definition.evaluator_options)
    except ValueError as e:
        return str(e)
    except Exception:
        return ""
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class CustomCondition:
    """Condition of a factory; one that raises, or returns anything else than it may, is unknown."""

    evaluate: Callable[[ConditionContext], object]

    @property
    def reads_resource(self) -> bool:
        """Return True if the outcome may depend on the requested resource."""
        return getattr(self.evaluate, "reads_resource", True) is not False

    @property
    def max_steps(self) -> int:
        """Return the steps that an evaluation may take."""
        steps = getattr(self.evaluate, "max_steps", CUSTOM_STEPS)
        return steps if isinstance(steps, int) else CUSTOM_STEPS

    def __call__(self, c: ConditionContext) -> ConditionOutcome:
        """Return the outcome."""
        try:
            result = self.evaluate(c)
        except Exception:
            result = None
        if isinstance(result, ConditionOutcome):
            return result
        return _outcome(result) if isinstance(result, bool) else ConditionOutcome.UNKNOWN_FAILS


def _outcome(holds: bool) -> ConditionOutcome:
    return ConditionOutcome.HOLDS if holds else ConditionOutcome.FAILS


def _always(_: ConditionContext) -> ConditionOutcome:
    return ConditionOutcome.HOLDS


def _ip(values: Sequence[str], _: Mapping[str, Any], options: ConditionOptions) -> Condition | None:
    if not values or "*" in values:
        return _always
    exact, prefixes = set(), []
    for value in values:
        if _ALL_WILDCARDS.fullmatch(value) or (options.lenient and not value):
            return _always
        if not value:
            return None
        if "." in value:
            digest = _without_trailing(".*", value)
            is_exact = digest == value
        else:
            digest = _without_trailing(":*", value).lower()
            # Java treats an exact IPv6 address with upper-case letters as a prefix.
            is_exact = digest == (value if options.lenient else value.lower())
        exact.add(digest) if is_exact else prefixes.append(digest)

    def holds(c: ConditionContext) -> ConditionOutcome:
        if c.client_ip is None:
            return ConditionOutcome.UNKNOWN_HOLDS
        lowered = c.client_ip.lower()
        by_prefix = any(("." in c.client_ip and c.client_ip.startswith(p)) or lowered.startswith(p) for p in prefixes)
        return _outcome(by_prefix or (c.client_ip if "." in c.client_ip else lowered) in exact)

    return holds


def matches_no_address(value: str) -> bool:
    """Return True for a value of an address condition with what no address has, as a range in CIDR notation does."""
    return not _OF_ADDRESSES.fullmatch(value)


def _without_trailing(pair: str, value: str) -> str:
    """Replace all `.*` or `:*` at the end of a value by one `.` or `:`."""
    end = len(value)
    while value.endswith(pair, 0, end):
        end -= len(pair)
    return value if end == len(value) else value[:end] + pair[0]


def _time_of_day(values: Sequence[str], _: Mapping[str, Any], options: ConditionOptions) -> Condition | None:
    parsed = [_TIME_OF_DAY.fullmatch(value) for value in values if value]
    if not options.lenient and (None in parsed or len(parsed) != len(values)):
        return None
    spans = [(_minutes(m[1], m[2], m[3]), _minutes(m[4], m[5], m[6])) for m in parsed if m]
    if not spans:
        return _always

    def holds(c: ConditionContext) -> ConditionOutcome:
        if not c.access_time:
            return ConditionOutcome.UNKNOWN_HOLDS
        try:
            now = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=c.access_time)
        except OverflowError:
            return ConditionOutcome.UNKNOWN_FAILS
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


def _context_attribute(*, wanted: bool) -> _Compiler:
    def make(values: Sequence[str], evaluator_options: Mapping[str, Any], _: ConditionOptions) -> Condition | None:
        attribute = evaluator_options.get("attributeName")
        if not isinstance(attribute, str) or not attribute:
            return None
        listed = frozenset(values)
        if not listed:
            return _always

        def holds(c: ConditionContext) -> ConditionOutcome:
            value = c.context.get(attribute)
            return ConditionOutcome.UNKNOWN_HOLDS if value is None else _outcome((value in listed) is wanted)

        return holds

    return make


def _cluster(name_of: Callable[[ConditionContext], str | None], *, wanted: bool) -> _Compiler:
    def make(values: Sequence[str], _: Mapping[str, Any], __: ConditionOptions) -> Condition | None:
        if not values:
            return _always
        listed = frozenset(values)

        def holds(c: ConditionContext) -> ConditionOutcome:
            name = name_of(c)
            if name is None:
                return ConditionOutcome.UNKNOWN_FAILS if wanted else ConditionOutcome.UNKNOWN_HOLDS
            return _outcome((name in listed) is wanted)

        return holds

    return make


def _tags(evaluate: Callable[[Collection[str], frozenset[str]], bool]) -> _Compiler:
    def make(values: Sequence[str], _: Mapping[str, Any], __: ConditionOptions) -> Condition | None:
        listed = frozenset(value.strip() for value in values)

        def holds(c: ConditionContext) -> ConditionOutcome:
            holding = evaluate(listed, c.tags)
            most = c.tags | listed if UNREADABLE_TAG in c.tags else c.tags
            if evaluate(listed, c.tags - c.uncertain_tags) is evaluate(listed, most):
                return _outcome(holding)
            return ConditionOutcome.UNKNOWN_HOLDS if holding else ConditionOutcome.UNKNOWN_FAILS

        return holds

    return make


def _action(values: Sequence[str], _: Mapping[str, Any], __: ConditionOptions) -> Condition | None:
    actions = [value.strip().lower() for value in values if value.strip()]
    prefixes = tuple(action[:-1].strip() for action in actions if action.endswith("*"))
    exact = frozenset(action for action in actions if not action.endswith("*"))
    if not actions or "" in prefixes:
        return _always

    def holds(c: ConditionContext) -> ConditionOutcome:
        if c.action is None or not c.action.strip():
            return ConditionOutcome.UNKNOWN_FAILS
        action = c.action.lower()
        return _outcome(action in exact or action.startswith(prefixes))

    return holds


def _validity(values: Sequence[str], _: Mapping[str, Any], options: ConditionOptions) -> Condition | None:
    schedules = []
    for value in values:
        try:
            schedules.append(compile_schedule(decode(value, ValiditySchedule), lenient=options.lenient))
        except (PolicySetError, ValueError):
            if not options.lenient:
                return None
    if not schedules:
        return _always

    def holds(c: ConditionContext) -> ConditionOutcome:
        if not c.access_time:
            return ConditionOutcome.UNKNOWN_HOLDS
        return _outcome(any(schedule.applies(c.access_time) for schedule in schedules))

    return holds


def _accessed(script: DateScript) -> _Compiler:
    """Compile the comparison of the access time with a date in the tag; an equal time is both before and after."""
    attribute, after = script

    def make(values: Sequence[str], _: Mapping[str, Any], options: ConditionOptions) -> Condition | None:
        if not values or not values[0].strip():
            return None
        answer = _ANSWERS.get(fold(values[0]))
        if not options.lenient and (answer is None or len(values) > 1):
            return None
        wanted = answer is not False  # Java treats every other value as `yes`

        def holds(c: ConditionContext) -> ConditionOutcome:
            date = read_date((c.tag_attributes or {}).get(attribute, ""))
            if date is None or not c.access_time:
                return ConditionOutcome.UNKNOWN_HOLDS if after is wanted else ConditionOutcome.UNKNOWN_FAILS
            return _outcome((c.access_time >= date if after else c.access_time <= date) is wanted)

        return holds

    return make


_COMPILERS: Mapping[str, _Compiler] = {
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
