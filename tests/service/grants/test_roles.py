"""Roles made in CDAP: refused, or kept in Ranger and changed in the name of a caller who may; over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ranger_cdap.ranger_model.policy import PolicyItem
from ranger_cdap.service.grants.role_book import description_of_made
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.authz.fixtures import Json
from tests.service.fixtures import World
from tests.service.grants.role_world import RoleWorld, role_server, role_world, to_role
from tests.service.grants.test_grants import GET, NOT_PLAIN, SERVICE, UPDATE, item, request, user

pytestmark = pytest.mark.slow

CREW: Json = {"name": "crew", "type": "GROUP"}
KV = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
DEVS: Json = {"name": "devs", "type": "ROLE"}
DONE = {"done": True, "changed": True, "failure": "none", "reason": ""}
UNCHANGED = DONE | {"changed": False}


@pytest.fixture(scope="module")
def role_admin() -> Iterator[EmbeddedAdmin]:
    with role_server() as server:
        yield server


@pytest.fixture
def roles(role_admin: EmbeddedAdmin, tmp_path: Path) -> Iterator[RoleWorld]:
    """alice and carol have ADMIN on the instance; alice delegates the datasets of ns1, nina those of ns2."""
    with role_world(role_admin, tmp_path) as made:
        made.write({"instance": "cdap"}, item("alice", "admin"), item("carol", "admin"))
        for namespace, name in (("ns1", "alice"), ("ns2", "nina")):
            datasets = {"instance": "cdap", "namespace": namespace, "dataset": "?*"}
            made.write(datasets, item(name, "read", "write", "admin", delegate=True))
        yield made


def refused(answer: Json, reason: str, failure: str = "refused") -> None:
    assert (answer["done"], answer["changed"], answer["failure"]) == (False, False, failure)
    assert answer["reason"].startswith("change roles in Ranger: ")
    assert reason in answer["reason"], answer["reason"]


def test_a_role_from_its_creation_to_its_end(roles: RoleWorld) -> None:
    assert roles.role("create", "devs", "alice") == DONE
    assert roles.members("devs") == {"alice": True}
    assert roles.role("add", "devs", "alice", CREW) == DONE
    assert roles.ask("grant", request(principal=DEVS, permissions=[GET]))["done"]
    assert roles.has("dave", "read", "kv")
    assert not roles.has("bob", "read", "kv")
    assert roles.role("add", "devs", "alice", "bob") == DONE
    assert roles.has("bob", "read", "kv")
    assert roles.role("remove", "devs", "alice", "bob") == DONE
    assert not roles.has("bob", "read", "kv")
    refused(roles.role("drop", "devs", "alice"), "role devs is used by policy")
    assert roles.ask("revoke", request(principal=DEVS, permissions=[GET]))["done"]
    assert not roles.has("dave", "read", "kv")
    assert roles.role("drop", "devs", "alice") == DONE
    assert roles.listed("alice") == []


def test_what_is_there_already_is_not_sent_again(roles: RoleWorld) -> None:
    roles.role("create", "devs", "alice")
    roles.role("add", "devs", "alice", "bob")
    assert roles.role("add", "devs", "alice", "bob") == UNCHANGED
    assert roles.role("add", "devs", "alice", "alice") == UNCHANGED
    assert roles.members("devs") == {"alice": True, "bob": False}
    assert roles.role("remove", "devs", "alice", "dave") == UNCHANGED


@pytest.mark.parametrize("what", ["create", "drop", "add", "remove"])
def test_only_who_administers_the_instance_changes_roles(roles: RoleWorld, what: str) -> None:
    roles.role("create", "devs", "alice")
    name = "new" if what == "create" else "devs"
    for by in ("bob", "nina", "nobody"):
        refused(roles.role(what, name, by, "bob"), f"{by} needs ADMIN on the instance")
    assert roles.members("devs") == {"alice": True}
    assert roles.listed("alice") == ["devs"]


def test_who_tries_to_change_a_role_is_in_the_audit(roles: RoleWorld) -> None:
    roles.role("create", "devs", "bob")
    roles.role("create", "devs", "alice")
    roles.bridge.state.services[SERVICE].audit.close()
    file = roles.settings.audit.file
    assert file is not None
    records = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    assert [(one["reqUser"], one["access"], one["result"]) for one in records] == [
        ("bob", "role.create", 0),
        ("alice", "role.create", 1),
    ]


@pytest.mark.parametrize("what", ["drop", "add", "remove"])
def test_ranger_decides_once_more_if_the_caller_administers_the_role(roles: RoleWorld, what: str) -> None:
    roles.role("create", "devs", "alice")
    roles.role("add", "devs", "alice", "bob")
    member = "bob" if what == "remove" else "carol"
    refused(roles.role(what, "devs", "carol", member), "User doesn't have permissions to")
    assert roles.members("devs") == {"alice": True, "bob": False}


@pytest.mark.parametrize("what", ["drop", "add", "remove"])
@pytest.mark.parametrize(
    "description", ["", "of sales", description_of_made("other"), " " + description_of_made(SERVICE)]
)
def test_a_role_that_was_not_made_here_is_left_alone(roles: RoleWorld, what: str, description: str) -> None:
    roles.admin.roles.create(SERVICE, "devs", description=description, users=["bob"], admins=["alice"])
    refused(roles.role(what, "devs", "alice", "bob" if what == "remove" else "alice"), "was not made in CDAP")
    refused(roles.role("create", "devs", "alice"), "role devs already exists", "exists")
    assert roles.members("devs") == {"alice": True, "bob": False}


@pytest.mark.parametrize("what", ["drop", "add", "remove"])
def test_an_unknown_role_is_not_found(roles: RoleWorld, what: str) -> None:
    refused(roles.role(what, "devs", "alice", "bob"), "there is no role devs", "not_found")


def test_one_of_two_who_create_the_same_role_is_told_that_it_exists(roles: RoleWorld) -> None:
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda by: roles.role("create", "devs", by), ["alice", "carol"] * 2))
    assert sorted(answer["failure"] for answer in answers) == ["exists"] * 3 + ["none"]
    assert len(roles.members("devs")) == 1


def test_no_member_is_added_to_a_role_that_gives_more_than_the_caller_may(roles: RoleWorld) -> None:
    roles.role("create", "devs", "alice")
    secret = request(("DATASET", "ns2", "secret"), caller="nina", principal=DEVS, permissions=[GET])
    assert roles.ask("grant", secret)["done"]
    refused(
        roles.role("add", "devs", "alice", "bob"),
        "role devs gives more than alice may: ADMIN, the right to delegate on dataset:ns2.secret",
    )
    assert not roles.has("bob", "read", "secret", "ns2")


def test_the_right_to_delegate_is_asked_for_each_access_type(roles: RoleWorld) -> None:
    """carol may delegate READ and has WRITE: a role that gives WRITE takes no member from her."""
    kv3 = {"instance": "cdap", "namespace": "ns3", "dataset": "kv"}
    roles.role("create", "devs", "carol")
    roles.write(kv3, item("carol", "read", delegate=True), item("carol", "write", "admin"), to_role("devs", "read"))
    assert roles.role("add", "devs", "carol", "bob") == DONE
    (policy,) = [
        policy for policy in roles.policies() if policy.resources["instance"] and roles_of(policy.policy_items)
    ]
    policy.policy_items = [*policy.policy_items[:2], to_role("devs", "write")]
    roles.admin.update_policy(policy)
    refused(roles.role("add", "devs", "carol", "dave"), "the right to delegate on dataset:ns3.kv")


def roles_of(items: list[PolicyItem]) -> list[str]:
    return [name for one in items for name in one.roles]


MORE_THAN_A_GRANT: dict[str, tuple[dict[str, str], list[PolicyItem], Json]] = {
    "a pattern": ({**KV, "dataset": "kv*"}, [to_role("devs", "read")], {}),
    "two datasets": ({**KV, "dataset": "kv,kv2"}, [to_role("devs", "read")], {}),
    "the whole instance": ({"instance": "*"}, [to_role("devs", "read")], {}),
    "another instance": ({**KV, "instance": "other"}, [to_role("devs", "read")], {}),
    "programs of an application": (
        {"instance": "cdap", "namespace": "ns1", "application": "A", "program": "*"},
        [to_role("devs", "read")],
        {},
    ),
    "delegation": (KV, [to_role("devs", "read", delegate_admin=True)], {}),
    "a denial of the role": (KV, [item("alice", "read")], {"deny_policy_items": [to_role("devs", "read")]}),
    "an exception for the role": (KV, [item("bob", "read")], {"allow_exceptions": [to_role("devs", "read")]}),
} | {f"beside {case}": (KV, [to_role("devs", "read")], more) for case, more in NOT_PLAIN.items()}


@pytest.mark.parametrize("case", MORE_THAN_A_GRANT)
def test_members_of_a_role_that_has_more_than_grants_change_in_ranger_only(roles: RoleWorld, case: str) -> None:
    resource, items, more = MORE_THAN_A_GRANT[case]
    roles.role("create", "devs", "alice")
    roles.role("add", "devs", "alice", "bob")
    roles.write(resource, *items, **more)
    refused(roles.role("add", "devs", "alice", "dave"), "which is more than a grant")
    refused(roles.role("remove", "devs", "alice", "bob"), "which is more than a grant")
    refused(roles.role("drop", "devs", "alice"), "role devs is used by")
    assert roles.members("devs") == {"alice": True, "bob": False}


def test_members_of_a_role_inside_another_change_in_ranger_only(roles: RoleWorld) -> None:
    roles.role("create", "devs", "alice")
    roles.admin.roles.create(SERVICE, "outer", roles=["devs"])
    for what in ("add", "remove"):
        refused(roles.role(what, "devs", "alice", "bob"), "role devs is in role outer")
    refused(roles.role("drop", "devs", "alice"), "referenced in one or more other roles")


def test_an_admin_of_a_role_is_not_removed_in_cdap(roles: RoleWorld) -> None:
    roles.role("create", "devs", "alice")
    roles.admin.roles.grant(SERVICE, "devs", grantor="admin", users=["carol"], admin=True)
    for member in ("alice", "carol"):
        refused(roles.role("remove", "devs", "alice", member), f"user {member} administers role devs")


def test_policies_are_named_to_who_administers_their_entities_only(roles: RoleWorld) -> None:
    roles.role("create", "devs", "alice")
    mine = roles.write(KV, to_role("devs", "read"))
    roles.write({**KV, "namespace": "ns2"}, to_role("devs", "read"))
    reason = f"role devs is used by policy {mine.id}, 1 other policy; revoke that first"
    refused(roles.role("drop", "devs", "alice"), reason)
    refused(roles.role("drop", "devs", "carol"), "role devs is used by 2 policies; revoke that first")


NAMES = ["", " devs", "devs ", "*", "a,b", "{USER}", "public", "a/b", "..", "a;b", "a%b", "a\\b", "a\u202eb", "a\nb"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_ranger_may_read_otherwise_is_no_role(roles: RoleWorld, name: str) -> None:
    refused(roles.role("create", name, "alice"), "is not a name for a role")
    assert not roles.ask("grant", request(principal={"name": name, "type": "ROLE"}))["done"]


MEMBERS: list[tuple[Json | None, str]] = [
    (None, "names no principal"),
    ({"name": "inner", "type": "ROLE"}, "members of a role are users and groups"),
    ({"name": "public", "type": "GROUP"}, "does not identify a single user"),
    ({"name": "{OWNER}"}, "does not identify a single user"),
    ({"name": "bob,dave"}, "which Ranger may interpret"),
    ({"name": "ghost"}, "user with name: ghost does not exist"),
    ({"name": "ghosts", "type": "GROUP"}, "Group with name: ghosts does not exist"),
]


@pytest.mark.parametrize(("member", "reason"), MEMBERS)
def test_who_is_not_one_user_or_group_of_ranger_is_no_member(
    roles: RoleWorld, member: Json | None, reason: str
) -> None:
    roles.role("create", "devs", "alice")
    refused(roles.role("add", "devs", "alice", member), reason)
    assert roles.members("devs") == {"alice": True}


@pytest.mark.parametrize("caller", [None, user("alice", "GROUP"), user("alice", "ROLE"), user("")])
def test_without_a_caller_with_a_name_nothing_changes(roles: RoleWorld, caller: Json | None) -> None:
    body: Json = {"role": "devs"} | ({"caller": caller} if caller else {})
    assert not roles.ask("role/create", body)["done"]
    if caller:
        assert not roles.ask("roles", {"caller": caller})["done"]
    assert roles.admin.roles.names(SERVICE) == ()


def test_a_privilege_is_granted_to_a_role_by_who_may_and_only_to_one_that_exists(roles: RoleWorld) -> None:
    roles.admin.roles.create(SERVICE, "devs", groups=["crew"])
    body = request(("DATASET", "ns2", "kv"), caller="nina", principal=DEVS, permissions=[GET, UPDATE])
    assert roles.ask("grant", body) == {"done": True, "changed": True, "reason": ""}
    assert roles.ask("grant", body) == {"done": True, "changed": False, "reason": ""}
    assert roles.has("dave", "write", "kv", "ns2")
    assert "nina needs" in roles.ask("grant", request(caller="nina", principal=DEVS))["reason"]
    ghost = roles.ask("grant", request(principal={"name": "ghost", "type": "ROLE"}))
    assert "role ghost doesn't exist" in ghost["reason"]
    assert roles.ask("revoke", body) == {"done": True, "changed": True, "reason": ""}
    assert not roles.has("dave", "write", "kv", "ns2")


def test_a_denial_of_the_role_elsewhere_is_told(roles: RoleWorld) -> None:
    roles.role("create", "devs", "carol")
    roles.write({**KV, "dataset": "k*"}, item("bob", "read"), deny_policy_items=[to_role("devs", "read")])
    answer = roles.ask("grant", request(principal=DEVS))
    assert answer["reason"].endswith("devs does not have READ on dataset:ns1.kv, because of another policy")


def test_own_roles_are_shown_to_everyone_and_others_to_administrators(roles: RoleWorld) -> None:
    roles.role("create", "devs", "alice")
    roles.role("add", "devs", "alice", CREW)
    roles.admin.roles.create(SERVICE, "outer", roles=["devs"])
    roles.admin.roles.create(SERVICE, "hive", users=["bob"], groups=["crew"])
    roles.write(KV, to_role("outer", "read"))
    roles.bridge.state.authorizer.refresh()
    for by in ("dave", "alice"):
        assert roles.listed(by, user("dave")) == ["devs", "outer"]
        assert roles.listed(by, CREW) == ["devs", "outer"]
    assert roles.listed("alice") == ["devs", "outer"]
    assert roles.listed("bob", user("bob")) == []
    hidden = "so only bob's own roles are shown"
    for of in (None, user("dave"), CREW):
        assert hidden in roles.listed("bob", of)


def test_grants_of_a_role_are_shown_to_its_members_and_to_administrators(roles: RoleWorld) -> None:
    roles.role("create", "devs", "alice")
    roles.role("add", "devs", "alice", CREW)
    roles.ask("grant", request(principal=DEVS, permissions=[GET]))
    for by in ("dave", "carol"):
        answer = roles.ask("grants", {"caller": user(by), "principal": DEVS})
        assert [(one["entity"]["parts"], one["permissions"]) for one in answer["grants"]] == [(["ns1", "kv"], [GET])]
    assert (
        "so only bob's own grants are shown"
        in roles.ask("grants", {"caller": user("bob"), "principal": DEVS})["reason"]
    )


def test_without_ranger_admin_nothing_changes_and_the_reason_says_so(roles: RoleWorld) -> None:
    roles.bridge.state.authorizer.decider.policies._admin._http._urls = ("http://127.0.0.1:9",)  # type: ignore[attr-defined]
    refused(roles.role("create", "devs", "alice"), "cannot be reached")
    assert roles.admin.roles.names(SERVICE) == ()


@pytest.mark.parametrize("path", ["role/create", "role/drop", "role/add", "role/remove", "roles"])
def test_unless_configured_otherwise_roles_are_kept_in_ranger(world: World, path: str) -> None:
    body: Json = {"caller": user("alice")} | ({} if path == "roles" else {"role": "devs"})
    answer = world.ask("grant", "POST", f"/cdap/v1/{path}", body)
    assert answer.status == 200
    assert answer.json["done"] is False
    assert "roles are kept in Ranger" in answer.json["reason"]


def test_unless_configured_otherwise_no_role_is_granted_anything(role_admin: EmbeddedAdmin, tmp_path: Path) -> None:
    with role_world(role_admin, tmp_path, grants="bridge") as world:
        world.admin.roles.create(SERVICE, "devs")
        datasets = {"instance": "cdap", "namespace": "ns1", "dataset": "*"}
        world.write(datasets, item("alice", "read", "admin", delegate=True))
        answer = world.ask("grant", request(principal=DEVS))
        assert answer["reason"].endswith("grants from CDAP are for users only, not for a role")
