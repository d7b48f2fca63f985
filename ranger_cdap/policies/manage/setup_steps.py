"""Steps of `setup`: the desired and the current state of Ranger, and each kind of change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

from ranger_cdap.cdap.profile import Profile, load_profile
from ranger_cdap.config import Settings
from ranger_cdap.policies.manage.setup_rights import Holder
from ranger_cdap.ranger_model.policy import Policy


class SetupAction(Enum):
    """Kind of a step; `DISABLED` and `BLOCKED` need an administrator, and `setup` changes nothing there."""

    CREATE = "create"
    UPDATE = "update"
    KEEP = "keep"
    DISABLED = "disabled"
    BLOCKED = "blocked"


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
    """The current state of Ranger Admin."""

    definition: dict[str, Any] | None
    service: dict[str, Any] | None
    policies: Sequence[Policy]


@dataclass(frozen=True, slots=True)
class DefinitionStep:
    """Register or extend the service definition."""

    change: SetupAction
    detail: str
    body: dict[str, Any]

    @property
    def subject(self) -> str:
        """The object of the step, with its kind."""
        return f"service definition `{self.body['name']}`"

    def __str__(self) -> str:
        return f"{self.change.value} {self.subject}: {self.detail}"


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """Create the service or change its lists of accounts."""

    change: SetupAction
    detail: str
    body: dict[str, Any]

    @property
    def subject(self) -> str:
        """The object of the step, with its kind."""
        return f"service `{self.body['name']}`"

    def __str__(self) -> str:
        return f"{self.change.value} {self.subject}: {self.detail}"


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """Create a policy, or change the rights that `setup` gives in one; `receivers` get some."""

    change: SetupAction
    detail: str
    body: Policy
    receivers: tuple[Holder, ...] = ()

    @property
    def subject(self) -> str:
        """The object of the step, with its kind."""
        return f"policy `{self.body.name}`"

    def __str__(self) -> str:
        return f"{self.change.value} {self.subject}: {self.detail}"


Step = DefinitionStep | ServiceStep | PolicyStep
