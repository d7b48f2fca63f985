"""Ranger's Java plugin downloads from the embedded Ranger Admin by itself, and decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.client.ranger_user_mgmt_client import RangerUserMgmtClient
from apache_ranger.model.ranger_role import RangerRole
from apache_ranger.model.ranger_user_mgmt import RangerGroup, RangerGroupUser
from java_engine import JavaEngine

from ranger_cdap.config import Secret
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.engine.wire import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.policies.ranger_admin import RangerAdmin
from servicedef import service_definition

pytestmark = pytest.mark.java

SERVICE = "cdapdev"
PASSWORD = Secret("Correct-horse-7")
RIGHTS = ("policy.download.auth.users", "tag.download.auth.users", "userstore.download.auth.users")
CLIENT = "org.apache.ranger.admin.client.RangerAdminRESTClient"


@pytest.fixture(params=[False, True], ids=["all policies", "what changed"])
def server(request: pytest.FixtureRequest) -> Iterator[EmbeddedAdmin]:
    with EmbeddedAdmin(admin_password=PASSWORD.reveal(), policy_deltas=request.param) as server:
        yield server


@pytest.fixture
def admin(server: EmbeddedAdmin) -> Iterator[RangerAdmin]:
    with RangerAdmin(server.url, username="admin", password=PASSWORD) as admin:
        admin.create_service_def(service_definition())
        configs = dict.fromkeys(RIGHTS, "plugin")
        admin.create_service({"name": SERVICE, "type": "cdap", "isEnabled": True, "configs": configs})
        for name in ("plugin", "alice", "bob"):
            admin.create_user(name, PASSWORD)
        yield admin


def configuration(url: str, cache: Path) -> dict[str, str]:
    """The settings of `ranger-cdap-security.xml`, with an interval so long that only `refresh` downloads again."""
    settings = {
        "policy.source.impl": CLIENT,
        "policy.rest.url": url,
        "policy.rest.client.username": "plugin",
        "policy.rest.client.password": PASSWORD.reveal(),
        "policy.pollIntervalMs": "3600000",
        "policy.cache.dir": str(cache),
        "supports.policy.deltas": "true",
        "use.rangerGroups": "true",
    }
    return {f"ranger.plugin.cdap.{name}": value for name, value in settings.items()}


def reading(name: str, namespace: str, **readers: list[str]) -> Policy:
    values = {"instance": "cdap", "namespace": namespace}
    return Policy(
        name=name,
        service=SERVICE,
        resources={level: PolicyResource(values=[value]) for level, value in values.items()},
        policyItems=[PolicyItem(**readers, accesses=[PolicyItemAccess(type="read")])],
    )


def readers(java: JavaEngine, namespace: str) -> set[str]:
    users = ["alice", "bob"]
    requests: list[dict[str, Any]] = [
        {"resource": {"instance": "cdap", "namespace": namespace}, "accessType": "read", "user": user} for user in users
    ]
    answers = java.evaluate(requests, SERVICE)
    return {user for user, answer in zip(users, answers, strict=True) if answer["allowed"]}


def test_java_s_plugin_downloads_and_decides(
    server: EmbeddedAdmin, admin: RangerAdmin, java: JavaEngine, tmp_path: Path
) -> None:
    made = admin.create_policy(reading("first", "ns1", users=["alice"]))
    java.download("cdap", SERVICE, configuration(server.url, tmp_path), SERVICE)
    assert (readers(java, "ns1"), readers(java, "ns2")) == ({"alice"}, set())
    admin.create_policy(reading("second", "ns2", users=["bob"]))
    assert readers(java, "ns2") == set()
    java.refresh(SERVICE)
    assert (readers(java, "ns1"), readers(java, "ns2")) == ({"alice"}, {"bob"})
    assert made.id is not None
    admin.delete_policy(made.id)
    java.refresh(SERVICE)
    assert (readers(java, "ns1"), readers(java, "ns2")) == (set(), {"bob"})


def test_java_s_plugin_knows_the_roles_and_groups_of_ranger(
    server: EmbeddedAdmin, admin: RangerAdmin, java: JavaEngine, tmp_path: Path
) -> None:
    client = RangerClient(server.url, ("admin", PASSWORD.reveal()))
    client.session.trust_env = False
    people = RangerUserMgmtClient(client)
    group = people.create_group(RangerGroup({"name": "devs"}))
    bob = people.get_user("bob")
    people.create_group_user(RangerGroupUser({"name": "devs", "parentGroupId": group.id, "userId": bob.id}))
    client.create_role(SERVICE, RangerRole({"name": "reviewers", "users": [{"name": "alice", "isAdmin": False}]}))
    admin.create_policy(reading("for a role", "ns1", roles=["reviewers"]))
    admin.create_policy(reading("for a group", "ns2", groups=["devs"]))
    java.download("cdap", SERVICE, configuration(server.url, tmp_path), SERVICE)
    assert (readers(java, "ns1"), readers(java, "ns2")) == ({"alice"}, {"bob"})
    (listed,) = client.client_http.call_api(RangerClient.GET_PLUGIN_INFO)
    assert (listed["serviceName"], listed["appType"]) == (SERVICE, "cdap")
    assert {f"{kind}DownloadTime" for kind in ("policy", "role", "tag", "userstore")} <= listed["info"].keys()
