"""Recognition of the grants of the sync job among other policies. Pure.

Law: a policy is taken for such a grant only if it gives what the sync job may give: exactly one user, and the
configured group, accesses on single entities, under the guid that is derived for it; its label alone proves nothing.
A user with delegated administration of that entity can still make one: `ranger-cdap sync reconcile` compares them with
the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_types
from ranger_cdap.cdap.grant import CREATORS_LABEL, grant_for, grant_guid
from ranger_cdap.cdap.shared_policy import read_shared
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.policies.manage.transfer import portable
from ranger_cdap.ranger_model.decode import convert_policy

_NAME: Final = re.compile(r"creator of .+ ([1-9][0-9]{0,8}) ([0-9a-f]{8})")
_MEMBERS: Final = frozenset({"name", "description", "resources", "policyItems", "policyLabels"})
_ITEM_MEMBERS: Final = frozenset({"users", "groups", "accesses", "delegateAdmin"})


@dataclass(frozen=True, slots=True)
class CreatorGrants:
    """Settings of the sync job that add to the accesses of a creator: a group, and delegated administration."""

    extra_group: str = ""
    delegate_admin: bool = False

    def includes(self, policy: Mapping[str, Any]) -> bool:
        """Return whether a policy, from Ranger or from a file, has the form of a grant of the sync job."""
        named = _NAME.fullmatch(str(policy.get("name")))
        if named is None:
            return self._includes_shared(policy)
        try:
            kept = portable(policy)
            if kept.keys() - _MEMBERS or CREATORS_LABEL not in kept["policyLabels"]:
                return False
            levels = {name: _one(level["values"]) for name, level in kept["resources"].items() if len(level) == 1}
            instance, entity, with_programs = _entity(levels)
            user, accesses = self._grantee(kept["policyItems"], entity)
            grant = grant_for(entity, user, instance, accesses, non_creators=(), with_programs=with_programs)
        except (InvalidInput, LookupError, TypeError, AttributeError):
            return False
        guid = grant_guid(instance, entity, int(named[1]))
        same_resource = kept["resources"] == {name: {"values": [value]} for name, value in grant.resource.items()}
        return same_resource and guid.startswith(named[2]) and policy.get("guid", guid) == guid

    def _includes_shared(self, policy: Mapping[str, Any]) -> bool:
        """Return whether a policy is one of several entities; in a file, only its name shows the guid."""
        try:
            kept = convert_policy(portable(policy) | {"guid": ""})
        except (PolicySetError, LookupError, TypeError, AttributeError):
            return False
        content = read_shared(kept, any_guid=True)
        if content is None or policy.get("guid", content.place.guid) != content.place.guid:
            return False
        terms = content.terms
        group = self.extra_group.replace("{namespace}", next(iter(content.entities)).namespace or "")
        return terms.group in ("", group) and (self.delegate_admin or not terms.delegate_admin)

    def _grantee(self, items: Sequence[Any], entity: EntityId) -> tuple[str, list[str]]:
        """Return the user and the accesses of the items.

        Raises:
            InvalidInput: they give more.
        """
        first, *others = items
        group = self.extra_group.replace("{namespace}", entity.namespace or "")
        accesses = first["accesses"]
        expected = {"groups": [group], "accesses": accesses}
        if (
            first.keys() - _ITEM_MEMBERS
            or first.get("groups")
            or (first.get("delegateAdmin") and not self.delegate_admin)
        ):
            raise InvalidInput("the item gives more than a grant")
        if others and not (self.extra_group and others == [expected]):
            raise InvalidInput("the items give more than a grant")
        if any(access.keys() != {"type"} for access in accesses):
            raise InvalidInput("an access is not allowed")
        return _one(first["users"]), [access["type"] for access in accesses]


def _one(values: Sequence[str]) -> str:
    if len(values) != 1:
        raise InvalidInput("there is not exactly one value")
    return values[0]


def _entity(levels: Mapping[str, str]) -> tuple[str, EntityId, bool]:
    """Return the instance, the one entity that levels name, and whether an application's programs are included."""
    with_programs = levels.get("program") == "*"
    named = {name: value for name, value in levels.items() if not (with_programs and name == "program")}
    kind = next((kind for kind in entity_types().values() if set(kind.path) == named.keys()), None)
    if kind is None:
        raise InvalidInput("the levels are those of no entity")
    return named[kind.path[0]], entity_id(kind.name, [named[name] for name in kind.path[1:]]), with_programs
