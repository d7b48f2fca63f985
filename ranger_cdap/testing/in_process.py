"""Embedded Ranger Admin with a CDAP service, for tests."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ranger_cdap.cdap.entity import EntityId, entity_type, parse_entity, to_resource
from ranger_cdap.config import (
    AuditSettings,
    CdapSettings,
    MasterSettings,
    PluginSettings,
    RangerSettings,
    Secret,
    Settings,
    SyncSettings,
)
from ranger_cdap.errors import InvalidInput
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_policies import EVERY_NAME
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin

PLUGIN: Final = "cdapplugin"
"""The account that downloads policies."""

_ACTIONS: Final = ("READ", "WRITE", "ADMIN", "EXECUTE")


@dataclass(frozen=True, slots=True)
class EmbeddedRanger:
    """A CDAP service in a running embedded Ranger Admin, with an administrator's client.

    `url` is the server's address, `service`, `instance` and `profile` are the names given to `setup`, `password` is
    that of `admin` and of every account created here.
    """

    url: str
    admin: RangerAdmin
    service: str
    instance: str
    password: Secret = field(repr=False)
    profile: str

    def create_users(self, *names: str) -> None:
        """Create missing users; policies can only name existing ones."""
        for name in names:
            if not self.admin.user_exists(name):
                self.admin.create_user(name, self.password)

    def give(self, privileges: Mapping[str, Collection[str]]) -> None:
        """Grant privileges by user, `{"alice": ["READ dataset:ns1.purchases"]}`; unknown users are created.

        Extends the one policy per entity. Plugins get it with their next refresh.

        Raises:
            InvalidInput: a privilege is not an action (READ, WRITE, ADMIN, EXECUTE) on an entity.
        """
        wanted = grouped(
            (entity, (user, action)) for user, held in privileges.items() for action, entity in map(_privilege, held)
        )
        self.create_users(*privileges)
        for entity, given in wanted.items():
            self._add(f"test: {entity}", to_resource(entity, self.instance), given)

    def give_everywhere(self, user: str, action: str, types: Collection[str]) -> None:
        """Grant a user an action on every entity of these types, without changing policies of single entities."""
        self.create_users(user)
        for name in types:
            resource = {"instance": self.instance} | dict.fromkeys(entity_type(name).path[1:], EVERY_NAME)
            self._add(f"test: every {name}", resource, [(user, action)])

    def settings(self, directory: Path) -> Settings:
        """Return settings for `Authorizer.open` with these policies; cache and audit are in the directory."""
        return Settings(
            ranger=RangerSettings(url=self.url, service=self.service),
            cdap=CdapSettings(instance=self.instance, profile=self.profile),
            plugin=PluginSettings(username=PLUGIN, password=self.password, cache_dir=directory / "cache"),
            audit=AuditSettings(file=directory / "audit.jsonl", spool_dir=directory / "audit"),
        )

    def _add(self, name: str, resource: Mapping[str, str], given: Collection[tuple[str, str]]) -> None:
        resources = {level: PolicyResource(values=[value]) for level, value in resource.items()}
        items = [PolicyItem(users=[user], accesses=[PolicyItemAccess(type=action.lower())]) for user, action in given]
        there = {_values(policy.resources): policy for policy in self.admin.list_policies(self.service)}
        if policy := there.get(_values(resources)):
            self.admin.update_policy(replace(policy, policy_items=[*policy.policy_items, *items]))
        else:
            self.admin.create_policy(Policy(service=self.service, name=name, resources=resources, policy_items=items))


@contextmanager
def embedded_ranger(
    service: str = "cdapdev",
    *,
    instance: str = "cdap",
    sync_account: str = "",
    master_user: str = "",
    profile: str = "default",
) -> Iterator[EmbeddedRanger]:
    """Start an embedded Ranger Admin, set up as by `ranger-cdap setup` for that profile; stop it at the end.

    Raises:
        ServerError: the extra `service` is not installed.
    """
    password = Secret(f"Aa1-{secrets.token_urlsafe(12)}")
    with (
        EmbeddedAdmin(admin_password=password.reveal()) as server,
        RangerAdmin(AdminConnection(server.url, username="admin", password=password)) as admin,
    ):
        ranger = EmbeddedRanger(server.url, admin, service, instance, password, profile)
        ranger.create_users(*filter(None, (PLUGIN, sync_account, master_user)))
        wanted = DesiredState.of(
            Settings(
                ranger=RangerSettings(service=service),
                cdap=CdapSettings(instance=instance, profile=profile),
                plugin=PluginSettings(username=PLUGIN),
                sync=SyncSettings(username=sync_account),
                master=MasterSettings(user=master_user),
            )
        )
        service_setup.set_up(admin, wanted)
        yield ranger


def _privilege(text: str) -> tuple[str, EntityId]:
    action, _, entity = text.partition(" ")
    if action not in _ACTIONS:
        raise InvalidInput(f"`{text}` is not a privilege; write one like `READ dataset:ns1.purchases`")
    return action, parse_entity(entity)


def _values(resources: Mapping[str, PolicyResource]) -> frozenset[tuple[str, str]]:
    return frozenset((level, value) for level, resource in resources.items() for value in resource.values)
