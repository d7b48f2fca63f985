"""Grants made in CDAP: refused, or passed on to Ranger in the name of a caller who may; over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import CREATORS_LABEL, grant_guid, is_creators_policy
from ranger_cdap.config import AuditSettings, PluginSettings, RangerSettings, Secret, ServiceSettings, Settings
from ranger_cdap.errors import ConfigError
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.ranger_model.schedule import ValiditySchedule
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.testing.admin import EmbeddedAdmin
from servicedef import service_definition
from tests.authz.fixtures import Json
from tests.service.fixtures import CALLERS, World

PASSWORD = Secret("Grants-Test-Passw0rd")
SERVICE = "cdapdev"
GET, UPDATE, EXECUTE = "STANDARD.GET", "STANDARD.UPDATE", "APPLICATION.EXECUTE"
KV = ("DATASET", "ns1", "kv")
RESOURCE = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
IN_RANGER = "edit policies in Ranger: "


def user(name: str, kind: str = "USER") -> Json:
    return {"name": name, "type": kind}


def request(
    about: tuple[str, ...] = KV,
    caller: Json | str | None = "alice",
    principal: Json | str | None = "bob",
    permissions: list[str] | None = [GET],  # noqa: B006 never changed
) -> Json:
    """What the extension sends; None leaves a field away."""
    body: Json = {"entity": {"type": about[0], "parts": list(about[1:])}, "permissions": permissions}
    body |= {"caller": caller, "principal": principal}
    named = {name: user(value) if isinstance(value, str) else value for name, value in body.items()}
    return {name: value for name, value in named.items() if value is not None}


# --- refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["grant", "revoke"])
def test_unless_configured_otherwise_ranger_is_where_policies_are_edited(world: World, path: str) -> None:
    answer = world.ask("grant", "POST", f"/cdap/v1/{path}", request())
    assert answer.status == 200
    assert (answer.json["done"], answer.json["changed"]) == (False, False)
    assert answer.json["reason"].startswith("edit policies in Ranger")


def test_unless_configured_otherwise_nothing_is_listed(world: World) -> None:
    answer = world.ask("grant", "POST", "/cdap/v1/grants", {"caller": user("alice"), "principal": user("alice")}).json
    assert (answer["done"], answer["grants"]) == (False, [])
    assert answer["reason"].startswith("edit policies in Ranger")


MASTERS_OWN = [
    # caller, principal, done?
    (None, "cdap", True),
    ("cdap", "cdap", True),
    ("alice", "cdap", False),
    ("cdap", "alice", False),
    (None, "alice", False),
    (user("cdap", "GROUP"), "cdap", False),
    (None, user("cdap", "ROLE"), False),
    (None, None, False),
]


@pytest.mark.parametrize(("caller", "principal", "done"), MASTERS_OWN)
def test_what_the_master_gives_itself_is_done_and_changes_nothing(
    world: World, caller: Json | str | None, principal: Json | str | None, done: bool
) -> None:
    body = request(("INSTANCE", "cdap"), caller, principal)
    answer = world.ask("grant", "POST", "/cdap/v1/grant", body).json
    assert (answer["done"], answer["changed"]) == (done, False)
    assert not world.ask("grant", "POST", "/cdap/v1/revoke", body).json["done"]


# --- passed on ----------------------------------------------------------------------------------------------------


def item(name: str, *accesses: str, delegate: bool = False, **more: Any) -> PolicyItem:
    kinds = [PolicyItemAccess(type=access) for access in accesses]
    return PolicyItem(users=[name], accesses=kinds, delegate_admin=delegate, **more)


@dataclass
class Ranger:
    """An embedded Ranger Admin with a bridge before it."""

    admin: RangerAdmin
    bridge: DecisionService
    settings: Settings

    def ask(self, path: str, body: Json) -> Json:
        world = World(self.bridge.url, self.bridge.state, None)  # type: ignore[arg-type]
        answer = world.ask("grant", "POST", f"/cdap/v1/{path}", body)
        assert answer.status == 200, answer.body
        found: Json = answer.json
        return found

    def write(self, resource: dict[str, str], *items: PolicyItem, **more: Any) -> Policy:
        levels = {level: PolicyResource(values=value.split(",")) for level, value in resource.items()}
        name = f"{'/'.join(resource.values())} {len(self.policies())}"
        return self.admin.create_policy(
            Policy(name=name, service=SERVICE, resources=levels, policy_items=list(items), **more)
        )

    def policies(self) -> list[Policy]:
        return self.admin.list_policies(SERVICE)

    def version(self) -> int:
        found = self.admin.get_service(SERVICE)
        assert found is not None
        return int(found["policyVersion"])

    def on(self, resource: dict[str, str]) -> dict[str, set[str]]:
        """Who has what by the policy of exactly that resource."""
        found: dict[str, set[str]] = {}
        for policy in self.policies():
            if {level: values.values for level, values in policy.resources.items()} == {
                level: [value] for level, value in resource.items()
            }:
                for one in policy.policy_items:
                    for name in one.users:
                        found.setdefault(name, set()).update(access.type for access in one.accesses)
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAdmin]:
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        with RangerAdmin(AdminConnection(server.url, username="admin", password=PASSWORD)) as admin:
            admin.create_service_def(service_definition())
            for name in ("plugin", "bridge", "alice", "bob", "carol", "dave"):
                admin.create_user(name, PASSWORD)
        yield server


@pytest.fixture
def ranger(server: EmbeddedAdmin, tmp_path: Path) -> Iterator[Ranger]:
    """alice administers and delegates all datasets of ns1; carol administers and does not delegate."""
    settings = Settings(
        ranger=RangerSettings(url=server.url, service=SERVICE, attempts=1),
        plugin=PluginSettings(username="plugin", password=PASSWORD, cache_dir=tmp_path / "cache"),
        audit=AuditSettings(spool_dir=tmp_path / "spool"),
        service=ServiceSettings(
            port=0,
            callers=CALLERS,
            events_dir=tmp_path / "events",
            grants="bridge",
            bridge_username="bridge",
            bridge_password=PASSWORD,
        ),
    )
    with RangerAdmin(AdminConnection(server.url, username="admin", password=PASSWORD)) as admin:
        configs = dict.fromkeys((f"{what}.download.auth.users" for what in ("policy", "tag", "userstore")), "plugin")
        configs["policy.grantrevoke.auth.users"] = "bridge"
        service = admin.create_service({"name": SERVICE, "type": "cdap", "is_enabled": True, "configs": configs})
        try:
            with DecisionService(settings, refresh_in_background=False) as bridge:
                made = Ranger(admin, bridge, settings)
                all_of_ns1 = {"instance": "cdap", "namespace": "ns1", "dataset": "*"}
                rights = ("read", "write", "admin")
                made.write(all_of_ns1, item("alice", *rights, delegate=True), item("carol", *rights))
                yield made
        finally:
            admin._http.fetch(delete_service(service["id"]))


def delete_service(number: int) -> Any:
    from apache_ranger.client.ranger_client import RangerClient

    return RangerClient.DELETE_SERVICE_BY_ID.format_path({"id": number})


DONE = {"done": True, "changed": True, "reason": ""}
UNCHANGED = {"done": True, "changed": False, "reason": ""}


def test_who_may_delegate_gives_and_takes_exactly_what_was_asked(ranger: Ranger) -> None:
    assert ranger.ask("grant", request(permissions=[GET, UPDATE])) == DONE
    assert ranger.on(RESOURCE) == {"bob": {"read", "write"}}
    (granted,) = [policy for policy in ranger.policies() if "grant" in policy.name]
    (one,) = granted.policy_items
    assert (one.users, one.groups, one.roles, one.delegate_admin) == (["bob"], [], [], False)
    assert ranger.ask("revoke", request(permissions=[UPDATE])) == DONE
    assert ranger.on(RESOURCE) == {"bob": {"read"}}


def test_a_grant_is_in_force_when_it_is_answered(ranger: Ranger) -> None:
    ranger.ask("grant", request())
    engine = ranger.bridge.state.authorizer.snapshot
    assert ranger.bridge.state.grant_forwarder is not None
    assert engine.versions.policies == ranger.version()


def test_what_is_there_already_is_not_sent_again(ranger: Ranger) -> None:
    ranger.ask("grant", request())
    version = ranger.version()
    assert ranger.ask("grant", request()) == UNCHANGED
    assert ranger.ask("revoke", request(principal="dave")) == UNCHANGED
    assert ranger.version() == version


def test_a_grant_on_an_application_gives_none_of_its_programs(ranger: Ranger) -> None:
    application = {"instance": "cdap", "namespace": "ns1", "application": "App"}
    ranger.write(application, item("alice", "read", "admin", delegate=True))
    assert ranger.ask("grant", request(("APPLICATION", "ns1", "App"))) == DONE
    assert ranger.on(application)["bob"] == {"read"}
    assert ranger.on({**application, "program": "*"}) == {}


NOT_ASKED: dict[str, tuple[Json, str]] = {
    "nobody asks": (request(caller=None), "CDAP does not send the caller"),
    "a group asks": (request(caller=user("alice", "GROUP")), "grants from CDAP are for users only"),
    "somebody without a name asks": (request(caller=""), "is not a user name"),
    "nobody is named": (request(principal=None), "the request names no principal"),
    "a group is named": (request(principal=user("bob", "GROUP")), "grants from CDAP are for users only"),
    "a role is named": (request(principal=user("bob", "ROLE")), "grants from CDAP are for users only"),
    "everybody is named": (request(principal="public"), "does not identify a single user"),
    "the macro of whoever asks is named": (request(principal="{USER}"), "does not identify a single user"),
    "a star is named": (request(principal="*"), "which Ranger may interpret"),
    "two users are named": (request(principal="bob,dave"), "which Ranger may interpret"),
    "a star in the entity": (request(("DATASET", "ns1", "*")), "is not a name that CDAP allows"),
    "a star for the namespace": (request(("DATASET", "*", "kv")), "is not a name that CDAP allows"),
    "two values in the entity": (request(("DATASET", "ns1", "kv,other")), "is not a name that CDAP allows"),
    "too few parts": (request(("DATASET", "ns1")), "needs 2 parts (namespace, dataset)"),
    "the whole instance": (request(("INSTANCE", "cdap")), "the whole instance"),
    "an entity without a resource": (request(("PROGRAM_RUN", "ns1", "App", "v", "w", "W", "r")), "no entity type"),
    "no permissions": (request(permissions=None), "no permission is named"),
    "an unknown permission": (request(permissions=["STANDARD.FLY"]), "is not a permission of CDAP"),
}


@pytest.mark.parametrize("path", ["grant", "revoke"])
def test_invalid_grants_are_refused_with_a_sentence_and_not_sent_to_ranger(ranger: Ranger, path: str) -> None:
    version = ranger.version()
    for case, (body, reason) in NOT_ASKED.items():
        answer = ranger.ask(path, body)
        assert (answer["done"], answer["changed"]) == (False, False), case
        assert answer["reason"].startswith(IN_RANGER), case
        assert reason in answer["reason"], (case, answer["reason"])
    assert ranger.version() == version


def test_who_lacks_anything_gives_nothing(ranger: Ranger) -> None:
    kv2 = {**RESOURCE, "dataset": "kv2"}
    ranger.write({**RESOURCE, "dataset": "kv3"}, item("dave", "read", delegate=True))
    ranger.write({"instance": "cdap", "namespace": "ns2"}, item("alice", "read", "write", "admin", delegate=True))
    cases = [
        (request(caller="carol"), "carol needs the right to delegate on dataset:ns1.kv"),
        (request(caller="bob"), "bob needs ADMIN, READ, the right to delegate on dataset:ns1.kv"),
        (request(caller="nobody"), "nobody needs ADMIN, READ, the right to delegate on dataset:ns1.kv"),
        (request(("DATASET", "ns1", "kv3"), caller="dave"), "dave needs ADMIN on dataset:ns1.kv3"),
        (request(permissions=[EXECUTE]), "alice needs EXECUTE on dataset:ns1.kv"),
        (request(("NAMESPACE", "ns9")), "alice needs ADMIN, READ, the right to delegate on namespace:ns9"),
        (request(("DATASET", "ns2", "kv")), "alice needs ADMIN, READ, the right to delegate on dataset:ns2.kv"),
    ]
    version = ranger.version()
    for path in ("grant", "revoke"):
        for body, reason in cases:
            assert ranger.ask(path, body) == {"done": False, "changed": False, "reason": IN_RANGER + reason}
    assert ranger.version() == version
    assert ranger.on(kv2) == {}


def test_ranger_decides_once_more_access_type_by_access_type(ranger: Ranger) -> None:
    """He has ADMIN, WRITE and may delegate READ there: here that is enough, in Ranger it is not."""
    mine = {**RESOURCE, "namespace": "ns3"}
    ranger.write(mine, item("dave", "read", delegate=True), item("dave", "write", "admin"))
    answer = ranger.ask("grant", request(("DATASET", "ns3", "kv"), caller="dave", permissions=[UPDATE]))
    assert not answer["done"]
    assert "necessary permission to grant access" in answer["reason"]
    assert "bob" not in ranger.on(mine)


def test_whom_ranger_does_not_know_gets_nothing(ranger: Ranger) -> None:
    answer = ranger.ask("grant", request(principal="stranger"))
    assert not answer["done"]
    assert "stranger doesn't exist" in answer["reason"]


def test_a_right_that_was_taken_in_ranger_a_moment_ago_counts_no_more(ranger: Ranger) -> None:
    assert ranger.ask("grant", request()) == DONE
    for policy in ranger.policies():
        policy.policy_items = [one for one in policy.policy_items if one.users != ["alice"]]
        ranger.admin.update_policy(policy)
    assert not ranger.ask("grant", request(principal="dave"))["done"]


NOT_PLAIN: dict[str, Json] = {
    "a denial": {"deny_policy_items": [item("bob", "read")]},
    "an exception": {"allow_exceptions": [item("bob", "read")]},
    "an exception of a denial": {"deny_policy_items": [item("dave", "read")], "deny_exceptions": [item("bob", "read")]},
    "a denial of all else": {"is_deny_all_else": True},
    "a validity": {"validity_schedules": [ValiditySchedule(start_time="2020/01/01 00:00:00")]},
}


@pytest.mark.parametrize("case", NOT_PLAIN)
def test_a_policy_that_holds_more_than_permissions_is_left_as_it_is(ranger: Ranger, case: str) -> None:
    theirs = ranger.write(RESOURCE, item("alice", "read", "write", "admin", delegate=True), **NOT_PLAIN[case])
    before = ranger.version()
    answer = ranger.ask("grant", request())
    assert not answer["done"]
    assert ranger.version() == before
    assert f"policy {theirs.id} on dataset:ns1.kv has more than permissions" in answer["reason"]


@pytest.mark.parametrize("case", NOT_PLAIN)
def test_so_is_a_creators_policy_that_lists_its_entity_once(ranger: Ranger, case: str) -> None:
    guid = grant_guid("cdap", EntityId("dataset", ("ns1", "kv")), 1)
    items = item("alice", "read", "write", "admin", delegate=True)
    ours = ranger.write(RESOURCE, items, policy_labels=[CREATORS_LABEL], guid=guid, **NOT_PLAIN[case])
    assert is_creators_policy(ours)
    before = ranger.version()
    answer = ranger.ask("grant", request())
    assert (answer["done"], ranger.version()) == (False, before)
    assert f"policy {ours.id} on dataset:ns1.kv has more than permissions" in answer["reason"]


def test_a_creator_who_may_delegate_shares_in_a_policy_beside_their_own(ranger: Ranger) -> None:
    creator = [item("alice", "read", "write", "admin", delegate=True)]
    twice = [{level: PolicyResource(values=[value]) for level, value in RESOURCE.items()}]
    guid = grant_guid("cdap", EntityId("dataset", ("ns1", "kv")), 1)
    ours = ranger.write(RESOURCE, *creator, policy_labels=[CREATORS_LABEL], additional_resources=twice, guid=guid)
    assert is_creators_policy(ours)
    assert ranger.ask("grant", request()) == DONE
    assert ranger.ask("grant", request()) == UNCHANGED
    (beside,) = (one for one in ranger.policies() if "bob" in str(one.policy_items))
    assert ranger.ask("grant", request(principal="dave")) == DONE
    assert beside.id in {one.id for one in ranger.policies() if "dave" in str(one.policy_items)}
    assert ranger.ask("revoke", request()) == DONE
    assert [(one.version, one.policy_items) for one in ranger.policies() if one.id == ours.id] == [
        (1, ours.policy_items)
    ]


def test_what_stands_in_a_creators_policy_is_revoked_in_ranger_only(ranger: Ranger) -> None:
    items = [item("alice", "read", "write", "admin", delegate=True), item("bob", "read")]
    twice = [{level: PolicyResource(values=[value]) for level, value in RESOURCE.items()}]
    guid = grant_guid("cdap", EntityId("dataset", ("ns1", "kv")), 1)
    ranger.write(RESOURCE, *items, policy_labels=[CREATORS_LABEL], additional_resources=twice, guid=guid)
    before = ranger.version()
    answer = ranger.ask("revoke", request())
    assert (answer["done"], ranger.version()) == (False, before)
    assert "bob still has READ on dataset:ns1.kv, because of another policy" in answer["reason"]


def test_what_another_policy_says_is_told(ranger: Ranger) -> None:
    ranger.write({"instance": "cdap", "namespace": "ns1", "dataset": "kv*"}, item("bob", "read"))
    assert ranger.ask("grant", request()) == DONE
    answer = ranger.ask("revoke", request())
    reason = f"{IN_RANGER}bob still has READ on dataset:ns1.kv, because of another policy"
    assert answer == {"done": False, "changed": True, "reason": reason}
    assert ranger.ask("revoke", request()) == {"done": False, "changed": False, "reason": reason}


def test_a_denial_of_another_policy_stays_and_is_told(ranger: Ranger) -> None:
    wide = {"instance": "cdap", "namespace": "ns1", "dataset": "kv*"}
    ranger.write(wide, item("dave", "read"), deny_policy_items=[item("bob", "read")])
    reason = f"{IN_RANGER}bob does not have READ on dataset:ns1.kv, because of another policy"
    assert ranger.ask("grant", request()) == {"done": False, "changed": True, "reason": reason}
    assert ranger.ask("grant", request()) == {"done": False, "changed": False, "reason": reason}


def test_grants_are_listed_to_the_user_himself_and_to_who_administers_the_instance(ranger: Ranger) -> None:
    ranger.write(RESOURCE, item("bob", "read", "write"))
    ranger.write({"instance": "cdap", "namespace": "ns1", "application": "A", "program": "*"}, item("bob", "execute"))
    ranger.write(
        {"instance": "cdap", "namespace": "ns1", "application": "B", "program": "workflow.W"}, item("bob", "read")
    )
    ranger.write(
        {"instance": "cdap", "namespace": "ns2"}, item("bob", "admin", "read"), deny_policy_items=[item("bob", "read")]
    )
    ranger.write({"instance": "other", "namespace": "ns3"}, item("bob", "read"))
    ranger.write({"instance": "cdap", "namespace": "ns*"}, item("bob", "read"))
    ranger.write({"instance": "cdap", "namespace": "ns4,ns5"}, item("bob", "read"))
    ranger.write({"instance": "cdap"}, item("dave", "admin"))
    ranger.bridge.state.authorizer.refresh()
    listed = {
        ("APPLICATION", "ns1", "A"): [EXECUTE],
        ("DATASET", "ns1", "kv"): [GET, UPDATE],
        ("NAMESPACE", "ns2"): [UPDATE],
        ("PROGRAM", "ns1", "B", "workflow", "W"): [GET],
    }
    for caller in ("bob", "dave"):
        answer = ranger.ask("grants", {"caller": user(caller), "principal": user("bob")})
        found = {(g["entity"]["type"], *g["entity"]["parts"]): g["permissions"] for g in answer["grants"]}
        assert (answer["done"], found) == (True, listed)
    for other in (user("alice"), user("bob", "GROUP"), None):
        body = {"principal": user("bob")} | ({"caller": other} if other else {})
        answer = ranger.ask("grants", body)
        assert (answer["done"], answer["grants"]) == (False, [])
        assert answer["reason"]


def test_without_ranger_admin_nothing_is_done_and_the_reason_says_so(server: EmbeddedAdmin, ranger: Ranger) -> None:
    ranger.bridge.state.authorizer.decider.policies._admin._http._urls = ("http://127.0.0.1:9",)  # type: ignore[attr-defined]
    answer = ranger.ask("grant", request())
    assert not answer["done"]
    assert "cannot be reached" in answer["reason"]
    assert ranger.on(RESOURCE) == {}


def test_a_bridge_without_an_account_is_refused_at_the_start(tmp_path: Path) -> None:
    settings = Settings(
        plugin=PluginSettings(cache_dir=tmp_path),
        ranger=RangerSettings(url="http://127.0.0.1:9", attempts=1),
        service=ServiceSettings(port=0, grants="bridge", events_dir=tmp_path),
    )
    with pytest.raises(ConfigError, match=r"service\.bridge_username"):
        DecisionService(settings, refresh_in_background=False)
