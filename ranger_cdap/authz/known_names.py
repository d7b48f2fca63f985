"""Names that are known: those in policies, roles, tags, an inventory and Ranger's user store.

A question about another name is answered as asked, with the nearest known names: the name may be a typo.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.authz.policy_index import PolicyIndex, users_of
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, entity_type, entity_types, to_resource
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import Operation
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.engine.view import OWNER_MACRO, PUBLIC, USER_MACRO, matches, normalise
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger_model.policy import PolicyResource

Resource = Mapping[str, PolicyResource]

_NAMESPACE: Final = "namespace"
_ALWAYS_THERE: Final = frozenset({"default", "system"})
"""Namespaces of every CDAP instance."""
_NEAREST: Final = 3
_LIKENESS: Final = 0.6
_WILD: Final = re.compile(r"[*?{]")


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Known names by kind. Where no name of a kind is known, none is unknown."""

    users: frozenset[str]
    groups: frozenset[str]
    roles: frozenset[str]
    _members: GroupResolver
    _has_user_store: bool
    _named: Mapping[str, Mapping[str, list[Resource]]]
    """By level and value without wildcards, the resources that have it."""
    _wild: Mapping[str, list[tuple[str, Resource]]]

    @classmethod
    def of(cls, authorizer: Authorizer, index: PolicyIndex, inventory: Iterable[EntityId] = ()) -> Self:
        """Return the names in the policies of an authorizer, by their index, and in an inventory."""
        config, special = authorizer.decider.config, index.privileged
        items = [item for policy in index.policies.values() for item in policy.items()]
        users = {user for item in items for user in item.users} | special.super_users
        users |= index.roles.users_of(index.roles.names)
        groups = {group for item in items for group in item.groups} | special.super_groups | index.groups_in_roles
        if index.users is not None:
            users |= users_of(index.users)
            groups.update(*index.users.user_group_mapping.values())
        users -= {USER_MACRO, OWNER_MACRO, ""}
        resources: list[Resource] = [
            one for policy in index.policies.values() for one in (policy.resources, *policy.additional_resources)
        ]
        resources += index.tagged_resources
        resources += (
            {level: PolicyResource(values=[value]) for level, value in to_resource(entity, config.instance).items()}
            for entity in inventory
        )
        found = [(level, value, one) for one in resources for level, at in one.items() for value in at.values or ["*"]]
        named = grouped((level, (value, one)) for level, value, one in found if not _WILD.search(value))
        return cls(
            frozenset(users | {config.master} if users else users),
            frozenset(groups | {PUBLIC} if groups else groups),
            index.roles.names,
            GroupResolver.of(authorizer.snapshot, authorizer.decider.group_hook),
            index.users is not None,
            {level: grouped(pairs) for level, pairs in named.items()},
            grouped((level, (value, one)) for level, value, one in found if _WILD.search(value)),
        )

    def unknown(
        self,
        users: Iterable[str],
        groups: Iterable[str],
        entities: Iterable[EntityId | EntityPattern] = (),
        roles: Iterable[str] = (),
    ) -> tuple[UnknownName, ...]:
        """Return the names that are not known, each once.

        Without a user store, users with groups count as known: their groups decide.
        """
        among = frozenset(groups)
        ours, _ = self._members.names.groups(among)
        found = [one for name in sorted(ours) if (one := _missing("group", name, self.groups))]
        found += [one for name in roles if (one := _missing("role", name, self.roles))]
        for member in map(self._members.membership, users):
            if self._has_user_store or not (among or member.groups):
                found += [one] if (one := _missing("user", member.user, self.users)) else []
        found += [one for entity in entities if (one := self._unknown_level(entity))]
        return tuple(dict.fromkeys(found))

    def unknown_in(
        self, row: Operation, user: str, groups: Iterable[str], entity: EntityId, context: Context
    ) -> tuple[UnknownName, ...]:
        """Return the names in a permission check that are not known; what an operation creates need not be."""
        users = dict.fromkeys(filter(None, (user, context.effective)))
        related = (one for found in context.related.values() for one in found if isinstance(one, EntityId))
        places = [entity.parent if row.gives else entity, *(one.ancestor(_NAMESPACE) for one in related)]
        return self.unknown(users, groups, dict.fromkeys(filter(None, places)))

    @property
    def namespaces(self) -> Collection[str]:
        """Return the namespaces that are named."""
        return self._named.get(_NAMESPACE, {}).keys()

    def entities(self) -> Iterator[str]:
        """Yield the entities that are named in full, as people type them; some several times."""
        for kind in entity_types().values():
            upper = kind.path[1:-1]
            for value, resources in self._named.get(kind.name, {}).items():
                for one in resources:
                    above = [name for level in upper if level in one for name in one[level].values]
                    if len(above) == len(upper) and not any(map(_WILD.search, above)):
                        yield f"{kind.name}:{'.'.join((*above, value))}"

    def _unknown_level(self, entity: EntityId | EntityPattern) -> UnknownName | None:
        """Return the first level of an entity whose name is not known."""
        above: dict[str, str] = {}
        for level, part in zip(entity_type(entity.type).path[1:], entity.parts, strict=True):
            known = self._named.get(level, {})
            if _WILD.search(part):
                return None
            is_always_there = level == _NAMESPACE and part in _ALWAYS_THERE
            is_named = is_always_there or any(_below(one, above) for one in known.get(part, ()))
            others = () if is_named else known.items()
            if there := [value for value, found in others if any(_below(one, above) for one in found)]:
                prefix = "".join(f"{name}." for name in above.values())
                near = tuple(f"{prefix}{name}" for name in _nearest(part, there))
                wild = (value for value, one in self._wild.get(level, ()) if _below(one, above))
                covered = any(may_match(v, part) and (level != _NAMESPACE or v.strip("*?")) for v in wild)
                return UnknownName(level, f"{prefix}{part}", near, covered)
            above[level] = part
        return None


def may_match(value: str, name: str) -> bool:
    """Return whether a policy's value may match a name; one with a macro may match any."""
    return "{" in value or matches(normalise(value.lower()), name.lower())


def _below(resource: Resource, above: Mapping[str, str]) -> bool:
    """Return whether the upper levels of a resource may match these names."""
    return all(
        at.is_excludes or any(may_match(value, name) for value in at.values or ("*",))
        for level, name in above.items()
        if (at := resource.get(level)) is not None
    )


def _missing(kind: str, name: str, known: Collection[str]) -> UnknownName | None:
    return UnknownName(kind, name, _nearest(name, known)) if known and name not in known else None


def _nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(name, sorted(known), _NEAREST, _LIKENESS))
