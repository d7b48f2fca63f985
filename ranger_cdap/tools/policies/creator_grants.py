"""`CreatorGrants`: whether a policy of the sync job is still as the job makes it. Pure.

Law: such a policy gives nothing but accesses on one entity, to exactly one user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranger_cdap.cdap.entity import from_resource
from ranger_cdap.cdap.grant import comparable, grant_for, is_creators_policy, items_of, resources_of
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.transfer import portable
from ranger_cdap.ranger_model.json_text import Undecodable, convert
from ranger_cdap.ranger_model.policy import Policy


@dataclass(frozen=True, slots=True)
class CreatorGrants:
    """The setting of the sync job that adds to the accesses of a creator: delegated administration."""

    delegate_admin: bool

    def made(self, policy: Mapping[str, Any]) -> bool:
        """Return whether a policy is the sync job's and gives no more than the job does."""
        if not is_creators_policy(policy):
            return False
        try:
            there = convert(portable(policy), Policy)
            first = there.policy_items[0]
            on = from_resource({name: one.values[0] for name, one in there.resources.items()})
            if on is None:
                return False
            instance, entity = on
            actions = [access.type for access in first.accesses]
            grant = grant_for(entity, first.users[0], instance, actions, non_creators=())
        except (InvalidInput, IndexError, Undecodable):
            return False
        on_it = resources_of(grant)
        made = (
            Policy(
                name=there.name,
                description=there.description,
                policy_labels=there.policy_labels,
                resources=on_it,
                additional_resources=[on_it],
                policy_items=items_of(grant, delegate_admin=delegate),
            )
            for delegate in {False, self.delegate_admin}
        )
        return any(comparable(there) == comparable(one) for one in made)
