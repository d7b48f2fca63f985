"""Proposal of policies that allow exactly what was allowed and used. Pure.

Laws: for users and resources of the audit, the proposal allows an access if and only if it was allowed and used; no
policy, item, user, access type or value can be removed without losing a used access; no two policies have the same
resource, nor the same items on resources that differ in one level only, so that they could be one. That is not always
the smallest number of policies there is: finding it takes exponential time.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import fold, implied
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger_model.policy import PolicyItemAccess
from ranger_cdap.tools.insights.facts import AuditFacts, Use
from ranger_cdap.tools.insights.request import NO_ACCESS, OUTSIDE, RequestBuilder

LABEL: Final = "ranger-cdap-insights"
NO_USER: Final = "the record has no user"
MACRO: Final = "a name in it is a pattern or a macro in policies"
SEVERAL_ZONES: Final = "the resource is in no single security zone"
IMPLIES_MORE: Final = "the access type implies others, which were not used"
SAME_NAME: Final = "policies cannot distinguish the resource from another one with other uses"
ANY_PRIVILEGE: Final = "any privilege sufficed"

_SPECIAL: Final = frozenset("*?{}\\")
_ANY: Final = frozenset({"any", "visible", "_any"})
_SHOWN: Final = 40

Json = dict[str, Any]
Items = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
"""Access types, and the users who have exactly these."""


@dataclass(frozen=True, slots=True)
class UsedResource:
    """One resource: its security zone, empty for none, the names of its levels, and their values."""

    zone: str
    path: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProposedResources:
    """Resources of one policy: every combination of the values of its levels."""

    zone: str
    path: tuple[str, ...]
    values: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Policies, without ids, and the number of allowed accesses that they leave out, by reason."""

    policies: tuple[Json, ...]
    left_out: tuple[tuple[str, int], ...]


UsedBy = dict[UsedResource, dict[str, set[str]]]
"""Access types by user and resource."""


def propose(facts: AuditFacts, engine: PolicyEngine) -> Proposal:
    """Return the policies for the allowed uses, by the service definition and the security zones of an engine."""
    left_out: Counter[str] = Counter()
    used: UsedBy = defaultdict(lambda: defaultdict(set))
    counts: dict[tuple[UsedResource, str, str], int] = defaultdict(int)
    builder = RequestBuilder.of(engine)
    for use in facts.uses:
        found = _resource(use, builder, engine)
        if isinstance(found, str):
            left_out[found] += use.times if use.allowed else 0
            continue
        accesses = used[found][use.user]  # a denied use makes the resource and the user known
        if use.allowed:
            accesses.add(use.access)
            counts[found, use.user, use.access] += use.times
    for reason, gone in ((SAME_NAME, _indistinct(used, engine)), (IMPLIES_MORE, _implying(used, engine))):
        for resource, user, access in gone:
            used[resource][user].discard(access)
            left_out[reason] += counts[resource, user, access]
    single = {
        ProposedResources(one.zone, one.path, tuple(frozenset({value}) for value in one.values)): items
        for one, by_user in used.items()
        if (items := _items(by_user))
    }
    policies = sorted((_policy(*one) for one in _merged(single).items()), key=lambda one: str(one["name"]))
    return Proposal(tuple(policies), tuple((why, times) for why, times in sorted(left_out.items()) if times))


def _resource(use: Use, builder: RequestBuilder, engine: PolicyEngine) -> UsedResource | str:
    """Return the resource of a use; or the reason for which no policy can allow exactly that use."""
    levels = builder.levels(use.type, use.resource)
    if isinstance(levels, str):
        return levels
    if use.why == OUTSIDE:
        return OUTSIDE
    path, values = levels
    if not use.user:
        return NO_USER
    if use.access in _ANY:
        return ANY_PRIVILEGE
    if use.access not in engine.view.model.access_types:
        return NO_ACCESS
    if "" in values or any(_SPECIAL & set(name) for name in (use.user, *values)):
        return MACRO
    zones = engine.view.zone_table.of(path, values)
    if len(zones) > 1 or not set(zones) <= {"", *engine.view.zones}:
        return SEVERAL_ZONES
    return UsedResource(zones[0] if zones else "", path, values)


def _indistinct(used: UsedBy, engine: PolicyEngine) -> list[tuple[UsedResource, str, str]]:
    """Return the uses of resources whose names differ in case only, where case is ignored, unless all have them."""
    same: dict[UsedResource, list[UsedResource]] = defaultdict(list)
    levels = engine.view.model.levels
    for one in used:
        values = (
            fold(value) if levels[level].ignore_case else value
            for level, value in zip(one.path, one.values, strict=True)
        )
        same[UsedResource(one.zone, one.path, tuple(values))].append(one)
    return [
        (one, user, access)
        for several in same.values()
        if len(several) > 1
        for one in several
        for user, accesses in used[one].items()
        for access in accesses
        if not all(access in used[other].get(user, ()) for other in several)
    ]


def _implying(used: UsedBy, engine: PolicyEngine) -> list[tuple[UsedResource, str, str]]:
    """Return the uses of access types that give others, which the user did not use there."""
    grants = engine.view.model.implied
    given = {access: implied([PolicyItemAccess(type=access)], grants) for access in engine.view.model.access_types}
    return [
        (one, user, access)
        for one, by_user in used.items()
        for user, accesses in by_user.items()
        for access in accesses
        if not given[access] <= accesses
    ]


def _items(by_user: Mapping[str, set[str]]) -> Items:
    users = grouped((tuple(sorted(accesses)), user) for user, accesses in by_user.items() if accesses)
    return tuple(sorted((accesses, tuple(sorted(names))) for accesses, names in users.items()))


def _merged(policies: Mapping[ProposedResources, Items]) -> dict[ProposedResources, Items]:
    """Merge policies with equal items whose resources differ in one level, until there are none.

    One pass suffices: no merge on a level makes two equal on the others. The last level is the first, so that a policy
    rather holds several entities of a namespace than several namespaces.
    """
    found = dict(policies)
    for level in reversed(range(max((len(one.path) for one in policies), default=0))):
        found = _merged_on(level, found)
    return found


def _merged_on(level: int, policies: Mapping[ProposedResources, Items]) -> dict[ProposedResources, Items]:
    alike: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for one, items in policies.items():
        others = tuple(values for n, values in enumerate(one.values) if n != level)
        alike[one.zone, one.path, others, items] |= one.values[level] if level < len(one.path) else set()
    return {
        ProposedResources(
            zone, path, (*others[:level], frozenset(values), *others[level:]) if level < len(path) else others
        ): items
        for (zone, path, others, items), values in alike.items()
    }


def _policy(place: ProposedResources, items: Items) -> Json:
    resources = {level: {"values": sorted(values)} for level, values in zip(place.path, place.values, strict=True)}
    policy: Json = {
        "name": _name(place),
        "description": "Accesses of the audit that were allowed and used.",
        "policyLabels": [LABEL],
        "resources": resources,
        "policyItems": [
            {"accesses": [{"type": access} for access in accesses], "users": list(users)} for accesses, users in items
        ],
    }
    return {**policy, "zoneName": place.zone} if place.zone else policy


def _name(place: ProposedResources) -> str:
    """Return a name that says what the policy is about and is no other's."""
    shown = "/".join(_shown(values) for values in place.values)
    levels = [place.zone, place.path, [sorted(values) for values in place.values]]
    digest = hashlib.sha256(msgspec.json.encode(levels)).hexdigest()[:12]
    return f"used {place.path[-1]} {shown} {digest}"


def _shown(values: Iterable[str]) -> str:
    first, *more = sorted(values)
    return first[:_SHOWN] + (f" and {len(more)} more" if more else "")
