"""The desired and the current state of Ranger, between which `setup` plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from ranger_cdap.cdap.profile import Profile, load_profile
from ranger_cdap.config import Settings
from ranger_cdap.ranger_model.policy import Policy


@dataclass(frozen=True, slots=True)
class DesiredState:
    """The desired state, by the settings: users who are no longer in them lose what `setup` gave.

    `to_create_first`: the rights on the instance, and on the namespace itself, by which the profile lets the master
    user create the namespace `default` on startup. `lookup`: Ranger Admin has the look-up jar, or has it no longer;
    None leaves look-up as it is.
    """

    service: str
    instance: str
    plugin_account: str = ""
    sync_account: str = ""
    master_user: str = ""
    master_may_create: bool = False
    admin_users: tuple[str, ...] = ()
    admin_groups: tuple[str, ...] = ()
    to_create_first: tuple[frozenset[str], frozenset[str]] = (frozenset({"write"}), frozenset())
    lookup: bool | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the desired state of these settings."""
        return cls(
            service=settings.ranger.service,
            instance=settings.cdap.instance,
            plugin_account=settings.plugin.username,
            sync_account=settings.sync.username,
            master_user=settings.master.user,
            master_may_create=settings.master.create == "allow",
            admin_users=settings.admin.users,
            admin_groups=settings.admin.groups,
            to_create_first=_to_create_first(load_profile(settings.cdap.profile)),
        )


def _to_create_first(profile: Profile) -> tuple[frozenset[str], frozenset[str]]:
    needed = profile.operation("namespace.create").alternatives[0]
    on_namespace = {privilege.actions[0].lower() for privilege in needed if privilege.target == "entity"}
    on_instance = {privilege.actions[0].lower() for privilege in needed if privilege.target in ("instance", "parent")}
    return frozenset(on_instance), frozenset(on_namespace)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """The current state of Ranger Admin; `documents` has the policies by id, as Ranger sent them."""

    definition: dict[str, Any] | None
    service: dict[str, Any] | None
    policies: Sequence[Policy]
    documents: Mapping[int | None, dict[str, Any]] = field(default_factory=dict)

    def document(self, policy: Policy) -> dict[str, Any]:
        """Return a policy as Ranger sent it."""
        found: dict[str, Any] = self.documents.get(policy.id) or msgspec.to_builtins(policy)
        return found
