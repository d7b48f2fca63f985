"""Grant and revoke as pure functions over policy items, and the right to delegate.

Names are compared exactly, and implied grants of access types are ignored, as in Ranger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate

import msgspec

from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin.model.documents import KINDS, AdminPolicy, GrantRevoke


@dataclass(frozen=True, slots=True)
class Grantee:
    """A user, group or role; `kind` is the field of an item with its name."""

    kind: str
    name: str


def grantees(request: GrantRevoke) -> list[Grantee]:
    """Return the grantees of a request."""
    return [Grantee(kind, name) for kind in KINDS for name in dict.fromkeys(getattr(request, kind))]


def requested_resources(request: GrantRevoke) -> dict[str, PolicyResource]:
    """Return the resource of a request; values are comma-separated, as in Ranger."""
    return {
        level: PolicyResource(values=text.split(","), is_recursive=request.is_recursive)
        for level, text in request.resource.items()
    }


def granted(policy: AdminPolicy, request: GrantRevoke) -> AdminPolicy:
    """Return the policy after a grant."""
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
        _allow(changed, grantee, request.access_types, request.delegate_admin)
    return _compacted(changed)


def _allow(policy: AdminPolicy, grantee: Grantee, types: Sequence[str], delegate_admin: bool) -> None:
    """Add access types of a grantee to the allow items, and remove them from what stands against these."""
    lists = list(policy.item_lists().values())
    shares = [_split(items, grantee) for items in lists]
    allowed, denied, not_allowed, not_denied = (share.types for share in shares)
    spared = [*not_denied, *types] if shares[1].found else not_denied
    held = ([*allowed, *types], _without(denied, types), _without(not_allowed, types), spared)
    for n, (items, kept) in enumerate(zip(lists, held, strict=True)):
        items.append(_item([grantee], kept, shares[n].delegate_admin or (n == 0 and delegate_admin)))


def revoked(policy: AdminPolicy, request: GrantRevoke) -> AdminPolicy:
    """Return the policy after a revoke, which never adds a denial and never deletes the policy."""
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
    """Access types of one grantee in a list of items."""

    found: bool
    types: list[str]
    delegate_admin: bool


def _split(items: list[PolicyItem], grantee: Grantee) -> _Share:
    """Remove a grantee from the unconditional items of a list, and return their access types."""
    mine = [item for item in items if not item.conditions and grantee.name in getattr(item, grantee.kind)]
    for item in mine:
        setattr(item, grantee.kind, [name for name in getattr(item, grantee.kind) if name != grantee.name])
    types = [access.type for item in mine for access in item.accesses if access.is_allowed]
    return _Share(bool(mine), list(dict.fromkeys(types)), any(item.delegate_admin for item in mine))


def _item(members: Iterable[Grantee], types: Iterable[str], delegate_admin: bool) -> PolicyItem:
    item = PolicyItem(
        accesses=[PolicyItemAccess(type=name) for name in dict.fromkeys(types)], delegate_admin=delegate_admin
    )
    for grantee in members:
        getattr(item, grantee.kind).append(grantee.name)
    return item


def _without(types: Iterable[str], gone: Iterable[str]) -> list[str]:
    out = set(gone)
    return [name for name in types if name not in out]


def _compacted(policy: AdminPolicy) -> AdminPolicy:
    for items in policy.item_lists().values():
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


def _copy(policy: AdminPolicy) -> AdminPolicy:
    return msgspec.json.decode(msgspec.json.encode(policy), type=AdminPolicy)


def may_delegate(
    policies: Iterable[AdminPolicy],
    resources: Mapping[str, PolicyResource],
    types: Iterable[str],
    is_grantor: Callable[[PolicyItem], bool],
    implied: Mapping[str, frozenset[str]],
) -> bool:
    """Return whether the grantor may delegate all access types on exactly that resource.

    Stricter than Ranger: a policy with a schedule or a condition gives no such right, and any denial that names the
    grantor removes it.
    """
    here = [policy for policy in policies if policy.is_enabled and _covers(policy, resources)]
    if any(is_grantor(item) for policy in here for item in policy.deny_policy_items):
        return False
    held = {name for policy in here for name in _delegable(policy, is_grantor, implied)}
    return bool(held) and set(types) <= held


def _delegable(
    policy: AdminPolicy, is_grantor: Callable[[PolicyItem], bool], implied: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    if policy.validity_schedules or policy.conditions or any(is_grantor(item) for item in policy.allow_exceptions):
        return
    for item in policy.policy_items:
        if item.delegate_admin and not item.conditions and is_grantor(item):
            for name in item.access_types():
                yield name
                yield from implied.get(name, frozenset())


def _covers(policy: AdminPolicy, resources: Mapping[str, PolicyResource]) -> bool:
    return any(
        sets.keys() == resources.keys() and all(_contains(sets[level], wanted) for level, wanted in resources.items())
        for sets in (policy.resources, *policy.additional_resources)
    )


def _contains(resource: PolicyResource, wanted: PolicyResource) -> bool:
    """Return whether every value that `wanted` matches is certainly one of the resource's values."""
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
    """Return whether a resource's values match a value; `*` and `?` are wildcards."""
    # Square brackets are literal in Ranger.
    patterns = (re.sub(r"([\[\]])", r"[\1]", pattern) for pattern in resource.values)
    return not resource.is_excludes and any(re.match(translate(pattern), value) for pattern in patterns)
