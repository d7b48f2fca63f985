"""Protocol of the Ranger Admin client that writes policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ranger_cdap.cdap.grant import Grant
from ranger_cdap.ranger_model.policy import Policy


class PolicyRest(Protocol):
    """The part of `RangerAdmin` that writes and looks up policies."""

    def create_policy(self, policy: Policy) -> Policy:
        """Create a policy."""

    def update_policy(self, policy: Policy) -> Policy:
        """Replace the policy with that id."""

    def policy_by_id(self, policy_id: int) -> Policy | None:
        """Return the policy with that id."""

    def policy_by_guid(self, service: str, guid: str) -> Policy | None:
        """Return the policy with that guid."""

    def policy_by_name(self, service: str, name: str) -> Policy | None:
        """Return the policy with that name."""

    def policies_matching(self, service: str, resource: Mapping[str, str]) -> list[Policy]:
        """Return the policies that match those values at those levels."""

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy."""

    def grant_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """Add a grant to the policy of exactly that resource."""

    def revoke_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """Remove a grant from the policy of exactly that resource."""
