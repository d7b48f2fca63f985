"""`PoliciesEverywhere`: the owner's policies, where `refreshed` means in effect in every worker too."""

from __future__ import annotations

import time
from typing import Final

from ranger_cdap.errors import VersionPending
from ranger_cdap.policies.refresh.policy_refresher import PolicyRefresher, Snapshot
from ranger_cdap.service.state.owner_link import Replicas

_PATIENCE: Final = 10.0
"""Seconds to wait for the workers where the caller names none."""


class PoliciesEverywhere:
    """Source of the refresher's policies; a refresh returns when every worker decides by them."""

    def __init__(self, refresher: PolicyRefresher, service: str, replicas: Replicas) -> None:
        self._refresher = refresher
        self._service = service
        self._replicas = replicas

    @property
    def snapshot(self) -> Snapshot:
        """Return the usable policies now."""
        return self._refresher.snapshot

    def refresh_now(self) -> Snapshot:
        """Download once, and return when Ranger Admin's current policies are in effect everywhere.

        Raises:
            RangerCdapError: as the refresher, and if a worker takes too long.
        """
        return self._everywhere(self._refresher.refresh_now(), _PATIENCE)

    def refresh_to(self, version: int, timeout: float) -> Snapshot:
        """Return when policies of that version or newer are in effect everywhere.

        Raises:
            RangerCdapError: as the refresher, and if a worker takes too long.
        """
        began = time.monotonic()
        snapshot = self._refresher.refresh_to(version, timeout)
        return self._everywhere(snapshot, began + timeout - time.monotonic())

    def request_refresh(self) -> None:
        """Request a download soon."""
        self._refresher.request_refresh()

    def close(self) -> None:
        """Stop refreshing."""
        self._refresher.close()

    def _everywhere(self, snapshot: Snapshot, timeout: float) -> Snapshot:
        if not self._replicas.wait_for(self._service, snapshot.number, timeout):
            version = snapshot.versions.policies
            raise VersionPending(f"policies of version `{version}` are not in effect in every worker yet")
        return snapshot
