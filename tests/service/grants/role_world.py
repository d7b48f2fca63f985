"""An embedded Ranger Admin with a bridge of grants and roles before it, and the people who use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apache_ranger.utils import API, HttpMethod, HTTPStatus

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import AuditSettings, PluginSettings, RangerSettings, ServiceSettings, Settings
from ranger_cdap.errors import RequestRejected
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.testing.admin import EmbeddedAdmin
from servicedef import service_definition
from tests.authz.fixtures import Json
from tests.service.fixtures import CALLERS
from tests.service.grants.test_grants import PASSWORD, SERVICE, Ranger, delete_service, user

PEOPLE = ("alice", "bob", "carol", "dave", "nina")
GROUPS = ("crew", "ops")


@dataclass
class RoleWorld(Ranger):
    """What a test asks and looks at."""

    def role(self, what: str, name: str, by: str, member: Json | str | None = None) -> Json:
        """The reply to a change of a role."""
        body: Json = {"role": name, "caller": user(by)}
        if member is not None:
            body["principal"] = user(member) if isinstance(member, str) else member
        return self.ask(f"role/{what}", body)

    def listed(self, by: str, of: Json | None = None) -> list[str] | str:
        """The roles, or the reason why they are not shown."""
        answer = self.ask("roles", {"caller": user(by)} | ({"principal": of} if of else {}))
        return answer["roles"] if answer["done"] else answer["reason"]  # type: ignore[no-any-return]

    def members(self, name: str) -> dict[str, bool]:
        """The users and groups of a role, with whether they administer it."""
        role = self.admin.roles.find(SERVICE, name)
        assert role is not None
        return {one.name: one.is_admin for one in (*role.users, *role.groups, *role.roles)}

    def has(self, name: str, access: str, dataset: str, namespace: str = "ns1") -> bool:
        """Whether a user has it by the policies in Ranger now."""
        self.bridge.state.authorizer.refresh()
        return self.has_here(name, access, dataset, namespace)

    def has_here(self, name: str, access: str, dataset: str, namespace: str = "ns1") -> bool:
        """Whether a user has it by the policies in effect."""
        forwarder = self.bridge.state.grant_forwarder
        assert forwarder is not None
        return forwarder.rights.has(forwarder.rights.engine(), name, EntityId("dataset", (namespace, dataset)), access)


def to_role(name: str, *accesses: str, **more: Any) -> PolicyItem:
    return PolicyItem(roles=[name], accesses=[PolicyItemAccess(type=access) for access in accesses], **more)


@contextmanager
def role_server() -> Iterator[EmbeddedAdmin]:
    """A Ranger Admin with people; dave is in the group crew."""
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        with RangerAdmin(AdminConnection(server.url, username="admin", password=PASSWORD)) as admin:
            admin.create_service_def(service_definition())
            for name in ("plugin", "bridge", *PEOPLE):
                admin.create_user(name, PASSWORD)
            for name in GROUPS:
                admin._http.fetch(_post("service/xusers/secure/groups"), body={"name": name})
            rows = admin._object(_get("service/xusers/users/userName/dave"))
            admin._http.fetch(_post("service/xusers/groupusers"), body={"name": "crew", "userId": rows["id"]})
        yield server


@contextmanager
def role_world(server: EmbeddedAdmin, directory: Path, **service: Any) -> Iterator[RoleWorld]:
    """A service without policies and roles, and the bridge."""
    settings = Settings(
        ranger=RangerSettings(url=server.url, service=SERVICE, attempts=1),
        plugin=PluginSettings(username="plugin", password=PASSWORD, cache_dir=directory / "cache"),
        audit=AuditSettings(file=directory / "audit.jsonl", spool_dir=directory / "spool"),
        service=ServiceSettings(
            **{
                "port": 0,
                "callers": CALLERS,
                "events_dir": directory / "events",
                "grants": "bridge-with-roles",
                "bridge_username": "bridge",
                "bridge_password": PASSWORD,
            }
            | service
        ),
    )
    with RangerAdmin(AdminConnection(server.url, username="admin", password=PASSWORD)) as admin:
        configs = dict.fromkeys((f"{what}.download.auth.users" for what in ("policy", "tag", "userstore")), "plugin")
        configs["service.admin.users"] = "bridge"
        created = admin.create_service({"name": SERVICE, "type": "cdap", "is_enabled": True, "configs": configs})
        try:
            with DecisionService(settings, refresh_in_background=False) as bridge:
                yield RoleWorld(admin, bridge, settings)
        finally:
            admin._http.fetch(delete_service(created["id"]))
            names = admin.roles.names(SERVICE)
            while names:  # a role in another one is deleted after that one
                for name in names:
                    try:
                        admin.roles.delete(SERVICE, name)
                    except RequestRejected:
                        continue
                names = admin.roles.names(SERVICE)


def _post(path: str) -> Any:
    return API(path, HttpMethod.POST, HTTPStatus.OK)


def _get(path: str) -> Any:
    return API(path, HttpMethod.GET, HTTPStatus.OK)
