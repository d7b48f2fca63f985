"""`PolicyRest`: what the sync job needs of Ranger Admin to write policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ranger_cdap.cdap.grant import Grant
from ranger_cdap.engine.model.wire import Policy


class PolicyRest(Protocol):
    """The part of `RangerAdmin` that writes and looks up policies."""

    def create_policy(self, policy: Policy) -> Policy:
        """Create a policy."""

    def update_policy(self, policy: Policy) -> Policy:
        """Replace the policy with that id."""

    def policy_by_id(self, policy_id: int) -> Policy | None:
        """The policy with that id."""

    def policy_by_guid(self, service: str, guid: str) -> Policy | None:
        """The policy with that guid."""

    def policy_by_name(self, service: str, name: str) -> Policy | None:
        """The policy with that name."""

    def policies_matching(self, service: str, resource: Mapping[str, str]) -> list[Policy]:
        """The policies that have those values at those levels, and perhaps others."""

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy."""

    def grant_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """Add a grant to the policy of exactly that resource."""

    def revoke_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """Take a grant out of the policy of exactly that resource."""
