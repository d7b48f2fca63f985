"""From a policy in Ranger Admin to a decision in a plugin, over real HTTP against the embedded Ranger Admin."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from ranger_cdap import errors
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.engine import AccessRequest
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.downloader import Downloader, capabilities
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher, Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from servicedef import service_definition

SERVICE = "cdapdev"
ADMIN, PLUGIN = Secret("Rang3rAdmin!"), Secret("Plug1nPass!")


@pytest.fixture
def server() -> Iterator[EmbeddedAdmin]:
    with EmbeddedAdmin(admin_password=ADMIN.reveal()) as server:
        yield server


@pytest.fixture
def admin(server: EmbeddedAdmin) -> Iterator[RangerAdmin]:
    """An administrator, in a Ranger Admin that has the service, its accounts and the users of the tests."""
    with RangerAdmin(AdminConnection(server.url, username="admin", password=ADMIN)) as admin:
        admin.create_service_def(service_definition())
        rights = ("policy.download.auth.users", "tag.download.auth.users", "userstore.download.auth.users")
        configs = dict.fromkeys(rights, "cdapsvc")
        admin.create_service({"name": SERVICE, "type": "cdap", "isEnabled": True, "configs": configs})
        for name in ("cdapsvc", "alice", "bob"):
            admin.create_user(name, PLUGIN)
        yield admin


@pytest.fixture
def refresher(server: EmbeddedAdmin, admin: RangerAdmin, tmp_path: Path) -> Iterator[PolicyRefresher]:
    with plugin(server.url, tmp_path / "cache") as refresher:
        yield refresher


def plugin(url: str, cache_dir: Path, *, username: str = "cdapsvc", password: Secret = PLUGIN) -> PolicyRefresher:
    settings = Settings(
        ranger=RangerSettings(url=url, service=SERVICE),
        plugin=PluginSettings(username=username, password=password, cache_dir=cache_dir),
    )
    return PolicyRefresher(
        RangerAdmin(AdminConnection(url, username=username, password=password, attempts=1)), settings
    )


def reading(name: str, user: str, namespace: str, *, guid: str | None = None) -> Policy:
    return Policy(
        guid=guid,
        name=name,
        service=SERVICE,
        resources={"instance": PolicyResource(values=["cdap"]), "namespace": PolicyResource(values=[namespace])},
        policy_items=[PolicyItem(users=[user], accesses=[PolicyItemAccess(type="read")])],
    )


def may_read(snapshot: Snapshot, user: str, namespace: str) -> bool:
    if snapshot.engine is None:
        return False
    resource = {"instance": "cdap", "namespace": namespace}
    decision = snapshot.engine.evaluate(AccessRequest(resource=resource, access_type="read", user=user))
    return decision.determined and decision.allowed


def test_a_policy_decides_with_the_next_refresh_until_it_is_deleted(
    admin: RangerAdmin, refresher: PolicyRefresher
) -> None:
    before = refresher.refresh()
    assert (before.state, before.engine is not None) == (PolicyState.FRESH, True)
    assert not may_read(before, "alice", "ns1")

    created = admin.create_policy(reading("p1", "alice", "ns1"))
    granted = refresher.refresh()
    assert (may_read(granted, "alice", "ns1"), may_read(granted, "bob", "ns1")) == (True, False)
    assert granted.versions.policies > before.versions.policies
    assert refresher.refresh().engine is granted.engine

    assert created.id is not None
    admin.delete_policy(created.id)
    assert not may_read(refresher.refresh(), "alice", "ns1")


def test_rangers_plugin_page_shows_the_version_in_effect_and_the_capabilities(
    server: EmbeddedAdmin, admin: RangerAdmin, refresher: PolicyRefresher
) -> None:
    def listed() -> dict[str, Any]:
        answer = requests.get(
            f"{server.url}/service/public/v2/api/plugins/info", auth=("admin", ADMIN.reveal()), timeout=10
        )
        (row,) = answer.json()
        found: dict[str, Any] = row
        return found

    refresher.refresh()
    began = listed()
    assert (began["serviceName"], began["appType"], began["hostName"]) == (SERVICE, "cdap", socket.gethostname())
    assert began["info"]["pluginCapabilities"] == capabilities()
    admin.create_policy(reading("p1", "alice", "ns1"))
    version = refresher.refresh().versions.policies
    refresher.refresh()
    info = listed()["info"]
    assert info["policyActiveVersion"] == info["latestPolicyVersion"] == str(version)
    assert int(began["info"]["policyDownloadTime"]) <= int(info["policyActivationTime"])


def test_a_refresh_on_demand_brings_what_is_there_or_says_why_not(
    server: EmbeddedAdmin, admin: RangerAdmin, tmp_path: Path
) -> None:
    settings = Settings(
        ranger=RangerSettings(url=server.url, service=SERVICE, attempts=1),
        plugin=PluginSettings(username="cdapsvc", password=PLUGIN, cache_dir=tmp_path / "cache"),
    )
    ns1 = entity_id("namespace", ["ns1"])
    with Authorizer.open(settings, refresh_in_background=False) as authorizer:
        admin.create_policy(reading("p1", "alice", "ns1"))
        assert not authorizer.check("alice", (), "namespace.get_preference", ns1).allowed
        authorizer.refresh()
        assert authorizer.check("alice", (), "namespace.get_preference", ns1).allowed
        with pytest.raises(errors.InvalidInput, match="background"):
            authorizer.refresh(wait=False)
        server.stop()
        with pytest.raises(errors.AdminUnreachable):
            authorizer.refresh()
        assert authorizer.check("alice", (), "namespace.get_preference", ns1).allowed
    with Authorizer.open(settings) as authorizer:
        assert authorizer.refresh(wait=False).state is PolicyState.FRESH


def test_the_tag_service_every_real_ranger_links_stops_no_decision(
    admin: RangerAdmin, refresher: PolicyRefresher
) -> None:
    service = admin.get_service(SERVICE)
    assert service is not None
    assert service["tagService"]
    admin.create_policy(reading("p1", "alice", "ns1"))
    snapshot = refresher.refresh()
    assert may_read(snapshot, "alice", "ns1")
    assert snapshot.versions.tags >= 0


def test_the_cache_decides_when_ranger_admin_has_gone_away(
    server: EmbeddedAdmin, admin: RangerAdmin, refresher: PolicyRefresher, tmp_path: Path
) -> None:
    admin.create_policy(reading("p1", "alice", "ns1"))
    refresher.refresh()
    url = server.url
    server.stop()
    with plugin(url, tmp_path / "cache") as restarted:
        snapshot = restarted.refresh()
        assert snapshot.state is PolicyState.FRESH
        assert may_read(snapshot, "alice", "ns1")
        assert "cannot be reached" in snapshot.reason
    with plugin(url, tmp_path / "another") as without_cache:
        assert without_cache.refresh().state is PolicyState.NOT_READY


def test_a_disabled_service_goes_on_deciding_and_says_so(admin: RangerAdmin, refresher: PolicyRefresher) -> None:
    admin.create_policy(reading("p1", "alice", "ns1"))
    refresher.refresh()
    service = admin.get_service(SERVICE)
    assert service is not None
    admin.update_service(service["id"], service | {"isEnabled": False})
    snapshot = refresher.refresh()
    assert snapshot.state is PolicyState.DISABLED
    assert may_read(snapshot, "alice", "ns1")
    admin.update_service(service["id"], service | {"isEnabled": True})
    assert refresher.refresh().state is PolicyState.FRESH


@pytest.mark.parametrize(
    ("username", "password", "said"),
    [("cdapsvc", Secret("wrong"), "password"), ("bob", PLUGIN, "forbidden")],
    ids=["a wrong password", "no right to download"],
)
def test_an_account_that_may_not_download_is_not_ready(
    server: EmbeddedAdmin, admin: RangerAdmin, tmp_path: Path, username: str, password: Secret, said: str
) -> None:
    with plugin(server.url, tmp_path / "cache", username=username, password=password) as refresher:
        snapshot = refresher.refresh()
        assert (snapshot.state, snapshot.engine) == (PolicyState.NOT_READY, None)
        assert said in snapshot.reason


def test_policies_are_found_by_name_guid_and_in_lists(admin: RangerAdmin) -> None:
    guid = "0b0fa4f2-6c07-4f7f-8f2e-0123456789ab"
    created = admin.create_policy(reading("ns1 readers", "alice", "ns1", guid=guid))
    odd = admin.create_policy(reading("a/b; 50%", "alice", "ns2"))
    assert created.guid == guid
    assert admin.policy_by_guid(SERVICE, guid) == admin.policy_by_name(SERVICE, "ns1 readers") == created
    found = admin.policy_by_name(SERVICE, "a/b; 50%")
    assert found is not None
    assert found.id == odd.id
    assert [p.id for p in admin.list_policies(SERVICE)] == [created.id, odd.id]
    assert admin.policy_by_guid(SERVICE, "another") is None
    assert admin.policy_by_name(SERVICE, "another") is None


def test_a_change_raises_the_version_and_a_second_policy_on_a_resource_is_refused(admin: RangerAdmin) -> None:
    created = admin.create_policy(reading("p1", "alice", "ns1"))
    created.policy_items[0].users = ["bob"]
    changed = admin.update_policy(created)
    assert (created.version, changed.version) == (1, 2)
    assert changed.policy_items[0].users == ["bob"]
    for name, namespace, code in (("p1", "ns2", 3006), ("p2", "ns1", 3010)):
        with pytest.raises(errors.RequestRejected) as caught:
            admin.create_policy(reading(name, "alice", namespace))
        assert code in caught.value.reason_codes


def test_what_is_not_there_is_not_there(admin: RangerAdmin) -> None:
    assert admin.get_service("nosuch") is None
    assert admin.get_service_def("nosuch") is None
    assert admin.user_exists("alice")
    assert not admin.user_exists("Alice")
    with pytest.raises(errors.NotFound):
        admin.delete_policy(99_999)
    with pytest.raises(errors.ServiceNotFound):
        admin.download_policies("nosuch", last_known_version=-1, by=Downloader("p"))


def test_the_definition_comes_back_with_everything_ranger_adds(admin: RangerAdmin) -> None:
    registered = admin.get_service_def("cdap")
    assert registered is not None
    assert {"id", "markerAccessTypes"} <= registered.keys()
    assert admin.update_service_def("cdap", registered)["version"] == registered["version"] + 1
