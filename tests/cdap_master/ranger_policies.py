"""Ranger as these tests need it: an embedded Admin, set up for CDAP, in which people are given exact privileges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from in_memory_cdap import MASTER

from ranger_cdap.cdap.entity import EntityId, entity_type, parse_entity, to_resource
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
        wanted = defaultdict[EntityId, list[tuple[str, str]]](list)
        for person, held in privileges.items():
            for privilege in held:
                action, place = privilege.split(" ", 1)
                wanted[parse_entity(place)].append((person, action))
        for entity, given in wanted.items():
            self._add(f"test: {entity}", to_resource(entity, INSTANCE), given)

    def give_everywhere(self, person: str, action: str, types: Collection[str]) -> None:
        """Give a person an action on every entity of these types; the policy of no single entity is touched."""
        for name in types:
            levels = entity_type(name).path[1:]
            self._add(f"test: every {name}", {"instance": INSTANCE} | dict.fromkeys(levels, "?*"), [(person, action)])

    def _add(self, name: str, resource: Mapping[str, str], given: Collection[tuple[str, str]]) -> None:
        resources = {level: PolicyResource(values=[value]) for level, value in resource.items()}
        items = [
            PolicyItem(users=[person], accesses=[PolicyItemAccess(type=action.lower())]) for person, action in given
        ]
        there = {_values(policy.resources): policy for policy in self.admin.list_policies(SERVICE)}
        if policy := there.get(_values(resources)):
            self.admin.update_policy(msgspec.structs.replace(policy, policyItems=[*policy.policyItems, *items]))
        else:
            self.admin.create_policy(Policy(service=SERVICE, name=name, resources=resources, policyItems=items))


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
