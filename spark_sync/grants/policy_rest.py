"""Protocol of the Ranger Admin client that writes policies."""

from __future__ import annotations

from typing import Protocol

from ranger_cdap.ranger_model.policy import Policy


class PolicyRest(Protocol):
    """The part of `RangerAdmin` that writes and looks up policies."""

    def list_policies(self, service: str) -> list[Policy]:
        """Return all policies of a service that the account may see."""

    def create_policy(self, policy: Policy) -> Policy:
        """Create a policy."""

    def update_policy(self, policy: Policy) -> Policy:
        """Replace the policy with that id."""

    def policy_by_guid(self, service: str, guid: str) -> Policy | None:
        """Return the policy with that guid."""

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy."""
