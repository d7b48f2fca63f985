"""Policies without some principals of their allow items, as documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ranger_cdap.engine.view import OWNER_MACRO, USER_MACRO
from ranger_cdap.keyed import grouped

Json = dict[str, Any]

_ALLOW: Final = "policyItems"
_OTHER_ITEMS: Final = ("denyPolicyItems", "allowExceptions", "denyExceptions")
_LISTS: Final = {"user": "users", "group": "groups", "role": "roles"}
_EVERYONE: Final = "everyone"
_MACROS: Final = {"any user": USER_MACRO, "the owner": OWNER_MACRO}


@dataclass(frozen=True, slots=True)
class ItemPrincipal:
    """A principal of an allow item, by the number of the item from 1; named as `row_text.principals` does."""

    item: int
    principal: str


def without_principals(download: bytes, removed: Mapping[int, Collection[ItemPrincipal]]) -> bytes:
    """Return a download without principals, by the id of their policy, and without policies that have nothing left."""
    document = msgspec.json.decode(download)
    for holder in (document, *(document.get("securityZones") or {}).values()):
        policies = [one for one in holder.get("policies") or () if one is not None]
        holder["policies"] = [one for p in policies if (one := policy_without(p, removed.get(p.get("id"), ())))]
    return msgspec.json.encode(document)


def policy_without(policy: Json, removed: Iterable[ItemPrincipal]) -> Json | None:
    """Return a policy without principals and without items that have none left; None if no item is left."""
    by_item = grouped((one.item, one.principal) for one in removed)
    if not by_item:
        return policy
    items = [one for one in policy.get(_ALLOW) or () if one is not None]
    left = [kept for n, item in enumerate(items, 1) if (kept := _item_without(item, by_item.get(n, ())))]
    if not left and not policy.get("isDenyAllElse") and not any(policy.get(other) for other in _OTHER_ITEMS):
        return None
    return {**policy, _ALLOW: left}


def _item_without(item: Json, removed: Collection[str]) -> Json | None:
    if not removed:
        return item
    if _EVERYONE in removed:
        return None
    found: Json = dict(item)
    for principal in removed:
        kind, _, name = principal.partition(" ")
        names, text = ("users", _MACROS[principal]) if principal in _MACROS else (_LISTS[kind], name)
        found[names] = [one for one in found.get(names) or () if one != text]
    return found if any(found.get(names) for names in _LISTS.values()) else None
