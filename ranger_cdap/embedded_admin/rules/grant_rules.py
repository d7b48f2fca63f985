"""What granting and revoking do to a policy, and who may: pure functions over Ranger's items.

Names are compared as exact text, and neither grants nor revokes look at what an access type implies, as in Ranger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate

import msgspec

from ranger_cdap.embedded_admin.model.documents import (
    KINDS,
    GrantRevoke,
    Policy,
    PolicyItem,
    PolicyItemAccess,
    PolicyResource,
)


@dataclass(frozen=True, slots=True)
class Grantee:
    """One user, group or role; `kind` is the field of an item that holds its name."""

    kind: str
    name: str


def grantees(request: GrantRevoke) -> list[Grantee]:
    """Everybody the request is about."""
    return [Grantee(kind, name) for kind in KINDS for name in dict.fromkeys(getattr(request, kind))]


def requested_resources(request: GrantRevoke) -> dict[str, PolicyResource]:
    """The resource of the request; a comma separates values, as Ranger has it."""
    return {
        level: PolicyResource(values=text.split(","), is_recursive=request.is_recursive)
        for level, text in request.resource.items()
    }


def granted(policy: Policy, request: GrantRevoke) -> Policy:
    """The policy after a grant."""
    changed = _copy(policy)
    if request.replace_existing_permissions:
        for grantee in grantees(request):
            _split(changed.policy_items, grantee)
    if any(item.conditions for item in changed.items()):
        new = _item(grantees(request), request.access_types, request.delegate_admin)
        if new not in changed.policy_items:
            changed.policy_items.append(new)
        return _compacted(changed)
    for grantee in grantees(request):
        _move(changed, grantee, request.access_types, request.delegate_admin, _ALLOW)
    return _compacted(changed)


def applied(policy: Policy, sent: Policy) -> Policy:
    """The policy after `apply`: everybody sent has the access types there, and no longer on the other side.

    With a condition on either side nothing can be moved, so items are only added.
    """
    changed = _copy(policy)
    if any(item.conditions for item in (*changed.items(), *sent.items())):
        for items, new in zip(changed.item_lists(), sent.item_lists(), strict=True):
            items.extend(item for item in new if item not in items)
        return changed
    for section, items in enumerate(sent.item_lists()):
        for item in items:
            types = [access.type for access in item.accesses]
            for grantee in (Grantee(kind, name) for kind in KINDS for name in getattr(item, kind)):
                _move(changed, grantee, types, item.delegate_admin, section)
    return _compacted(changed)


_ALLOW, _DENY, _NOT_ALLOWED, _NOT_DENIED = range(4)
"""The sections of a policy, in the order of its `item_lists`."""
_OTHER_SIDE = {_ALLOW: _DENY, _DENY: _ALLOW, _NOT_ALLOWED: _ALLOW, _NOT_DENIED: _DENY}
_OWN_EXCEPTIONS = {_ALLOW: _NOT_ALLOWED, _DENY: _NOT_DENIED}


def _move(policy: Policy, grantee: Grantee, types: Sequence[str], delegate_admin: bool, into: int) -> None:
    """Give a grantee the access types in one section, and take them from the sections that speak against it."""
    shares = [_split(items, grantee) for items in policy.item_lists()]
    held = [share.types for share in shares]
    held[into] = [*held[into], *types]
    against = _OTHER_SIDE[into]
    held[against] = _without(held[against], types)
    if into in _OWN_EXCEPTIONS:
        own, others = _OWN_EXCEPTIONS[into], _OWN_EXCEPTIONS[against]
        held[own] = _without(held[own], types)
        if shares[against].found:
            held[others] = [*held[others], *types]
    for section, items in enumerate(policy.item_lists()):
        delegates = shares[section].delegate_admin or (section == into and delegate_admin)
        items.append(_item([grantee], held[section], delegates))


def revoked(policy: Policy, request: GrantRevoke) -> Policy:
    """The policy after a revoke, which never adds a denial and never deletes the policy."""
    changed = _copy(policy)
    for grantee in grantees(request):
        allowed = _split(changed.policy_items, grantee)
        if request.replace_existing_permissions:
            continue
        left = _without(allowed.types, request.access_types)
        changed.policy_items.append(_item([grantee], left, bool(left) and request.delegate_admin))
        spared = _split(changed.deny_exceptions, grantee)
        changed.deny_exceptions.append(_item([grantee], _without(spared.types, request.access_types), False))
    return _compacted(changed)


@dataclass(frozen=True, slots=True)
class _Share:
    """What one grantee had in a list of items."""

    found: bool
    types: list[str]
    delegate_admin: bool


def _split(items: list[PolicyItem], grantee: Grantee) -> _Share:
    """Take a grantee out of the unconditional items of a list, and return what they had there."""
    mine = [item for item in items if not item.conditions and grantee.name in getattr(item, grantee.kind)]
    for item in mine:
        setattr(item, grantee.kind, [name for name in getattr(item, grantee.kind) if name != grantee.name])
    types = [access.type for item in mine for access in item.accesses if access.is_allowed]
    return _Share(bool(mine), list(dict.fromkeys(types)), any(item.delegate_admin for item in mine))


def _item(whom: Iterable[Grantee], types: Iterable[str], delegate_admin: bool) -> PolicyItem:
    item = PolicyItem(
        accesses=[PolicyItemAccess(type=name) for name in dict.fromkeys(types)], delegate_admin=delegate_admin
    )
    for grantee in whom:
        getattr(item, grantee.kind).append(grantee.name)
    return item


def _without(types: Iterable[str], gone: Iterable[str]) -> list[str]:
    out = set(gone)
    return [name for name in types if name not in out]


def _compacted(policy: Policy) -> Policy:
    for items in policy.item_lists():
        joined: dict[object, PolicyItem] = {}
        for n, item in enumerate(items):
            if not any(getattr(item, kind) for kind in KINDS) or not (item.accesses or item.delegate_admin):
                continue
            key: object = n if item.conditions else (item.access_types(), item.delegate_admin)
            into = joined.setdefault(key, item)
            if into is not item:
                for kind in KINDS:
                    names = getattr(into, kind)
                    names.extend(name for name in getattr(item, kind) if name not in names)
        items[:] = joined.values()
    return policy


def _copy(policy: Policy) -> Policy:
    return msgspec.json.decode(msgspec.json.encode(policy), type=Policy)


def may_delegate(
    policies: Iterable[Policy],
    resources: Mapping[str, PolicyResource],
    types: Iterable[str],
    is_grantor: Callable[[PolicyItem], bool],
    implied: Mapping[str, frozenset[str]],
) -> bool:
    """Whether the grantor has the right to delegate all access types on exactly that resource.

    Stricter than Ranger where it matters: a policy with a schedule or a condition gives no such right, and any denial
    that names the grantor takes it away.
    """
    here = [policy for policy in policies if policy.is_enabled and _covers(policy, resources)]
    if any(is_grantor(item) for policy in here for item in policy.deny_policy_items):
        return False
    held = {name for policy in here for name in _delegable(policy, is_grantor, implied)}
    wanted = set(types)
    return bool(held) and wanted <= held


def _delegable(
    policy: Policy, is_grantor: Callable[[PolicyItem], bool], implied: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    if policy.validity_schedules or policy.conditions or any(is_grantor(item) for item in policy.allow_exceptions):
        return
    for item in policy.policy_items:
        if item.delegate_admin and not item.conditions and is_grantor(item):
            for name in item.access_types():
                yield name
                yield from implied.get(name, frozenset())


def _covers(policy: Policy, resources: Mapping[str, PolicyResource]) -> bool:
    return any(
        sets.keys() == resources.keys() and all(_contains(sets[level], wanted) for level, wanted in resources.items())
        for sets in (policy.resources, *policy.additional_resources)
    )


def _contains(resource: PolicyResource, wanted: PolicyResource) -> bool:
    """Whether whatever `wanted` stands for is surely one of the resource's values."""
    if resource.is_excludes or wanted.is_excludes or (wanted.is_recursive and not resource.is_recursive):
        return False
    return all(_contains_pattern(resource, value) for value in wanted.values)


def _contains_pattern(resource: PolicyResource, value: str) -> bool:
    if not _WILDCARDS & set(value):
        return matches(resource, value)
    starts = [text[:-1] for text in resource.values if text.endswith("*") and not _WILDCARDS & set(text[:-1])]
    return value in resource.values or any(value.startswith(start) for start in starts)


_WILDCARDS = frozenset("*?")


def matches(resource: PolicyResource, value: str) -> bool:
    """Whether a value is one of a resource's, `*` and `?` in these standing for any characters."""
    # Square brackets mean nothing to Ranger, so they must not mean anything here.
    patterns = (re.sub(r"([\[\]])", r"[\1]", pattern) for pattern in resource.values)
    return not resource.is_excludes and any(re.match(translate(pattern), value) for pattern in patterns)
