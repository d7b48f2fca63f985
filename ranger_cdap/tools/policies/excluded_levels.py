"""Policies of the Java predecessor that end in levels which exclude everything, rewritten to end where they mean. Pure.

Its service definition let no policy end at a namespace, so that a policy on the namespace alone excluded everything on
the levels below, as its README says. Ranger 2.9 matches nothing by such a policy. Laws: a rewritten policy decides on
exactly what it means, on nothing above and nothing below; all others stay as they are; rewriting twice is rewriting
once; no two policies have the same resource afterwards that had different ones before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

import servicedef
from ranger_cdap.engine.view import ServiceModel, compile_level, compile_service_def
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger.changes.step import Json
from ranger_cdap.ranger.changes.transfer import policy_key, portable
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger_model.decode import decode_policy
from ranger_cdap.ranger_model.policy import Policy, PolicyResource, name_text
from ranger_cdap.ranger_model.service_def import ServiceDef

_MERGED: Final = ("policyItems", "denyPolicyItems")
_PLAIN: Final = frozenset({"name", "description", "resources", "policyLabels", "zoneName", *_MERGED})
"""Members of policies that decide alike as one; with exceptions, conditions or a validity they would not."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Policy that was rewritten: the levels it loses, the one it ends at, and the policy that has its items now.

    Its name is followed by its security zone, if it is in one.
    """

    name: str
    dropped: tuple[str, ...]
    ends_at: str
    merged_into: str = ""

    def __str__(self) -> str:
        levels = ", ".join(self.dropped)
        merged = f", and is merged into policy `{self.merged_into}`" if self.merged_into else ""
        return f"it ends at its {self.ends_at}, without {levels}{merged}"


@dataclass(frozen=True, slots=True)
class LeftAsItIs:
    """Policy that excludes everything somewhere, matches nothing, and cannot be rewritten."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"it stays as it is and matches nothing: {self.reason}"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Policies afterwards, and what was done."""

    collection: PolicyCollection
    done: tuple[Rewriting, ...]
    left: tuple[LeftAsItIs, ...]


def rewrite(collection: PolicyCollection) -> Rewritten:
    """Return the collection with its policies ending where they mean.

    Raises:
        PolicySetError: the definition of the service is not usable.
    """
    definition = msgspec.convert(collection.service.definition or servicedef.service_definition(), ServiceDef)
    model, ends = compile_service_def(definition), _ends(definition)
    there = {_signature(one): one for one in collection.policies if _dropped(_decoded(one), model) is None}
    kept: dict[tuple[str, object], Json] = {policy_key(one): one for one in collection.policies}
    done: list[Rewriting] = []
    left: list[LeftAsItIs] = []
    for policy in collection.policies:
        name, dropped = name_text(str(policy.get("name")), policy.get("zoneName")), _dropped(_decoded(policy), model)
        if dropped is None:
            continue
        if reason := _obstacle(policy, dropped, ends):
            left.append(LeftAsItIs(name, reason))
            continue
        wanted = {**policy, "resources": {n: one for n, one in policy["resources"].items() if n not in dropped.levels}}
        other = there.get(_signature(wanted))
        if other is None:
            there[_signature(wanted)] = kept[policy_key(policy)] = wanted
            done.append(Rewriting(name, dropped.levels, dropped.ends_at))
        elif _is_plain(other) and _is_plain(wanted):
            there[_signature(wanted)] = kept[policy_key(other)] = _merged(other, wanted)
            del kept[policy_key(policy)]
            done.append(Rewriting(name, dropped.levels, dropped.ends_at, str(other.get("name"))))
        else:
            left.append(LeftAsItIs(name, f"Ranger accepts no second policy on the resource of `{other.get('name')}`"))
    return Rewritten(replace(collection, policies=tuple(kept.values())), tuple(done), tuple(left))


@dataclass(frozen=True, slots=True)
class _Dropped:
    """Lowest levels of a policy, all of which exclude everything; none, if others do."""

    levels: tuple[str, ...]
    ends_at: str


def _decoded(policy: Json) -> Policy | None:
    try:
        return decode_policy(msgspec.Raw(msgspec.json.encode(policy)))
    except PolicySetError:
        return None


def _dropped(policy: Policy | None, model: ServiceModel) -> _Dropped | None:
    """Return what to drop of a policy; None if no level of it excludes everything."""
    if policy is None or not any(_is_void(one, name, model) for name, one in policy.resources.items()):
        return None
    path = model.path_of(frozenset(policy.resources)) or ()
    end = len(path)
    while end and _is_void(policy.resources[path[end - 1]], path[end - 1], model):
        end -= 1
    if not end or any(_is_void(policy.resources[name], name, model) for name in path[:end]):
        return _Dropped((), "")
    return _Dropped(tuple(path[end:]), path[end - 1])


def _is_void(resource: PolicyResource, name: str, model: ServiceModel) -> bool:
    options = model.levels.get(name)
    return options is not None and compile_level(resource, options).matches_nothing


def _obstacle(policy: Json, dropped: _Dropped, ends: frozenset[str]) -> str:
    if policy.get("additionalResources"):
        return "it has additional resources"
    if not dropped.levels:
        return "a level above one that it names excludes everything"
    if dropped.ends_at not in ends:
        return f"the service definition lets no policy end at the {dropped.ends_at}; run `ranger-cdap setup` first"
    return ""


def _ends(definition: ServiceDef) -> frozenset[str]:
    parents = {row.parent for row in definition.resources}
    return frozenset(
        row.name
        for row in definition.resources
        if (row.name not in parents if row.is_valid_leaf is None else row.is_valid_leaf)
    )


def _signature(policy: Mapping[str, object]) -> str:
    """Return what Ranger accepts once: the resource of a policy, with its zone and type, in any order of values."""
    levels = {
        name: (sorted(one.get("values") or ()), bool(one.get("isExcludes")), bool(one.get("isRecursive")))
        for name, one in _resources(policy).items()
    }
    where = [policy.get("zoneName") or "", policy.get("policyType") or 0]
    return msgspec.json.encode([*where, sorted(levels.items())]).decode()


def _resources(policy: Mapping[str, object]) -> Mapping[str, Json]:
    resources = policy.get("resources")
    return resources if isinstance(resources, dict) else {}


def _is_plain(policy: Json) -> bool:
    return _PLAIN.issuperset(portable(policy))


def _merged(one: Json, other: Json) -> Json:
    lists = {name: [*one.get(name, ()), *other.get(name, ())] for name in _MERGED}
    return {**one, **{name: items for name, items in lists.items() if items}}
