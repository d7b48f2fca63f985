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

from ranger_cdap.cdap.entity import EntityId, from_resource
from ranger_cdap.cdap.grant import CREATORS_LABEL, MOST_COPIES, grant_for, grant_guid
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.manage.transfer import portable

_NAME: Final = re.compile(r"creator of .+ ([1-9][0-9]{0,8}) ([0-9a-f]{8})")
_MEMBERS: Final = frozenset({"name", "description", "resources", "additionalResources", "policyItems", "policyLabels"})
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
            return False
        try:
            kept = portable(policy)
            if kept.keys() - _MEMBERS or CREATORS_LABEL not in kept["policyLabels"]:
                return False
            levels = {name: _one(level["values"]) for name, level in kept["resources"].items() if len(level) == 1}
            if (on := from_resource(levels)) is None:
                return False
            instance, entity = on
            user, accesses = self._grantee(kept["policyItems"], entity)
            grant = grant_for(entity, user, instance, accesses, non_creators=())
        except (InvalidInput, LookupError, TypeError, AttributeError):
            return False
        on_it = {name: {"values": [value]} for name, value in grant.resource.items()}
        listed = kept.get("additionalResources", [])
        same_resource = bool(listed) and all(each == on_it for each in (kept["resources"], *listed))
        guids = (grant_guid(instance, entity, int(named[1]), copy) for copy in range(MOST_COPIES))
        return same_resource and any(guid.startswith(named[2]) and policy.get("guid", guid) == guid for guid in guids)

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
