"""The order in which policies are evaluated (ranger-semantics.md §6.5). It decides which policy is reported."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.engine.compiled.items import PUBLIC, USER_MACRO
from ranger_cdap.engine.compiled.java import round_half_up, utf16_key
from ranger_cdap.engine.compiled.matcher import Element, is_dynamic
from ranger_cdap.engine.compiled.resource_match import ResourceMatcher
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.model import wire

SortKey = tuple[int, bool, int, bytes]

_START = 10_000
_MOST_RESOURCE_DISCOUNT = 100
_MATCH_ANY = 25
_STAR = 10
_QUESTION_MARK = 5
_EXCLUDES = 5
_RECURSIVE = 5
_EXPANSION = 20
_MOST_PRINCIPALS = 25
_ACCESS_SHARE = 25
_MOST_CONDITIONS = 25
_CONDITION = 5


def sort_key(policy: wire.Policy, matchers: Iterable[ResourceMatcher], model: ServiceModel) -> SortKey:
    """Priority first, then policies that deny, then by `eval_order`, then by name."""
    denies = policy.isDenyAllElse or bool(policy.denyPolicyItems)
    return (-policy.policyPriority, not denies, eval_order(policy, matchers, model), utf16_key(policy.name))


def eval_order(policy: wire.Policy, matchers: Iterable[ResourceMatcher], model: ServiceModel) -> int:
    """Ranger's evaluation order: the more general a policy, the smaller."""
    items = [*policy.policyItems, *policy.denyPolicyItems, *policy.allowExceptions, *policy.denyExceptions]
    order = _START - min(_MOST_RESOURCE_DISCOUNT, sum(_level(policy, name, model) for name in policy.resources))
    if any(_expands(element) for matcher in matchers for element in matcher.elements):
        order += _EXPANSION
    users = {user for item in items for user in item.users}
    groups = {group for item in items for group in item.groups}
    everybody = policy.isDenyAllElse or USER_MACRO in users or any(g.lower() == PUBLIC for g in groups)
    order -= _MOST_PRINCIPALS if everybody else min(_MOST_PRINCIPALS, len(users) + len(groups))
    accesses = {access.type for item in items for access in item.accesses if access.isAllowed}
    if model.access_types:
        order -= round_half_up(_ACCESS_SHARE * len(accesses) / len(model.access_types))
    evaluated = items if model.deny_enabled else policy.policyItems
    conditions = len(policy.conditions) + sum(len(item.conditions) for item in evaluated)
    return order - max(0, _MOST_CONDITIONS - _CONDITION * conditions)


def _level(policy: wire.Policy, name: str, model: ServiceModel) -> int:
    resource = policy.resources[name]
    if name not in model.levels or not resource.values:
        return 0
    if any(value in ("", "*") for value in resource.values):
        return _MATCH_ANY
    text = "".join(resource.values)
    general = _STAR if "*" in text else _QUESTION_MARK if "?" in text else 0
    return general + _EXCLUDES * resource.isExcludes + _RECURSIVE * resource.isRecursive


def _expands(element: Element) -> bool:
    return any(t.dynamic or is_dynamic(t.text, element.options) for t in element.tests)
