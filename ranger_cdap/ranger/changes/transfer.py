"""The part of a policy that is kept in files, and the steps of an import. Pure.

Policies are identified by name and zone; ids, versions, times and authors are not transferred. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ranger_cdap.ranger.changes.step import Json, Step, StepChange

# Fields of a policy that Ranger Admin sets.
_OF_THE_SERVER = frozenset(
    {
        *("id", "guid", "version", "createTime", "updateTime", "createdBy", "updatedBy"),
        *("resourceSignature", "service", "serviceType"),
    }
)
# Ranger's defaults of missing members.
_DEFAULTS: Mapping[str, Any] = {
    "isEnabled": True,
    "isAuditEnabled": True,
    "isAllowed": True,
    "policyType": 0,
    "policyPriority": 0,
    "isDenyAllElse": False,
    "delegateAdmin": False,
    "isExcludes": False,
    "isRecursive": False,
    "days": 0,
    "hours": 0,
    "minutes": 0,
}
_DAYS: Mapping[str, str] = {"dayOfMonth": "", "dayOfWeek": ""}


def portable(policy: Mapping[str, Any]) -> Json:
    """Return the transferred part of a policy: all editable members, without defaults."""
    kept = {name: value for name, value in policy.items() if name not in _OF_THE_SERVER}
    reduced: Json = _reduced({name: value for name, value in kept.items() if name not in _RESOURCES})
    return reduced | {name: read(kept[name]) for name, read in _RESOURCES.items() if kept.get(name)}


def plan(wanted: Sequence[Json], there: Sequence[Json]) -> tuple[Step, ...]:
    """Return the steps from a service's policies to those of a file, and the policies missing in the file."""
    known = {policy_key(policy): policy for policy in there}
    steps = []
    for policy in wanted:
        zone, name = policy_key(policy)
        present = known.pop((zone, name), None)
        differs = differing(policy, portable(present)) if present is not None else ()
        change = StepChange.CREATE if present is None else StepChange.UPDATE if differs else StepChange.KEEP
        detail = f"differs in {', '.join(differs)}" if differs else ""
        steps.append(Step(change, "policy", name, detail, zone, policy, present))
    return (*steps, *(extra(policy, "is not in the file") for policy in known.values()))


def extra(policy: Json, why: str) -> Step:
    """Return the step of a policy that is not wanted, and stays."""
    zone, name = policy_key(policy)
    return Step(StepChange.KEEP, "policy", str(name), why, zone, there=policy, stays=True)


def body(step: Step, service: str) -> Json:
    """Return the policy to send: the one of the file, with the server's fields of the existing one."""
    kept = {name: value for name, value in (step.there or {}).items() if name in _OF_THE_SERVER}
    sent: Json = {**kept, **(step.wanted or {}), "service": service}
    if schedules := sent.get("validitySchedules"):
        sent["validitySchedules"] = list(map(_with_days, schedules))
    return sent


def _with_days(schedule: Json) -> Json:
    """Return a schedule of which every recurrence has both kinds of days: Ranger answers without one, and needs it."""
    repeated = [
        {**one, "schedule": {**_DAYS, **(one.get("schedule") or {})}} for one in schedule.get("recurrences") or ()
    ]
    return {**schedule, "recurrences": repeated} if repeated else schedule


def policy_key(policy: Mapping[str, Any]) -> tuple[str, Any]:
    """Return zone and name, by which files and Ranger know a policy."""
    return policy.get("zoneName") or "", policy.get("name")


def differing(one: Json, other: Json) -> tuple[str, ...]:
    """Return the members in which two transferred parts differ."""
    return tuple(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))


def _levels(resources: Any) -> Any:
    """Return a resource unreduced, because a level without values matches everything."""
    return {name: {"values": [], **_written(level)} for name, level in resources.items()}


def _written(level: Any) -> Json:
    return {name: value for name, value in level.items() if value is not None and value is not False}


_RESOURCES: Mapping[str, Callable[[Any], Any]] = {
    "resources": _levels,
    "additionalResources": lambda several: list(map(_levels, several)),
}


def _reduced(value: Any) -> Any:
    if isinstance(value, dict):
        reduced = {name: _reduced(inner) for name, inner in value.items()}
        return {
            name: inner
            for name, inner in reduced.items()
            if inner not in (None, "", [], {}) and not (name in _DEFAULTS and inner == _DEFAULTS[name])
        }
    return [_reduced(inner) for inner in value] if isinstance(value, list) else value
