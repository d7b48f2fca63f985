"""Versions of policies, roles, tags and users."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import astuple

NO_VERSION: Final = -1


class Versions(msgspec.Struct, frozen=True):
    """Last known versions, sent to Ranger Admin for comparison; -1: none."""

    policies: int = NO_VERSION
    roles: int = NO_VERSION
    tags: int = NO_VERSION
    users: int = NO_VERSION

    def older_than(self, used: Versions) -> str:
        """Describe the versions that are older than those used; empty if none is.

        Tags count among equal policies only: a service that is linked to another tag service has other versions.
        """
        pairs = [("policies", self.policies, used.policies), ("roles", self.roles, used.roles)]
        pairs += [("tags", self.tags, used.tags)] if self.policies == used.policies else []
        pairs += [("users", self.users, used.users)] if self.users != NO_VERSION else []
        return "; ".join(
            f"version {own} of the {what}, and this host has used {other}" for what, own, other in pairs if own < other
        )

    def newest(self, other: Versions) -> Versions:
        """Return the higher version of each."""
        return Versions(*(max(pair) for pair in zip(astuple(self), astuple(other), strict=True)))
