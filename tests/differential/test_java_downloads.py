"""Ranger's Java plugin downloads from the embedded Ranger Admin by itself, and decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.client.ranger_user_mgmt_client import RangerUserMgmtClient
from apache_ranger.model.ranger_policy import RangerPolicy
from apache_ranger.model.ranger_role import RangerRole
from apache_ranger.model.ranger_service_tags import RangerServiceTags
from apache_ranger.model.ranger_user_mgmt import RangerGroup, RangerGroupUser

from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from ranger_cdap.testing.admin.api.routes import ROUTES
from ranger_cdap.testing.admin.store.change_log import CREATED, DELETED, UPDATED
from servicedef import service_definition
from tests.differential.java_engine import CLASS_PATH, JavaEngine, build
from tests.differential.wire_tap import Exchange, WireTap
from tests.testing.admin.left_out import UNSUPPORTED

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
    with RangerAdmin(AdminConnection(server.url, username="admin", password=PASSWORD)) as admin:
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
        policy_items=[PolicyItem(**readers, accesses=[PolicyItemAccess(type="read")])],
    )


def readers(java: JavaEngine, namespace: str, engine: str = SERVICE) -> set[str]:
    users = ["alice", "bob"]
    requests: list[dict[str, Any]] = [
        {"resource": {"instance": "cdap", "namespace": namespace}, "accessType": "read", "user": user} for user in users
    ]
    answers = java.evaluate(requests, engine)
    return {user for user, answer in zip(users, answers, strict=True) if answer["allowed"]}


def policy_downloads(tap: WireTap) -> list[Exchange]:
    return [exchange for exchange in tap.seen if "/policies/download/" in exchange.path]


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


@pytest.mark.parametrize("server", [True], indirect=True, ids=["what changed"])
def test_java_s_plugin_asks_for_changes_gets_them_and_decides_as_with_all_policies(
    server: EmbeddedAdmin, admin: RangerAdmin, java: JavaEngine, tmp_path: Path
) -> None:
    names = ("ns1", "ns2", "ns3", "ns4")
    first, second, third = (admin.create_policy(reading(name, name, users=["alice"])) for name in names[:3])
    with WireTap(server.url) as tap:
        java.download("cdap", SERVICE, configuration(tap.url, tmp_path / "changes"), SERVICE)
        known = policy_downloads(tap)[-1].document["policyVersion"]
        assert first.id is not None
        admin.delete_policy(first.id)
        changed = reading("ns2", "ns2", users=["bob"])
        changed.id = second.id
        admin.update_policy(changed)
        third.is_enabled = False
        admin.update_policy(third)
        admin.create_policy(reading("ns4", "ns4", users=["bob"]))
        java.refresh(SERVICE)
        asked = policy_downloads(tap)
    assert {exchange.query["supportsPolicyDeltas"] for exchange in asked} == {"true"}
    assert [exchange.query["lastKnownVersion"] for exchange in asked] == ["-1", str(known)]
    whole, changes = (exchange.document for exchange in asked)
    assert ("policyDeltas" in whole, "policies" in changes) == (False, False)
    assert [delta["changeType"] for delta in changes["policyDeltas"]] == [DELETED, UPDATED, UPDATED, CREATED]
    decided = {name: readers(java, name) for name in names}
    assert decided == {"ns1": set(), "ns2": {"bob"}, "ns3": set(), "ns4": {"bob"}}
    without = configuration(server.url, tmp_path / "all") | {"ranger.plugin.cdap.supports.policy.deltas": "false"}
    java.download("cdap", SERVICE, without, "all policies")
    assert {name: readers(java, name, "all policies") for name in names} == decided


def test_java_s_plugin_decides_by_uploaded_tags(
    server: EmbeddedAdmin, admin: RangerAdmin, java: JavaEngine, tmp_path: Path
) -> None:
    client = RangerClient(server.url, ("admin", PASSWORD.reveal()))
    client.session.trust_env = False
    for name in ("ns1", "ns2"):
        admin.create_policy(reading(name, name, users=["alice", "bob"]))
    denial = {"users": ["alice"], "accesses": [{"type": "cdap:read"}]}
    tagged = {"service": "tag", "name": "personal", "resources": {"tag": {"values": ["PII"]}}}
    client.create_policy(RangerPolicy(tagged | {"denyPolicyItems": [denial]}))
    elements = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns2"]}}
    upload = {
        "tagDefinitions": {"1": {"name": "PII"}},
        "tags": {"1": {"type": "PII"}},
        "serviceResources": [{"id": 1, "serviceName": SERVICE, "resourceElements": elements}],
        "resourceToTagIds": {"1": [1]},
    }
    java.download("cdap", SERVICE, configuration(server.url, tmp_path), SERVICE)
    assert (readers(java, "ns1"), readers(java, "ns2")) == ({"alice", "bob"}, {"alice", "bob"})
    client.import_service_tags(SERVICE, RangerServiceTags(upload))
    java.refresh(SERVICE)
    assert (readers(java, "ns1"), readers(java, "ns2")) == ({"alice", "bob"}, {"bob"})


def test_every_path_of_java_s_client_is_served_or_left_out() -> None:
    build()
    jars = (Path(jar) for jar in CLASS_PATH.read_text(encoding="utf-8").strip().split(":"))
    (jar,) = (jar for jar in jars if jar.name.startswith("ranger-plugins-common-"))
    constants = ZipFile(jar).read("org/apache/ranger/plugin/util/RangerRESTUtils.class")
    paths = {found.decode() for found in re.findall(rb"/service/[\w/]+", constants)}
    assert "/service/public/v2/api/roles/grant/" in paths
    known = [row.path for row in ROUTES] + [path for left in UNSUPPORTED for _, path in left.requests]
    assert [path for path in paths if not any(f"{one}/".startswith(path) for one in known)] == []


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


SHARING = re.compile(rb"gds|data_?share", re.IGNORECASE)
"""Governed data sharing, of which Ranger 2.9.0 ships the definition and one constant, the end of a file's name."""


def test_no_code_of_java_s_plugin_reads_data_shares() -> None:
    build()
    jars = [jar for jar in CLASS_PATH.read_text(encoding="utf-8").split(":") if Path(jar).name.startswith("ranger-")]
    found, classes = [], 0
    for jar in jars:
        with ZipFile(jar) as archive:
            for name in archive.namelist():
                classes += name.endswith(".class")
                if SHARING.search(name.encode()) or (name.endswith(".class") and SHARING.search(archive.read(name))):
                    found.append(name)
    constant = "org/apache/ranger/admin/client/RangerPolicySource.class"
    assert found == [constant, "service-defs/ranger-servicedef-gds.json"]
    assert classes > 500


@pytest.mark.parametrize("server", [False], indirect=True, ids=["all policies"])
def test_java_s_plugin_of_type_cdap_asks_for_no_data_shares(
    server: EmbeddedAdmin, admin: RangerAdmin, java: JavaEngine, tmp_path: Path
) -> None:
    admin.create_policy(reading("first", "ns1", users=["alice"]))
    with WireTap(server.url) as tap:
        java.download("cdap", SERVICE, configuration(tap.url, tmp_path), "shares")
        java.refresh("shares")
        asked = {exchange.path.partition("?")[0] for exchange in tap.seen}
    assert readers(java, "ns1", "shares") == {"alice"}
    assert asked
    assert not [path for path in asked if SHARING.search(path.encode())]
