"""Likely mistakes in policies, besides what the engine cannot use (its problems). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ranger_cdap.engine.compiled.items import OWNER_MACRO, PUBLIC, USER_MACRO, implied
from ranger_cdap.engine.compiled.matcher import compile_element
from ranger_cdap.engine.compiled.schedule import compile_schedules
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.model.wire import Policy, PolicyItem, UserStore
from ranger_cdap.errors import PolicySetError

_SIDES = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
_MACRO = re.compile(r"\{([^{}\\]*)\}")
_KNOWN_MACROS = frozenset({"USER", "OWNER"})


class LintCode(StrEnum):
    """The kinds of finding."""

    NEVER_MATCHES = "never-matches"
    EXPIRED = "expired"
    SHADOWED = "shadowed"
    DENIED_ANYWAY = "denied-anyway"
    UNKNOWN_USER = "unknown-user"
    UNKNOWN_GROUP = "unknown-group"
    UNKNOWN_MACRO = "unknown-macro"
    ONE_ACCOUNT_EVERYTHING = "one-account-everything"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a policy, where, and what it means for access."""

    policy_id: int | None
    policy_name: str
    place: str
    code: LintCode
    message: str


@dataclass(frozen=True, slots=True)
class Known:
    """The users and groups Ranger knows; None: not downloaded."""

    users: Collection[str] | None = None
    groups: Collection[str] | None = None

    @classmethod
    def of(cls, store: UserStore) -> Known:
        """Everybody in a user store."""
        groups = set(store.groupAttrMapping).union(*store.userGroupMapping.values())
        return cls(set(store.userAttrMapping) | set(store.userGroupMapping), groups)


_Found = Iterator[tuple[str, LintCode, str]]
"""Place, code, message."""


def lint(policies: Sequence[Policy], model: ServiceModel, known: Known, now: int) -> Iterator[Finding]:
    """The findings of policies in effect, in their order; `now` in epoch milliseconds."""
    for policy in policies:
        if not policy.isEnabled:
            continue
        for rule in (_resources(policy, model), _validity(policy, now), _items(policy, model), _people(policy, known)):
            for place, code, message in rule:
                yield Finding(policy.id, policy.name, place, code, message)


def _resources(policy: Policy, model: ServiceModel) -> _Found:
    for number, resources in enumerate((policy.resources, *policy.additionalResources)):
        prefix = f"additionalResources[{number - 1}]" if number else "resources"
        for name, resource in resources.items():
            options = model.levels.get(name)
            if options is None:
                continue  # the engine tells that
            if compile_element(resource.values, resource.isExcludes, options).never:
                yield f"{prefix}.{name}", LintCode.NEVER_MATCHES, "it excludes everything, so the policy never applies"
            for macro in (found for value in resource.values for found in _MACRO.findall(value)):
                if options.replace_tokens and macro not in _KNOWN_MACROS:
                    message = f"nothing replaces `{{{macro}}}`, so it stands for itself"
                    yield f"{prefix}.{name}", LintCode.UNKNOWN_MACRO, message


def _validity(policy: Policy, now: int) -> _Found:
    try:
        schedules = compile_schedules(policy.validitySchedules, lenient=False)
    except PolicySetError:
        return  # the engine tells that
    if schedules and all(schedule.end and schedule.end < now for schedule in schedules):
        yield "validitySchedules", LintCode.EXPIRED, "its validity has ended, so the policy never applies again"


def _items(policy: Policy, model: ServiceModel) -> _Found:
    for side in _SIDES:
        items: Sequence[PolicyItem] = getattr(policy, side)
        for number, item in enumerate(items):
            others = [other for n, other in enumerate(items) if n != number and not (n > number and _same(item, other))]
            if any(_covers(other, item, model) for other in others):
                yield (
                    f"{side}[{number}]",
                    LintCode.SHADOWED,
                    "another item of the list gives the same to the same people",
                )
    if model.deny_enabled and not policy.denyExceptions:
        for number, item in enumerate(policy.policyItems):
            if any(_covers(deny, item, model, admin=False) for deny in policy.denyPolicyItems):
                message = "a deny item of the policy denies the same to the same people, so this never allows"
                yield f"policyItems[{number}]", LintCode.DENIED_ANYWAY, message
    for number, item in enumerate(policy.policyItems):
        if _is_one_account(item) and set(model.access_types) <= _accesses(item, model) and _is_everywhere(policy):
            message = f"`{item.users[0]}` may do everything everywhere by it; Ranger makes such policies for accounts"
            yield f"policyItems[{number}]", LintCode.ONE_ACCOUNT_EVERYTHING, message


def _people(policy: Policy, known: Known) -> _Found:
    if known.users is None or known.groups is None:
        return
    for side in _SIDES:
        for number, item in enumerate(getattr(policy, side)):
            for user in item.users:
                if user not in known.users and user not in (USER_MACRO, OWNER_MACRO):
                    yield f"{side}[{number}].users", LintCode.UNKNOWN_USER, f"Ranger knows no user `{user}`"
            for group in item.groups:
                if group not in known.groups and group != PUBLIC:
                    yield f"{side}[{number}].groups", LintCode.UNKNOWN_GROUP, f"Ranger knows no group `{group}`"


def _covers(wide: PolicyItem, narrow: PolicyItem, model: ServiceModel, *, admin: bool = True) -> bool:
    """Whether an item says of everybody in another, and of all its access types, the same, whatever the conditions."""
    if wide.conditions or (admin and narrow.delegateAdmin and not wide.delegateAdmin):
        return False
    everybody = PUBLIC in wide.groups or (USER_MACRO in wide.users and not (narrow.groups or narrow.roles))
    named = all(set(getattr(narrow, kind)) <= set(getattr(wide, kind)) for kind in ("users", "groups", "roles"))
    return (everybody or named) and _accesses(narrow, model) <= _accesses(wide, model) and _is_about_somebody(narrow)


def _same(one: PolicyItem, other: PolicyItem) -> bool:
    """Of two equal items only the second is reported."""
    return one == other


def _is_about_somebody(item: PolicyItem) -> bool:
    return bool(item.users or item.groups or item.roles)


def _is_one_account(item: PolicyItem) -> bool:
    return (
        len(item.users) == 1 and not item.groups and not item.roles and item.users[0] not in (USER_MACRO, OWNER_MACRO)
    )


def _is_everywhere(policy: Policy) -> bool:
    return bool(policy.resources) and all(
        not resource.isExcludes and (not any(resource.values) or any(not v.strip("*") for v in resource.values if v))
        for resource in policy.resources.values()
    )


def _accesses(item: PolicyItem, model: ServiceModel) -> frozenset[str]:
    return implied(item.accesses, model.implied)
