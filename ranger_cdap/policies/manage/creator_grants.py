"""`CreatorGrants`: whether a policy of the sync job is still as the job makes it. Pure.

Law: such a policy gives nothing but accesses on one entity, to exactly one user and the configured group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ranger_cdap.cdap.entity import EntityId, from_resource
from ranger_cdap.cdap.grant import grant_for, is_creators_policy
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.manage.transfer import portable

_MEMBERS: Final = frozenset({"name", "description", "resources", "additionalResources", "policyItems", "policyLabels"})
_ITEM_MEMBERS: Final = frozenset({"users", "groups", "accesses", "delegateAdmin"})


@dataclass(frozen=True, slots=True)
class CreatorGrants:
    """Settings of the sync job that add to the accesses of a creator: a group, and delegated administration."""

    extra_group: str = ""
    delegate_admin: bool = False

    def made(self, policy: Mapping[str, Any]) -> bool:
        """Return whether a policy is the sync job's and gives no more than the job does."""
        if not is_creators_policy(policy):
            return False
        try:
            kept = portable(policy)
            levels = {name: _one(level["values"]) for name, level in kept["resources"].items() if len(level) == 1}
            if kept.keys() - _MEMBERS or (on := from_resource(levels)) is None:
                return False
            instance, entity = on
            user, accesses = self._grantee(kept["policyItems"], entity)
            grant = grant_for(entity, user, instance, accesses, non_creators=())
        except (InvalidInput, LookupError, TypeError, AttributeError):
            return False
        on_it = {name: {"values": [value]} for name, value in grant.resource.items()}
        listed = kept.get("additionalResources", [])
        return bool(listed) and all(each == on_it for each in (kept["resources"], *listed))

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
