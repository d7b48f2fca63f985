"""Order of evaluation of policies (ranger-semantics.md §6.5). It determines which policy is reported."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.engine.compiled.items import PUBLIC, USER_MACRO
from ranger_cdap.engine.compiled.java import round_half_up, utf16_key
from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.ranger_model.policy import Policy, PolicyResource

SortKey = tuple[int, bool, int, bytes]

_START = 10_000
_MAX_RESOURCE_DISCOUNT = 100
_MATCH_ANY = 25
_STAR = 10
_QUESTION_MARK = 5
_EXCLUDES = 5
_RECURSIVE = 5
_EXPANSION = 20
_MAX_PRINCIPALS = 25
_ACCESS_SHARE = 25
_MAX_CONDITIONS = 25
_CONDITION = 5


def sort_key(policy: Policy, matchers: Iterable[PolicyResourceMatcher], model: ServiceModel) -> SortKey:
    """Return the sort key of a policy: by priority, policies that deny first, then by `eval_order`, then by name."""
    denies = policy.is_deny_all_else or bool(policy.deny_policy_items)
    return (-policy.policy_priority, not denies, eval_order(policy, matchers, model), utf16_key(policy.name))


def eval_order(policy: Policy, matchers: Iterable[PolicyResourceMatcher], model: ServiceModel) -> int:
    """Return Ranger's evaluation order: smaller for more general policies."""
    denying = (policy.deny_policy_items, policy.allow_exceptions, policy.deny_exceptions)
    users: set[str] = set()
    groups: set[str] = set()
    accesses: set[str] = set()
    conditions = len(policy.conditions)
    for items in (policy.policy_items, *denying):
        for item in items:
            users.update(item.users)
            groups.update(item.groups)
            accesses.update(access.type for access in item.accesses if access.is_allowed)
            if item.conditions and (model.deny_enabled or items is policy.policy_items):  # else it is not evaluated
                conditions += len(item.conditions)
    levels = (one for name, one in policy.resources.items() if one.values and name in model.levels)
    order = _START - min(_MAX_RESOURCE_DISCOUNT, sum(map(_level, levels)))
    if _expands(matchers):
        order += _EXPANSION
    all_users = policy.is_deny_all_else or USER_MACRO in users or PUBLIC in [group.lower() for group in groups]
    order -= _MAX_PRINCIPALS if all_users else min(_MAX_PRINCIPALS, len(users) + len(groups))
    if model.access_types:
        order -= round_half_up(_ACCESS_SHARE * len(accesses) / len(model.access_types))
    return order - max(0, _MAX_CONDITIONS - _CONDITION * conditions)


def _expands(matchers: Iterable[PolicyResourceMatcher]) -> bool:
    """Return True if a level has macros."""
    return any(element.dynamic and element.exact is None for matcher in matchers for element in matcher.elements)


def _level(resource: PolicyResource) -> int:
    """Return the discount of a level with values."""
    values = resource.values
    if "*" in values or "" in values:
        return _MATCH_ANY
    text = "".join(values)
    general = _STAR if "*" in text else _QUESTION_MARK if "?" in text else 0
    return general + _EXCLUDES * resource.is_excludes + _RECURSIVE * resource.is_recursive
