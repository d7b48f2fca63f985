"""Likely mistakes in policies, besides what the engine cannot use (its problems). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.cdap.named_entities import allows, named_entities
from ranger_cdap.engine.view import (
    OWNER_MACRO,
    PACKAGE,
    PUBLIC,
    USER_MACRO,
    ServiceModel,
    compile_level,
    compile_schedules,
    implied,
    matches_no_address,
    odd_letters,
)
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.download import UserStore
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemCondition
from ranger_cdap.tools.policies.upper_levels import Descent
from servicedef import value_patterns

_MACRO = re.compile(r"(?<!\$\{)\{([^{}\\]*)\}")
_SHOWN = 5
_KNOWN_MACROS = frozenset({"USER", "OWNER"})


class LintCode(StrEnum):
    """Kinds of findings."""

    NEVER_MATCHES = "never-matches"
    NEVER_IN_ZONE = "never-in-zone"
    NO_SUCH_NAME = "no-such-name"
    NO_SUCH_ENTITY = "no-such-entity"
    EXPIRED = "expired"
    SHADOWED = "shadowed"
    DENIED_ANYWAY = "denied-anyway"
    UNKNOWN_USER = "unknown-user"
    UNKNOWN_GROUP = "unknown-group"
    UNKNOWN_MACRO = "unknown-macro"
    ODD_LETTER = "odd-letter"
    ONE_ACCOUNT_EVERYTHING = "one-account-everything"
    PARENT_TOO = "parent-too"
    ENDS_ABOVE = "ends-above"
    NO_ATTRIBUTES = "no-attributes"

    @property
    def is_note(self) -> bool:
        """True if it depends on what is not known here, such as whether the entity exists, if it is a mistake."""
        return self is LintCode.ENDS_ABOVE


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A likely mistake in a policy, its place, and its effect on access."""

    policy_id: int | None
    policy_name: str
    place: str
    code: LintCode
    message: str


@dataclass(frozen=True, slots=True)
class KnownPrincipals:
    """The users and groups Ranger knows; None: not downloaded."""

    users: Collection[str] | None = None
    groups: Collection[str] | None = None

    @classmethod
    def of(cls, store: UserStore) -> KnownPrincipals:
        """Return all users and groups of a user store."""
        groups = set(store.group_attr_mapping).union(*store.user_group_mapping.values())
        return cls(set(store.user_attr_mapping) | set(store.user_group_mapping), groups)


@dataclass(frozen=True, slots=True)
class LintContext:
    """Facts besides the policies.

    `known`: the users and groups Ranger knows. `now`: in epoch milliseconds. `lacks_attributes`: whether a
    condition reads attributes of users or groups that are never there, by its type and values. `inherits`: a policy on
    an entity counts for what is in it. Unless it `is_cdap`, the service gets no advice on CDAP.
    """

    known: KnownPrincipals
    now: int
    lacks_attributes: Callable[[PolicyItemCondition], bool]
    inherits: bool
    inventory: Inventory | None
    is_cdap: bool


_Findings = Iterator[tuple[str, LintCode, str]]
"""Place, code, message."""


def lint(
    policies: Sequence[Policy],
    model: ServiceModel,
    context: LintContext,
) -> Iterator[LintFinding]:
    """Yield the findings in enabled policies, in their order.

    Args:
        policies: the policies, inside and outside of zones.
        model: the compiled service definition.
        context: what is known besides.
    """
    enabled = [policy for policy in policies if policy.is_enabled]
    descent = Descent.of(enabled, model)
    for policy in enabled:
        for rule in (
            _resources(policy, model, is_cdap=context.is_cdap),
            _parents(policy, model) if context.is_cdap else (),
            _deleted(policy, context.inventory) if context.inventory else (),
            _ends(policy, descent) if context.is_cdap and not context.inherits else (),
            _validity(policy, context.now),
            _conditions(policy, model, context.lacks_attributes),
            _items(policy, model),
            _unknown_principals(policy, context.known),
        ):
            yield from (LintFinding(policy.id, policy.name, place, code, message) for place, code, message in rule)


def _resources(policy: Policy, model: ServiceModel, *, is_cdap: bool) -> _Findings:
    for number, resources in enumerate((policy.resources, *policy.additional_resources)):
        prefix = f"additionalResources[{number - 1}]" if number else "resources"
        for name, resource in resources.items():
            options = model.levels.get(name)
            if options is None:
                continue  # reported by the engine
            if compile_level(resource, options).matches_nothing:
                yield f"{prefix}.{name}", LintCode.NEVER_MATCHES, "it excludes everything, so the policy never applies"
            known = value_patterns().get(name) if is_cdap else None
            for value in dict.fromkeys(resource.values if known else ()):
                if value.strip() and known and not known.accepts(value):
                    message = f"no entity of CDAP matches `{value}`: {known.message}"
                    yield f"{prefix}.{name}", LintCode.NO_SUCH_NAME, message
            for letter in dict.fromkeys(odd_letters("".join(resource.values)) if options.ignore_case else ""):
                message = f"Ranger may not find the policy for another case of `{letter}`, not even to deny"
                yield f"{prefix}.{name}", LintCode.ODD_LETTER, message
            for macro in (found for value in resource.values for found in _MACRO.findall(value)):
                if options.replace_tokens and macro not in _KNOWN_MACROS:
                    message = f"`{{{macro}}}` is not a macro, so it is matched literally"
                    yield f"{prefix}.{name}", LintCode.UNKNOWN_MACRO, message


def _deleted(policy: Policy, inventory: Inventory) -> _Findings:
    """Report rights on entities that the inventory does not have."""
    if not (who := allows(policy)):
        return
    for number, resources in enumerate((policy.resources, *policy.additional_resources)):
        named = (entity for instance, entity in named_entities(resources) if instance == inventory.instance)
        missing = [str(entity) for entity in named if inventory.lacks(entity)]
        if missing and resources not in (policy.resources, *policy.additional_resources)[:number]:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            message = (
                f"{', '.join(who[:_SHOWN])}{', …' * (len(who) > _SHOWN)} have rights on what the inventory does not "
                f"have, and on the next of that name: {', '.join(missing[:_SHOWN])}{more}"
            )
            yield f"additionalResources[{number - 1}]" if number else "resources", LintCode.NO_SUCH_ENTITY, message


def _parents(policy: Policy, model: ServiceModel) -> _Findings:
    """Report levels that match without a value, too, so that the policy decides on the resources above them."""
    if is_creators_policy(policy):
        return  # of an application and its programs, on purpose
    for number, resources in enumerate((policy.resources, *policy.additional_resources)):
        prefix = f"additionalResources[{number - 1}]" if number else "resources"
        path = model.path_of(frozenset(resources)) or ()
        elements = [compile_level(resources[n], model.levels[n]) for n in path]
        for above, name, below in zip(path, path[1:], (elements[n:] for n in range(1, len(path))), strict=False):
            if all(element.match_any and not element.excludes for element in below):
                message = (
                    f"it also matches where no {name} is named, so the policy decides on the {above}, too; "
                    f"`?*` is every {name}, and nothing above"
                )
                yield f"{prefix}.{name}", LintCode.PARENT_TOO, message
                break


def _ends(policy: Policy, descent: Descent) -> _Findings:
    """Report a policy that ends above (`none` in Ranger's form) where those it names have nothing below."""
    for place, level in descent.dead_ends(policy):
        message = (
            f"it decides on the {level} alone, and no policy allows those it names anything in it; CDAP asks about "
            "each entity separately, so a policy for these goes on to their level, with `?*` for every name"
        )
        yield place, LintCode.ENDS_ABOVE, message


def _conditions(
    policy: Policy, model: ServiceModel, lacks_attributes: Callable[[PolicyItemCondition], bool]
) -> _Findings:
    """Report conditions that never hold, because of their values or because they read what is not downloaded."""
    items = (
        (f"{side}[{number}].", item.conditions)
        for side, items in policy.item_lists().items()
        for number, item in enumerate(items)
    )
    for prefix, conditions in (("", policy.conditions), *items):
        for number, condition in enumerate(conditions):
            place, definition = f"{prefix}conditions[{number}]", model.conditions.get(condition.type)
            if lacks_attributes(condition):
                message = (
                    "it reads attributes of users or groups, which `plugin.use_ranger_groups = false` leaves unknown: "
                    "it allows nothing, and denials apply"
                )
                yield place, LintCode.NO_ATTRIBUTES, message
            if definition is not None and definition.evaluator == PACKAGE + "RangerIpMatcher":
                yield from (
                    (place, LintCode.NEVER_MATCHES, f"no address matches `{value}`: it is no address or `10.1.*`")
                    for value in filter(matches_no_address, condition.values)
                )


def _validity(policy: Policy, now: int) -> _Findings:
    try:
        schedules = compile_schedules(policy.validity_schedules, lenient=False)
    except PolicySetError:
        return  # reported by the engine
    if schedules and all(schedule.end and schedule.end < now for schedule in schedules):
        yield "validitySchedules", LintCode.EXPIRED, "its validity has ended, so the policy never applies again"


def _items(policy: Policy, model: ServiceModel) -> _Findings:
    for side, items in policy.item_lists().items():
        for number, item in enumerate(items):
            others = [other for n, other in enumerate(items) if n != number and not (n > number and item == other)]
            if any(_covers(other, item, model) for other in others):
                yield (
                    f"{side}[{number}]",
                    LintCode.SHADOWED,
                    "another item of the list gives the same accesses to the same users, groups and roles",
                )
    if model.deny_enabled and not policy.deny_exceptions:
        for number, item in enumerate(policy.policy_items):
            if any(_covers(deny, item, model, admin=False) for deny in policy.deny_policy_items):
                message = "a deny item denies the same accesses to the same principals, so this never allows"
                yield f"policyItems[{number}]", LintCode.DENIED_ANYWAY, message
    for number, item in enumerate(policy.policy_items):
        if _is_one_account(item) and set(model.access_types) <= _accesses(item, model) and _is_everywhere(policy):
            message = f"it gives `{item.users[0]}` all rights on everything; Ranger creates such policies for accounts"
            yield f"policyItems[{number}]", LintCode.ONE_ACCOUNT_EVERYTHING, message


def _unknown_principals(policy: Policy, known: KnownPrincipals) -> _Findings:
    if known.users is None or known.groups is None:
        return
    for side, items in policy.item_lists().items():
        for number, item in enumerate(items):
            yield from (
                (f"{side}[{number}].users", LintCode.UNKNOWN_USER, f"Ranger knows no user `{user}`")
                for user in item.users
                if user not in known.users and user not in (USER_MACRO, OWNER_MACRO)
            )
            yield from (
                (f"{side}[{number}].groups", LintCode.UNKNOWN_GROUP, f"Ranger knows no group `{group}`")
                for group in item.groups
                if group not in known.groups and group != PUBLIC
            )


def _covers(wide: PolicyItem, narrow: PolicyItem, model: ServiceModel, *, admin: bool = True) -> bool:
    """Return whether an item covers all principals and access types of another, whatever its conditions."""
    if wide.conditions or (admin and narrow.delegate_admin and not wide.delegate_admin):
        return False
    all_users = PUBLIC in wide.groups or (USER_MACRO in wide.users and not (narrow.groups or narrow.roles))
    named = all(set(getattr(narrow, kind)) <= set(getattr(wide, kind)) for kind in ("users", "groups", "roles"))
    names_anyone = bool(narrow.users or narrow.groups or narrow.roles)
    return names_anyone and (all_users or named) and _accesses(narrow, model) <= _accesses(wide, model)


def _is_one_account(item: PolicyItem) -> bool:
    return (
        len(item.users) == 1 and not item.groups and not item.roles and item.users[0] not in (USER_MACRO, OWNER_MACRO)
    )


def _is_everywhere(policy: Policy) -> bool:
    return bool(policy.resources) and all(
        not resource.is_excludes and (not any(resource.values) or any(not v.strip("*") for v in resource.values if v))
        for resource in policy.resources.values()
    )


def _accesses(item: PolicyItem, model: ServiceModel) -> frozenset[str]:
    return implied(item.accesses, model.implied)
