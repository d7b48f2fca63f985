"""Policies as people write them, read in one way or not at all. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from msgspec import structs

from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.step import Json
from ranger_cdap.ranger.changes.transfer import policy_key, portable
from ranger_cdap.ranger_model.document import Document
from ranger_cdap.ranger_model.json_text import convert
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyItemCondition, PolicyResource

_CLOSE: Final = 0.8
_ITEM_LISTS: Final = tuple(Policy().item_lists())


def readable(policy: Any) -> Json:
    """Return the transferred part of one policy, if it can be read in one way only.

    A member with nearly a known name is refused, because Ranger ignores it: a `denyPolicyItem` would deny nothing.

    Raises:
        InvalidInput: it is not such a policy; the message has the place in it.
    """
    if not isinstance(policy, dict):
        raise InvalidInput("a policy is not a JSON object")
    try:
        kept = portable(policy)
    except (AttributeError, TypeError):
        raise InvalidInput(f"policy `{policy.get('name', '')}` cannot be read: its resources are no objects") from None
    convert(kept, Policy, lambda why: InvalidInput(f"policy `{policy.get('name', '')}` cannot be read: {why}"))
    if not kept.get("name"):
        raise InvalidInput("a policy of the file has no name")
    for place, near, known in _misspelt(kept):
        raise InvalidInput(f"policy `{kept['name']}` has `{near}` in {place}; did you mean `{known}`?")
    return kept


def require_one_service(policies: Iterable[Any]) -> None:
    """Require that policies, as far as they say, belong to one service.

    Raises:
        InvalidInput: they belong to several.
    """
    of_service(policies, "")


def of_service(policies: Iterable[Any], chosen: str) -> list[Any]:
    """Return the policies of the chosen service, and those that name none.

    Raises:
        InvalidInput: there are none of it, or it is open of which of several services they are.
    """
    found = [(str(one.get("service") or "") if isinstance(one, dict) else "", one) for one in policies]
    named = sorted({service for service, _ in found if service})
    names = " and ".join(f"`{name}`" for name in named)
    if not chosen and len(named) > 1:
        raise InvalidInput(f"the policies belong to {len(named)} services, {names}: add `,service=NAME` for one")
    if chosen and named and chosen not in named:
        raise InvalidInput(f"the policies belong to {names}, not to service `{chosen}`")
    return [one for service, one in found if not chosen or service in ("", chosen)]


def ordered(policies: Iterable[Any]) -> tuple[Json, ...]:
    """Return readable policies in the order of their zones and names.

    Raises:
        InvalidInput: one is not readable, or two have the same name.
    """
    found: dict[tuple[str, str], Json] = {}
    for policy in map(readable, policies):
        if found.setdefault(key := policy_key(policy), policy) is not policy:
            raise InvalidInput(f"two policies of the file have the name `{key[1]}`")
    return tuple(found[key] for key in sorted(found))


def _misspelt(policy: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield place, name and probable name of every member that nearly has a known name."""
    yield from _nearly(policy, Policy, "the policy")
    for name in _ITEM_LISTS:
        for item in policy.get(name, ()):
            yield from _nearly(item, PolicyItem, name)
            for access in item.get("accesses", ()):
                yield from _nearly(access, PolicyItemAccess, f"{name}.accesses")
            for condition in item.get("conditions", ()):
                yield from _nearly(condition, PolicyItemCondition, f"{name}.conditions")
    for resources in (policy.get("resources", {}), *policy.get("additionalResources", ())):
        for level in resources.values():
            yield from _nearly(level, PolicyResource, "resources")


def _nearly(written: Mapping[str, Any], kind: type[Document], place: str) -> Iterator[tuple[str, str, str]]:
    known = _known_members(kind)
    for name in written.keys() - known:
        lowered = {one.lower(): one for one in known}
        if near := difflib.get_close_matches(name.lower().replace("_", ""), lowered, n=1, cutoff=_CLOSE):
            yield place, name, lowered[near[0]]


@cache
def _known_members(kind: type[Document]) -> frozenset[str]:
    return frozenset(field.encode_name for field in structs.fields(kind))
