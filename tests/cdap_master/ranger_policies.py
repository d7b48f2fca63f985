"""Ranger as these tests need it: an embedded Admin, set up for CDAP, in which people are given exact privileges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from in_memory_cdap import MASTER

from ranger_cdap.cdap.entity import EntityId, parse_entity, to_resource
from ranger_cdap.config import Secret
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.engine.wire import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.policies import service_setup
from ranger_cdap.policies.ranger_admin import RangerAdmin
from ranger_cdap.policies.service_setup import Wanted

SERVICE, INSTANCE = "cdapdev", "cdap"
PLUGIN, SYNC = "cdapplugin", "cdapsync"
PASSWORD = Secret("Cdap-in-memory-1")


@dataclass(frozen=True)
class Ranger:
    """A running Ranger Admin and its administrator."""

    url: str
    admin: RangerAdmin

    def create_users(self, names: Collection[str]) -> None:
        for name in names:
            self.admin.create_user(name, PASSWORD)

    def give(self, privileges: Mapping[str, Collection[str]]) -> None:
        """Give each person what is written, `WRITE namespace:ns1`; a policy that is there for an entity grows."""
        items: dict[EntityId, list[PolicyItem]] = defaultdict(list)
        for person, held in privileges.items():
            for privilege in held:
                action, place = privilege.split(" ", 1)
                access = PolicyItemAccess(type=action.lower())
                items[parse_entity(place)].append(PolicyItem(users=[person], accesses=[access]))
        there = {_values(policy.resources): policy for policy in self.admin.list_policies(SERVICE)}
        for entity, wanted in items.items():
            resources = {
                level: PolicyResource(values=[value]) for level, value in to_resource(entity, INSTANCE).items()
            }
            if policy := there.get(_values(resources)):
                self.admin.update_policy(msgspec.structs.replace(policy, policyItems=[*policy.policyItems, *wanted]))
            else:
                name = f"test: {entity}"
                self.admin.create_policy(Policy(service=SERVICE, name=name, resources=resources, policyItems=wanted))


@contextmanager
def ranger_for_cdap() -> Iterator[Ranger]:
    """Set up as `ranger-cdap setup` does it, with the accounts of the plugin, the sync job and CDAP itself."""
    with (
        EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server,
        RangerAdmin(server.url, username="admin", password=PASSWORD) as admin,
    ):
        ranger = Ranger(server.url, admin)
        ranger.create_users([PLUGIN, SYNC, MASTER])
        wanted = Wanted(SERVICE, INSTANCE, plugin_account=PLUGIN, sync_account=SYNC, master_user=MASTER)
        service_setup.carry_out(service_setup.plan(wanted, service_setup.look(admin, SERVICE)), admin)
        yield ranger


def _values(resources: Mapping[str, PolicyResource]) -> frozenset[tuple[str, str]]:
    return frozenset((level, value) for level, resource in resources.items() for value in resource.values)
