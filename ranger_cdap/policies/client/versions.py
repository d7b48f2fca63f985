"""`Versions`: which policies, roles, tags and users a host has, and which of two are older."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Final

NO_VERSION: Final = -1


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of what is known, -1 for nothing: what Ranger Admin is asked to compare with."""

    policies: int = NO_VERSION
    roles: int = NO_VERSION
    tags: int = NO_VERSION
    users: int = NO_VERSION

    def older_than(self, used: Versions) -> str:
        """What of a set of these versions is older than what was used, in a sentence; empty where nothing is.

        Tags count among equal policies only: a service that is linked to another tag service has other versions.
        """
        pairs = [("policies", self.policies, used.policies), ("roles", self.roles, used.roles)]
        pairs += [("tags", self.tags, used.tags)] if self.policies == used.policies else []
        pairs += [("users", self.users, used.users)] if self.users != NO_VERSION else []
        return "; ".join(
            f"version {own} of the {what}, and this host has used {other}" for what, own, other in pairs if own < other
        )

    def newest(self, other: Versions) -> Versions:
        """The higher version of each."""
        return Versions(*(max(pair) for pair in zip(astuple(self), astuple(other), strict=True)))
