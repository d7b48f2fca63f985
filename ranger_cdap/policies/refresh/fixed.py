"""`FixedPolicies`: policies of files, which decide as those of Ranger Admin do and never change."""

from __future__ import annotations

from typing import Self

from ranger_cdap.engine import EngineOptions, decode_service_policies
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.refresh.documents import Documents, compile_set, needs_tags, pieces
from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from ranger_cdap.policies.refresh.refresh_state import PolicyState

_NOTHING = b"{}"


def documents(
    policies: bytes, roles: bytes | None = None, tags: bytes | None = None, users: bytes | None = None
) -> Documents:
    """Downloads that somebody has kept; without roles no user is in one, without tags no resource carries one.

    Raises:
        PolicySetError: the policies cannot be read.
    """
    return Documents(policies, roles or _NOTHING, (tags or _NOTHING) if needs_tags(policies) else None, users)


class FixedPolicies:
    """In the place of a `PolicyKeeper`: one snapshot, which stays in effect."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @classmethod
    def of(cls, documents: Documents, *, service: str, options: EngineOptions) -> Self:
        """The policies of these documents; `service` is their service where they do not say.

        Raises:
            PolicySetError: one of them cannot be read or belongs to another service, or the engine cannot use them.
        """
        named = decode_service_policies(b"".join(pieces(documents.policies))).serviceName
        compiled = compile_set(documents, named or service, options)
        return cls(
            Snapshot(
                compiled.engine,
                PolicyState.FRESH,
                "",
                versions=compiled.versions,
                groups_of=compiled.groups_of,
                documents=compiled.documents,
            )
        )

    @property
    def snapshot(self) -> Snapshot:
        """The policies in effect."""
        return self._snapshot

    def refresh_now(self) -> Snapshot:
        """Return the same policies: they have no source."""
        return self._snapshot

    def request_refresh(self) -> None:
        """Refuse to refresh what has no source.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput("these policies come from a file and are not refreshed; open the authorizer again")

    def close(self) -> None:
        """Do nothing: there is nothing to end."""
