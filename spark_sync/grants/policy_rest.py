"""The Ranger Admin client that writes policies, and the part of it that this takes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, cast

from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.ledger.lease import Lease


class PolicyRest(Protocol):
    """The part of `RangerAdmin` that writes and looks up policies."""

    def security_zones(self, service: str) -> Mapping[str, SecurityZoneInfo]:
        """Return the security zones that a service has resources in, without their policies."""

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        """Return all policies of a zone, or outside of all, that the account may see."""

    def create_policy(self, policy: Policy) -> Policy:
        """Create a policy."""

    def update_policy(self, policy: Policy) -> Policy:
        """Replace the policy with that id."""

    def policy_by_guid(self, service: str, guid: str, zone: str = "") -> Policy | None:
        """Return the policy with that guid in a zone, or outside of all."""

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy."""


def policy_rest(settings: Settings, given: PolicyRest | None = None) -> AbstractContextManager[PolicyRest]:
    """Open the Ranger Admin client for `sync.username`, or that `given`.

    Nothing is sent yet.

    Raises:
        ConfigError: the account is not set, or the address or a file of certificates cannot be used.
    """
    sync = settings.sync
    if given:
        return nullcontext(given)
    if settings.ranger.auth == "basic" and not sync.username:
        raise ConfigError("`sync.username` is not set: it is the account by which grants are written into Ranger")
    return RangerAdmin.connect(settings, sync.username, sync.password, source=AccountSource.SYNC)


def held_rest(rest: PolicyRest, lease: Lease) -> PolicyRest:
    """Return a client each of whose requests is preceded by a check of the lease."""
    return cast("PolicyRest", _HeldRest(rest, lease))


@dataclass(frozen=True)
class _HeldRest:
    rest: PolicyRest
    lease: Lease

    def __getattr__(self, name: str) -> Any:
        self.lease.check()
        return getattr(self.rest, name)
