"""Rights that `setup` and roles give in policies: which ones are theirs, and giving and revoking exactly those. Pure.

Policies are shared: Ranger allows one per resource, so what `setup` grants coexists with what people write. A label per
user, group or role records what was given, `cdap-setup:read+write+admin:user:ann`. Rights without a record, or
in an item that no longer has all that was recorded, are a person's and never change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess

SETUP: Final = "cdap-setup"
"""Beginning of the labels that record what `setup` gave; each giver has one, and sees no record of another."""

DELEGATION: Final = "delegateAdmin"
"""The right to give others what one has on a resource, beside the access types."""

_RIGHTS: Final = (*ACCESS_TYPES, DELEGATION)
_LABEL: Final = re.compile(r"([a-z-]+):([a-zA-Z+]+):(user|group|role):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Holder:
    """A user, a group or a role that holds rights."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == "user" else f"{self.kind} {self.name}"


Accesses = frozenset[str]
Rights = Mapping[Holder, Accesses]
_NONE: Final[Accesses] = frozenset()


def rights(
    accesses: Iterable[str], *, users: Iterable[str] = (), groups: Iterable[str] = (), roles: Iterable[str] = ()
) -> dict[Holder, Accesses]:
    """Return these accesses for each user, group and role."""
    named = (("user", users), ("group", groups), ("role", roles))
    return dict.fromkeys((Holder(kind, name) for kind, names in named for name in names), frozenset(accesses))


def added(*several: Rights) -> dict[Holder, Accesses]:
    """Return the sum of rights."""
    total: dict[Holder, Accesses] = {}
    for one in several:
        for holder, accesses in one.items():
            total[holder] = total.get(holder, _NONE) | accesses
    return total


def recorded(policy: Policy, *, by: str = SETUP) -> dict[Holder, Accesses]:
    """Return the rights that a giver gave in a policy and that are still there as they were given."""
    records = (_record(label, by) for label in policy.policy_labels)
    found = added(*(dict([record]) for record in records if record))
    return {
        holder: accesses
        for holder, accesses in found.items()
        if _own_item(policy.policy_items, holder, accesses) is not None
    }


def held(policy: Policy) -> dict[Holder, Accesses]:
    """Return the unconditional rights of each user, group and role in a policy, given here or by people."""
    return _held(policy.policy_items)


def reconcile(policy: Policy, wanted: Rights, *, may_give: bool = True, by: str = SETUP) -> Policy:
    """Return the policy with exactly the wanted rights from a giver, beside all that people and others wrote.

    What a person gave counts: only the rest is given. Without `may_give` it only revokes. Applied again, it changes
    nothing.
    """
    items, before, record = list(policy.policy_items), recorded(policy, by=by), dict[Holder, Accesses]()
    given = dict(before)
    for holder in dict.fromkeys((*before, *wanted)):
        own, want = before.get(holder, _NONE), wanted.get(holder, _NONE)
        rest = _revoked(items, holder, own)
        keep = own & want
        if may_give:
            keep |= want - _held(rest).get(holder, _NONE)
        if keep != own:
            items = _given(rest, holder, keep, given)
            given[holder] = keep
        if keep:
            record[holder] = keep
    theirs = [label for label in policy.policy_labels if not _record(label, by)]
    ours = [_label(by, holder, accesses) for holder, accesses in record.items()]
    return replaced(policy, policy_items=items, policy_labels=[*theirs, *ours])


def differences(before: Policy, after: Policy, *, by: str = SETUP) -> Iterator[tuple[Holder, Accesses, Accesses]]:
    """Yield each user, group and role whose rights a change gives or revokes, with both."""
    old, new = held(before), held(after)
    for holder in dict.fromkeys((*new, *old)):
        has, had = new.get(holder, _NONE), old.get(holder, _NONE)
        # A right that a person gave as well is still held; what is revoked is in the record.
        revoked = recorded(before, by=by).get(holder, _NONE) - recorded(after, by=by).get(holder, _NONE) - has
        if has - had or revoked:
            yield holder, has - had, revoked


def in_order(accesses: Iterable[str]) -> list[str]:
    """Return access types in the order of `ACCESS_TYPES`, and the right to delegate last."""
    return sorted(accesses, key=_RIGHTS.index)


def _label(by: str, holder: Holder, accesses: Accesses) -> str:
    return f"{by}:{'+'.join(in_order(accesses))}:{holder.kind}:{holder.name}"


def _record(label: str, by: str) -> tuple[Holder, Accesses] | None:
    found = _LABEL.fullmatch(label)
    accesses = frozenset(found[2].split("+")) if found and found[1] == by else _NONE
    return (Holder(found[3], found[4]), accesses) if found and accesses and accesses <= set(_RIGHTS) else None


def _names(item: PolicyItem, kind: str) -> list[str]:
    return {"user": item.users, "group": item.groups, "role": item.roles}[kind]


def _allowed(item: PolicyItem) -> Accesses:
    allowed = {access.type for access in item.accesses if access.is_allowed}
    return frozenset(allowed | {DELEGATION} if item.delegate_admin else allowed)


def _held(items: Iterable[PolicyItem]) -> dict[Holder, Accesses]:
    return added(
        *(
            rights(_allowed(item), users=item.users, groups=item.groups, roles=item.roles)
            for item in items
            if not item.conditions
        )
    )


def _own_item(items: Sequence[PolicyItem], holder: Holder, own: Accesses) -> int | None:
    """Return the number of the item in which a right was given, as it was given or with additions."""
    having = [
        number
        for number, item in enumerate(items)
        if holder.name in _names(item, holder.kind) and own <= _allowed(item) and not item.conditions
    ]
    return min(having, key=lambda n: (items[n].delegate_admin, len(items[n].accesses)), default=None)


def _revoked(items: Sequence[PolicyItem], holder: Holder, own: Accesses) -> list[PolicyItem]:
    """Return the items without this right; additions that a person made to its item stay, in an item of their own."""
    number = _own_item(items, holder, own) if own else None
    if number is None:
        return list(items)
    item, field, left = items[number], f"{holder.kind}s", list[PolicyItem]()
    others = replaced(item, **{field: [name for name in _names(item, holder.kind) if name != holder.name]})
    if others.users or others.groups or others.roles:
        left.append(others)
    additions = [access for access in item.accesses if access.type not in own]
    delegates = item.delegate_admin and DELEGATION not in own
    if additions or delegates:
        alone = replaced(item, accesses=additions, delegate_admin=delegates, users=[], groups=[], roles=[])
        left.append(replaced(alone, **{field: [holder.name]}))
    return [*items[:number], *left, *items[number + 1 :]]


def _given(items: Sequence[PolicyItem], holder: Holder, accesses: Accesses, given: Rights) -> list[PolicyItem]:
    """Return the items with this right, in the item in which the same was given to others, or in a new one."""
    if not accesses:
        return list(items)
    for number, item in enumerate(items):
        ours = any(given.get(other) == accesses for other in _held([item]))
        if ours and _allowed(item) == accesses and not item.conditions:
            more = {f"{holder.kind}s": [*_names(item, holder.kind), holder.name]}
            return [*items[:number], replaced(item, **more), *items[number + 1 :]]
    types = [PolicyItemAccess(type=access) for access in in_order(accesses - {DELEGATION})]
    new = PolicyItem(accesses=types, delegate_admin=DELEGATION in accesses)
    return [*items, replaced(new, **{f"{holder.kind}s": [holder.name]})]
