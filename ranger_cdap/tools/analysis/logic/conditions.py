"""Conditions of policies, items and tags as symbols: what a person reads, and requests that may fulfil them.

A condition has three outcomes: it holds, it fails, or it is unknown, which counts against the user. So it is two
atoms, *holds* and *unknown*: a granting side needs the first, a restricting side either (`compiled/items.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Final

import msgspec

from ranger_cdap.engine import AccessRequest, ConditionContext, ConditionOutcome
from ranger_cdap.engine.view import (
    PACKAGE,
    Condition,
    ItemCompiler,
    Schedule,
    compile_schedule,
    date_script,
    matches_no_address,
    read_date,
)
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.json_text import decode
from ranger_cdap.ranger_model.policy import PolicyItemCondition
from ranger_cdap.ranger_model.schedule import ValiditySchedule

MAX_CIRCUMSTANCES: Final = 5_000
"""Combinations of address, time and context that are tried for one witness."""

_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR
_MINUTE: Final = 60_000
_OUTSIDE: Final = "198.51.100.7"
_TEXTS: Final[Mapping[str, str]] = {
    "RangerIpMatcher": "from {}",
    "RangerTimeOfDayMatcher": "at {} UTC",
    "RangerContextAttributeValueInCondition": "{name} is {}",
    "RangerContextAttributeValueNotInCondition": "{name} is not {}",
    "RangerAccessedFromClusterCondition": "from cluster {}",
    "RangerAccessedNotFromClusterCondition": "not from cluster {}",
    "RangerAccessedFromClusterTypeCondition": "from cluster type {}",
    "RangerAccessedNotFromClusterTypeCondition": "not from cluster type {}",
    "RangerTagsAllPresentConditionEvaluator": "with all of the tags {}",
    "RangerAnyOfExpectedTagsPresentConditionEvaluator": "with one of the tags {}",
    "RangerNoneOfExpectedTagsPresentConditionEvaluator": "with none of the tags {}",
    "RangerActionMatcher": "for action {}",
}
_FIELDS: Final[Mapping[str, str]] = {
    "RangerAccessedFromClusterCondition": "cluster_name",
    "RangerAccessedNotFromClusterCondition": "cluster_name",
    "RangerAccessedFromClusterTypeCondition": "cluster_type",
    "RangerAccessedNotFromClusterTypeCondition": "cluster_type",
}


@dataclass(frozen=True, slots=True)
class SymbolicCondition:
    """A condition; equal ones have the same key, so that they are one symbol in two sets of policies.

    One that `never` holds is unknown at most. `is_opaque` is true if more than the candidates decides it: tags of the
    resource, or code of a plugin.
    """

    key: tuple[Hashable, ...]
    text: str = field(compare=False)
    outcome: Condition = field(compare=False)
    candidates: Mapping[str, tuple[object, ...]] = field(compare=False, default_factory=dict)
    is_opaque: bool = field(compare=False, default=False)
    never: bool = field(compare=False, default=False)

    def holds(self, context: ConditionContext, *, lenient: bool) -> bool:
        """Return True if the condition is fulfilled."""
        outcome = self.outcome(context)
        return outcome is ConditionOutcome.HOLDS or (lenient and outcome is ConditionOutcome.UNKNOWN_HOLDS)

    def unknown(self, context: ConditionContext, *, lenient: bool) -> bool:
        """Return True if it counts against the user, because a value that it needs is missing.

        `lenient`: as in mode `ranger`, where that is so only if it is not known either what Java returns.
        """
        outcome = self.outcome(context)
        return (
            outcome is ConditionOutcome.UNKNOWN
            if lenient
            else outcome not in (ConditionOutcome.HOLDS, ConditionOutcome.FAILS)
        )

    def may_be_unknown(self, *, lenient: bool) -> bool:
        """Return False if it never is; of the kinds that Ranger ships it is known what Java returns."""
        return not lenient or self.is_opaque


@dataclass(frozen=True, slots=True)
class TagPlace:
    """The tag whose policy a condition belongs to."""

    type: str
    attributes: tuple[tuple[str, str], ...]

    def seen(self, context: ConditionContext) -> ConditionContext:
        """Return the context of conditions of a tag policy (ranger-semantics.md §14.4)."""
        return replace(context, tag_attributes=dict(self.attributes), cluster_name=None, cluster_type=None)


def symbolic_conditions(
    conditions: Iterable[PolicyItemCondition], compiler: ItemCompiler, tag: TagPlace | None = None
) -> tuple[SymbolicCondition, ...]:
    """Return the conditions of a policy or item as symbols; those that the engine ignores are left out."""
    return tuple(
        _symbolic(condition, outcome, compiler, tag)
        for condition in conditions
        for outcome in compiler.conditions([condition])
    )


def _symbolic(
    condition: PolicyItemCondition, outcome: Condition, compiler: ItemCompiler, tag: TagPlace | None
) -> SymbolicCondition:
    definition = compiler.model.conditions.get(condition.type)
    evaluator = definition.evaluator if definition else ""
    options = definition.evaluator_options if definition else {}
    kind = evaluator.removeprefix(PACKAGE)
    script = date_script(definition) if definition else None
    template = _TEXTS.get(kind)
    known = template is not None or script is not None or kind == "RangerValidityScheduleConditionEvaluator"
    attributes = tag.attributes if tag is not None and script is not None else ()
    key = (
        condition.type,
        evaluator,
        msgspec.json.encode(options),
        tuple(condition.values),
        tag is not None if known else tag,
        attributes,
    )
    candidates = _candidates(kind, condition.values, str(options.get("attributeName")))
    if script is not None:
        date = read_date(dict(attributes).get(script.attribute, ""))
        candidates = {"access_time": () if date is None else (date - _DAY, date + _DAY)}
    listed = " or ".join(condition.values)
    text = (
        f"{condition.type} ({listed})"
        if template is None
        else template.format(listed, name=options.get("attributeName"))
    )
    inside: Condition = outcome if tag is None else _in_tag(outcome, tag)
    never = kind == "RangerIpMatcher" and bool(condition.values) and all(map(matches_no_address, condition.values))
    return SymbolicCondition(key, text, inside, candidates, not known or "Tags" in kind, never)


def _in_tag(outcome: Condition, tag: TagPlace) -> Condition:
    return lambda context: outcome(tag.seen(context))


def validity(
    documents: Sequence[ValiditySchedule], outcome: Condition, schedules: Sequence[Schedule]
) -> SymbolicCondition:
    """Return the validity of a policy as a symbol."""
    key = ("validity", msgspec.json.encode(documents))
    text = " or ".join(map(_period, documents))
    return SymbolicCondition(key, text, outcome, {"access_time": tuple(_times(schedules))})


def effectiveness(type_: str, schedules: tuple[Schedule, ...], *, lenient: bool) -> SymbolicCondition:
    """Return the validity of a tag as a symbol: without a time the tag only denies."""

    def outcome(context: ConditionContext) -> ConditionOutcome:
        if not context.access_time:
            return ConditionOutcome.HOLDS if lenient else ConditionOutcome.UNKNOWN_HOLDS
        applies = any(schedule.applies(context.access_time) for schedule in schedules)
        return ConditionOutcome.HOLDS if applies else ConditionOutcome.FAILS

    key = ("tag validity", schedules)
    return SymbolicCondition(key, f"while the tag {type_} is valid", outcome, {"access_time": tuple(_times(schedules))})


def circumstances(conditions: Iterable[SymbolicCondition], base: AccessRequest) -> Iterator[AccessRequest]:
    """Yield requests that differ in what these conditions read, the base first; their number is bounded."""
    fields: dict[str, dict[object, None]] = {}
    for condition in conditions:
        for name, values in condition.candidates.items():
            fields.setdefault(name, {}).update(dict.fromkeys(values))
    yield base
    names = list(fields)
    for chosen in islice(product(*fields.values()), MAX_CIRCUMSTANCES) if names else ():
        given = dict(zip(names, chosen, strict=True))
        context = {
            name.removeprefix("context:"): value
            for name, value in given.items()
            if name.startswith("context:") and value is not None
        }
        plain = {name: value for name, value in given.items() if not name.startswith("context:")}
        yield replaced(base, **plain, context={**base.context, **context})


def _candidates(kind: str, values: Sequence[str], attribute: str) -> dict[str, tuple[object, ...]]:
    if kind == "RangerIpMatcher":
        inside = (*map(_address, values), *(value.replace("*", "9") + "1" for value in values))
        return {"client_ip": tuple(dict.fromkeys((*inside, _OUTSIDE, None)))}
    if kind == "RangerTimeOfDayMatcher":
        return {"access_time": tuple(20_000 * _DAY + n * 15 * _MINUTE for n in range(96))}
    if kind == "RangerValidityScheduleConditionEvaluator":
        return {"access_time": tuple(_times(_read(values)))}
    if kind.startswith("RangerContextAttributeValue"):
        return {f"context:{attribute}": (*values, "another", None)}
    if kind in _FIELDS:
        return {_FIELDS[kind]: (*values, "another", None)}
    if kind == "RangerActionMatcher":
        return {
            "action": (*(value.strip().rstrip("*") + "x" * value.endswith("*") for value in values), "another", None)
        }
    return {}


def _address(value: str) -> str:
    """Return an address that a value of an address condition covers: its stars become numbers."""
    parts = value.replace("*", "7")
    missing = 3 - parts.count(".") if "." in parts else 0
    return parts + ".7" * max(0, missing)


def _read(values: Iterable[str]) -> Iterator[Schedule]:

    for value in values:
        with suppress(PolicySetError, ValueError):
            yield compile_schedule(decode(value, ValiditySchedule), lenient=True)


def _times(schedules: Iterable[Schedule]) -> Iterator[int]:
    """Yield times at which schedules may change, and without recurrences all that can be distinguished."""
    for schedule in schedules:
        edges = filter(None, (schedule.start, schedule.end))
        yield from (edge + shift for edge in edges for shift in (0, -_MINUTE, _MINUTE))
        if schedule.recurrences:
            first = schedule.start or (schedule.end - 8 * _DAY if schedule.end else 20_000 * _DAY)
            yield from range(first, first + 8 * _DAY, _HOUR)
            yield from range(first, first + 366 * _DAY, _DAY)
    yield from (1_000 * _DAY, 40_000 * _DAY, 20_000 * _DAY, 0)


def _period(schedule: ValiditySchedule) -> str:
    parts = [f"from {schedule.start_time}"] if schedule.start_time else []
    parts += [f"to {schedule.end_time}"] if schedule.end_time else []
    parts += ["at recurring times"] if schedule.recurrences else []
    parts += [schedule.time_zone] if schedule.time_zone else []
    return " ".join(parts) or "always"
