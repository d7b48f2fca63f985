"""Policies from files, which never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import InvalidInput, VersionPending
from ranger_cdap.ranger.refresh.documents import Documents, compile_set, needs_tags, pieces
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.ranger_model.decode import decode_service_policies

_NOTHING = b"{}"


def documents(
    policies: bytes, roles: bytes | None = None, tags: bytes | None = None, users: bytes | None = None
) -> Documents:
    """Return the documents of saved downloads; missing roles are empty, and so are tags that tag policies need.

    Raises:
        PolicySetError: the policies are unreadable.
    """
    return Documents(policies, roles or _NOTHING, tags or (_NOTHING if needs_tags(policies) else None), users)


@dataclass(frozen=True, slots=True)
class FixedPolicies:
    """Substitute of a `PolicyRefresher`, with one permanent snapshot."""

    snapshot: Snapshot

    @classmethod
    def of(cls, documents: Documents, *, service: str, options: EngineOptions) -> Self:
        """Compile these documents; `service` is their service if they name none.

        Raises:
            PolicySetError: one of them is unreadable or belongs to another service, or the engine rejects them.
        """
        named = decode_service_policies(b"".join(pieces(documents.policies))).service_name
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

    def refresh_now(self) -> Snapshot:
        """Return the same policies: they have no source."""
        return self.snapshot

    def refresh_to(self, version: int, timeout: float) -> Snapshot:
        """Return the same policies.

        Raises:
            VersionPending: they are older.
        """
        if not self.snapshot.has(version):
            raise VersionPending(
                f"these policies come from a file, which has version `{self.snapshot.versions.policies}`"
            )
        return self.snapshot

    def request_refresh(self) -> None:
        """Reject the request, because fixed policies have no source.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput("these policies come from a file and are not refreshed; open the authorizer again")

    def close(self) -> None:
        """Do nothing."""
