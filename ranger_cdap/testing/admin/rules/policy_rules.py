"""Ranger Admin's policy validator as pure functions, and the signature of a resource set."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ranger_cdap.ranger.changes.refusals import MISSING_VALUES, schedule_refusals
from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemCondition, PolicyResource
from ranger_cdap.ranger_model.schedule import ValiditySchedule
from ranger_cdap.testing.admin.model.documents import AdminPolicy, AdminResourceDef, AdminServiceDef, to_json_object
from ranger_cdap.testing.admin.model.validation import (
    INCORRECT,
    MISSING,
    NO_HIERARCHIES,
    Rule,
    ValidationFailure,
    failure,
    of_rule,
)
from ranger_cdap.testing.admin.rules.definitions import hierarchies
from ranger_cdap.testing.admin.rules.java_regex import compile_java

MAX_NAME_LENGTH = 255
_NO_NAMES = frozenset({"", "null", "NULL", "Null"})


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another policy of the same service."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Look-ups among the service's other policies; `by_signature` finds enabled policies only."""

    by_name: Callable[[str], Neighbour | None]
    by_signature: Callable[[str], Neighbour | None]


def signature(policy: AdminPolicy) -> str:
    """Return SHA-256 of the resource sets, with priority, schedules, zone and conditions; independent of order."""
    return _digest(policy, "")


def kept_signature(policy: AdminPolicy) -> str:
    """Return the stored signature; that of a disabled policy includes its guid, so it matches no other policy."""
    return _digest(policy, "" if policy.is_enabled else policy.guid)


def _digest(policy: AdminPolicy, own: str) -> str:
    sets = sorted(_canonical(resources) for resources in (policy.resources, *policy.additional_resources))
    text = sets[0] if len(sets) == 1 else f"[{', '.join(sets)}]"
    if policy.validity_schedules:
        text += f"[{', '.join(_canonical_schedule(schedule) for schedule in policy.validity_schedules)}]"
    if policy.policy_priority:
        text += str(policy.policy_priority)
    text += policy.zone_name + _canonical_conditions(policy.conditions) + own
    return hashlib.sha256(f"{{version=1,type={policy.policy_type},resource={text}}}".encode()).hexdigest()


def _canonical_schedule(of: ValiditySchedule) -> str:
    schedule = to_json_object(of)
    times = ", ".join(f"{name}={schedule.get(name, 'null')}" for name in ("startTime", "endTime", "timeZone"))
    recurrences = ", ".join(json.dumps(row, sort_keys=True) for row in schedule.get("recurrences") or ())
    return f"RangerValiditySchedule={{, {times}, recurrences=[{recurrences}]}}"


def _canonical_conditions(conditions: Iterable[PolicyItemCondition]) -> str:
    values = {condition.type: sorted(condition.values) for condition in conditions if condition.type}
    by_type = ", ".join(f"{name}=[{', '.join(values[name])}]" for name in sorted(values))
    return f"{{RangerPolicyConditions={{{by_type}}}}}" if values else ""


def _canonical(resources: Mapping[str, PolicyResource]) -> str:
    def one(resource: PolicyResource) -> str:
        flags = f"excludes={resource.is_excludes},recursive={resource.is_recursive}".lower()
        return f"{{values=[{', '.join(sorted(resource.values))}],{flags}}}"

    return f"{{{', '.join(f'{name}={one(resources[name])}' for name in sorted(resources))}}}"


def check_policy(
    policy: AdminPolicy,
    definition: AdminServiceDef,
    neighbours: Neighbours,
    *,
    may_exclude: bool,
    zone_problems: Iterable[ValidationFailure] = (),
    name_field: str = "policy name",
) -> Iterator[ValidationFailure]:
    """Yield every violated rule, in Ranger's order.

    Args:
        policy: the policy to validate.
        definition: the completed definition of its service.
        neighbours: the other policies, without the stored version of this one.
        may_exclude: the caller is an administrator of Ranger or of the service.
        zone_problems: the violated rules about its zone.
        name_field: `policy name` for a new policy, `id/name` for an update.
    """
    if namesake := neighbours.by_name(policy.name) if policy.name else None:
        yield failure(3006, namesake.id, policy.service, field=name_field)
    yield from zone_problems
    if policy.service_type and policy.service_type.lower() != definition.name.lower():
        yield failure(4009, policy.service_type, policy.service)
    alone = list(check_alone(policy))
    yield from alone
    checked = failure(3008) not in alone
    if checked and policy.is_deny_all_else and (policy.deny_policy_items or policy.deny_exceptions):
        yield failure(3049)
    known = [access.name for access in (*definition.access_types, *definition.marker_access_types)]
    for item in policy.items() if checked else ():
        yield from _check_item(item, known)
    now = datetime.now(UTC).replace(tzinfo=None)
    for field, reason in (found for one in policy.validity_schedules for found in schedule_refusals(one, now)):
        kind = MISSING if reason in MISSING_VALUES else INCORRECT
        yield of_rule(0, Rule(reason, field, kind), subfield="")
    if policy.is_enabled and (same := neighbours.by_signature(signature(policy))):
        yield failure(3010, same.name, policy.service)
    if checked:
        yield from _check_resource_names(policy, definition)
        by_name = {resource.name: resource for resource in definition.resources}
        for resources in (policy.resources, *policy.additional_resources):
            for name, resource in resources.items():
                yield from _check_values(name, resource, by_name.get(name), may_exclude)


def check_alone(policy: AdminPolicy) -> Iterator[ValidationFailure]:
    """Yield the violated rules that need neither a service nor a definition; after 3008 Ranger checks few others."""
    if policy.policy_priority not in (0, 1):
        yield failure(3030)
    if not policy.is_audit_enabled and (policy.policy_type or not (policy.policy_items or policy.deny_policy_items)):
        yield failure(3008)


def _check_item(item: PolicyItem, known: Sequence[str]) -> Iterator[ValidationFailure]:
    if not (item.users or item.groups or item.roles):
        yield failure(3020)
    if not item.accesses and not item.delegate_admin:
        yield failure(3002, "policy item accesses")
    for access in item.accesses:
        if not access.type:
            yield failure(3002, "policy item access type")
        elif access.type not in known:
            yield failure(3022, access.type, f"[{', '.join(known)}]")
        if not access.is_allowed:
            yield failure(3023)
    yield from (
        failure(code)
        for code, names in ((3053, item.users), (3054, item.groups), (3055, item.roles))
        if not _NO_NAMES.isdisjoint(names)
    )


def _check_resource_names(policy: AdminPolicy, definition: AdminServiceDef) -> Iterator[ValidationFailure]:
    paths = hierarchies(definition.resources) if policy.policy_type == 0 else []
    if not paths:
        yield of_rule(
            3011, NO_HIERARCHIES, definition.name, " does not have any resource hierarchies", subfield="incompatible"
        )
        return
    mandatory = {resource.name for resource in definition.resources if resource.mandatory}
    for resources in (policy.resources, *policy.additional_resources):
        named = set(resources)
        around = [path for path in paths if named <= set(path)]
        demands = [[name for name in path if name in mandatory] for path in around]
        if not around:
            yield failure(3011, definition.name, _brackets(paths), subfield="incompatible")
        elif not any(named >= set(demand) for demand in demands) or not named:
            code = 3025 if len(around) == 1 else 3012
            yield failure(code, definition.name, _brackets(demands), subfield="missing mandatory")


def _brackets(sets: Iterable[Sequence[str]]) -> str:
    return "".join(f"[{', '.join(names)}] " for names in sets)


def _check_values(
    name: str, resource: PolicyResource, definition: AdminResourceDef | None, may_exclude: bool
) -> Iterator[ValidationFailure]:
    if not resource.values:
        yield failure(3026, subfield=name)
    for value in [value for value, times in Counter(resource.values).items() if times > 1][:1]:
        yield failure(3056, name, value, subfield=name)
    if definition is None:
        return
    if resource.is_excludes and not definition.excludes_supported:
        yield failure(3015, name, subfield=name)
    elif resource.is_excludes and not may_exclude:
        yield failure(3016, subfield=name)
    if resource.is_recursive and not definition.recursive_supported:
        yield failure(3017, name, subfield=name)
    pattern = compile_java(definition.validation_reg_ex) if definition.validation_reg_ex else None
    yield from (
        failure(3018, value, name, subfield=name)
        for value in resource.values
        if pattern and not pattern.fullmatch(value)
    )
