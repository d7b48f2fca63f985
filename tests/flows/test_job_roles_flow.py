"""Job roles from the command to a decision: applied in Ranger Admin, downloaded by a plugin, removed again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import parse_entity
from ranger_cdap.cli.main import main
from ranger_cdap.errors import AdminFailed
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.ranger_roles import RoleClient
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from ranger_cdap.tools.roles.role_plan import ROLE_LABEL
from tests.testing.admin.caller import V2, Caller

Json = dict[str, Any]


@pytest.fixture
def ranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedRanger]:
    """A service set up in Ranger, the groups `sales-devs` (ann) and `audit` (bob), and a configuration file."""
    with embedded_ranger() as ranger:
        ranger.create_users("ann", "bob")
        caller = raw(ranger)
        for group, user in (("sales-devs", "ann"), ("audit", "bob")):
            assert caller("POST", "/service/xusers/secure/groups", {"name": group})[0] == 200
            user_id = caller("GET", f"/service/xusers/users/userName/{user}")[1]["id"]
            assert caller("POST", "/service/xusers/groupusers", {"name": group, "userId": user_id})[0] == 200
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", ranger.password.reveal())
        (tmp_path / "ranger-cdap.toml").write_text(f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n')
        yield ranger


def raw(ranger: EmbeddedRanger) -> Caller:
    return Caller(ranger.url, password=ranger.password.reveal())


def run(*words: str) -> int:
    return main(["roles", *words])


def policies(ranger: EmbeddedRanger) -> dict[str, Json]:
    """Policies by name, without what every change alters."""
    found = raw(ranger)("GET", f"{V2}/service/{ranger.service}/policy?pageSize=1000")[1]
    changing = {"version", "updateTime", "updatedBy"}
    return {one["name"]: {name: value for name, value in one.items() if name not in changing} for one in found}


def roles(ranger: EmbeddedRanger) -> dict[str, Json]:
    return {one["name"]: one for one in raw(ranger)("GET", f"{V2}/roles")[1]}


def versions(ranger: EmbeddedRanger) -> dict[int, int]:
    found = raw(ranger)("GET", f"{V2}/service/{ranger.service}/policy?pageSize=1000")[1]
    return {one["id"]: one["version"] for one in found}


APPLY = ("apply", "developer", "--namespace", "sales", "--group", "sales-devs", "--yes")


def test_a_group_gets_a_job_and_loses_it_again(
    ranger: EmbeddedRanger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = policies(ranger)
    assert run("apply", "developer", "--namespace", "sales", "--group", "sales-devs", "--dry-run") == 2
    assert policies(ranger) == before
    assert run(*APPLY) == 0
    after = policies(ranger)
    made = {name for name in after if name not in before}
    assert made
    assert all(ROLE_LABEL in after[name]["policyLabels"] for name in made)
    assert roles(ranger)["sales_developer"]["groups"] == [{"name": "sales-devs", "isAdmin": False}]
    assert run("apply", "developer", "--namespace", "sales", "--group", "sales-devs", "--dry-run") == 0
    capsys.readouterr()

    with Authorizer.open(ranger.settings(tmp_path)) as authorizer:

        def may(user: str, group: str, operation: str, entity: str) -> bool:
            return authorizer.check(user, [group], operation, parse_entity(entity)).allowed

        assert may("ann", "sales-devs", "application.delete", "application:sales.orders")
        assert not may("ann", "sales-devs", "application.delete", "application:hr.orders")
        assert not may("ann", "sales-devs", "namespace.update", "namespace:sales")
        assert not may("bob", "audit", "application.get", "application:sales.orders")
        assert run("remove", "developer", "--namespace", "sales", "--yes") == 0
        authorizer.refresh()
        assert not may("ann", "sales-devs", "application.delete", "application:sales.orders")
    assert (policies(ranger), roles(ranger)) == (before, {})


def test_applied_again_or_removed_twice_nothing_changes(
    ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*APPLY) == 0
    before = versions(ranger)
    capsys.readouterr()
    assert run(*APPLY) == 0
    assert capsys.readouterr().out == "keep role `sales_developer`: it has these members and rights\n"
    assert versions(ranger) == before
    for _ in range(2):
        assert run("remove", "developer", "--namespace", "sales", "--yes") == 0
    assert capsys.readouterr().out.endswith("nothing to do\n")


@pytest.mark.parametrize("first", ["viewer", "developer"])
def test_two_jobs_share_the_policies_of_a_namespace_and_each_leaves_alone(ranger: EmbeddedRanger, first: str) -> None:
    jobs = {"viewer": "audit", "developer": "sales-devs"}
    states = {}
    for name, group in jobs.items():
        assert run("apply", name, "--namespace", "sales", "--group", group, "--yes") == 0
        states[name] = policies(ranger)
    assert set(states["viewer"]) < set(states["developer"])
    other = next(name for name in jobs if name != first)
    assert run("remove", first, "--namespace", "sales", "--yes") == 0
    assert set(roles(ranger)) == {f"sales_{other}"}
    assert run("apply", other, "--namespace", "sales", "--group", jobs[other], "--dry-run") == 0
    assert run("apply", first, "--namespace", "sales", "--dry-run") == 2
    assert run("remove", other, "--namespace", "sales", "--yes") == 0
    assert ROLE_LABEL not in json.dumps(policies(ranger))


def test_one_job_in_two_namespaces_is_two_roles(ranger: EmbeddedRanger) -> None:
    for namespace in ("sales", "hr"):
        assert run("apply", "developer", "--namespace", namespace, "--group", "sales-devs", "--yes") == 0
    assert set(roles(ranger)) == {"sales_developer", "hr_developer"}
    alone = run("remove", "developer", "--namespace", "hr", "--yes")
    assert alone == 0
    assert run("apply", "developer", "--namespace", "sales", "--group", "sales-devs", "--dry-run") == 0
    assert not [name for name in policies(ranger) if "namespace hr" in name]


def test_what_people_wrote_on_a_resource_survives_byte_for_byte(ranger: EmbeddedRanger) -> None:
    document = {
        "service": ranger.service,
        "name": "mine",
        "description": "by hand",
        "policyLabels": ["ours", f"{ROLE_LABEL}:read:role:other_role"],
        "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["sales"]}},
        "policyItems": [
            {
                "users": ["bob"],
                "groups": ["audit"],
                "accesses": [{"type": "read"}, {"type": "admin"}],
                "delegateAdmin": True,
            },
            {"users": ["ann"], "accesses": [{"type": "read"}]},
        ],
        "denyPolicyItems": [{"users": ["bob"], "accesses": [{"type": "write"}]}],
        "allowExceptions": [{"users": ["ann"], "accesses": [{"type": "admin"}]}],
    }
    assert raw(ranger)("POST", f"{V2}/policy", document)[0] == 200
    before = policies(ranger)
    assert run(*APPLY) == 0
    between = policies(ranger)["mine"]
    assert [item for item in between["policyItems"] if not item.get("roles")] == before["mine"]["policyItems"]
    assert [item["roles"] for item in between["policyItems"] if item.get("roles")] == [["sales_developer"]]
    assert run("remove", "developer", "--namespace", "sales", "--yes") == 0
    after = policies(ranger)
    label = f"{ROLE_LABEL}:read:role:other_role"  # a record of what is no longer there
    before["mine"]["policyLabels"] = [one for one in before["mine"]["policyLabels"] if one != label]
    assert after == before


@pytest.mark.parametrize("refused", ["create role", "first policy", "third policy", "members"])
def test_after_a_refused_step_the_same_command_completes(
    ranger: EmbeddedRanger, refused: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = {"create role": 1, "first policy": 1, "third policy": 3, "members": 1}
    kind, name = {
        "create role": (RoleClient, "create"),
        "members": (RoleClient, "grant"),
    }.get(refused, (RangerAdmin, "create_policy_document"))
    original, left = getattr(kind, name), calls[refused]

    def fails_once(*args: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            raise AdminFailed("Ranger Admin failed")
        return original(*args, **more)

    monkeypatch.setattr(kind, name, fails_once)
    assert run(*APPLY) == 1
    error = capsys.readouterr().err
    assert "changes were made before, and the same command goes on from there" in error
    assert run(*APPLY) == 0
    assert run("apply", "developer", "--namespace", "sales", "--group", "sales-devs", "--dry-run") == 0


def test_a_removal_that_is_refused_half_way_is_completed_by_the_next(
    ranger: EmbeddedRanger, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = policies(ranger)
    assert run(*APPLY) == 0
    with monkeypatch.context() as patched:
        patched.setattr(RoleClient, "delete", lambda *_, **__: (_ for _ in ()).throw(AdminFailed("Ranger failed")))
        assert run("remove", "developer", "--namespace", "sales", "--yes") == 1
    assert "sales_developer" in roles(ranger)
    assert run("remove", "developer", "--namespace", "sales", "--yes") == 0
    assert (policies(ranger), roles(ranger)) == (before, {})


def test_a_member_leaves_and_the_others_stay(ranger: EmbeddedRanger) -> None:
    assert run("apply", "viewer", "--namespace", "sales", "--group", "audit", "--yes") == 0
    assert run("apply", "viewer", "--namespace", "sales", "--user", "ann", "--yes") == 0
    before = policies(ranger)
    assert run("remove", "viewer", "--namespace", "sales", "--user", "ann", "--group", "sales-devs", "--yes") == 0
    role = roles(ranger)["sales_viewer"]
    assert (role["groups"], role.get("users", [])) == ([{"name": "audit", "isAdmin": False}], [])
    assert policies(ranger) == before


def test_a_role_of_others_is_left_alone_and_another_name_will_do(
    ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = {
        "name": "sales_developer",
        "description": "of the other team",
        "users": [{"name": "bob", "isAdmin": True}],
    }
    assert raw(ranger)("POST", f"{V2}/roles", theirs)[0] == 200
    before = (policies(ranger), roles(ranger))
    for words in (APPLY, ("remove", "developer", "--namespace", "sales", "--yes")):
        assert run(*words) == 3
        error = capsys.readouterr().err
        assert "role `sales_developer` is blocked" in error
        assert "described as `of the other team`" in error
    assert (policies(ranger), roles(ranger)) == before
    assert run(*APPLY, "--name", "sales_developer_2") == 0
    assert run("apply", "developer", "--namespace", "sales", "--name", "sales_developer_2", "--dry-run") == 0
    assert roles(ranger)["sales_developer"] == before[1]["sales_developer"]


def test_another_instance_or_service_never_shares_a_role_silently(
    ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*APPLY) == 0
    assert main(["--set", "cdap.instance=dev", "roles", *APPLY]) == 0
    assert set(roles(ranger)) == {"sales_developer", "dev_sales_developer"}
    assert main(["--set", "cdap.instance=dev", "roles", *APPLY, "--name", "sales_developer"]) == 3
    assert "developer in namespace:sales of instance cdap, service cdapdev" in capsys.readouterr().err


def test_a_role_that_got_more_from_a_person_stays_with_it(
    ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*APPLY) == 0
    theirs = {
        "service": ranger.service,
        "name": "more for the role",
        "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["lab"]}},
        "policyItems": [{"roles": ["sales_developer"], "accesses": [{"type": "read"}]}],
    }
    assert raw(ranger)("POST", f"{V2}/policy", theirs)[0] == 200
    assert run("remove", "developer", "--namespace", "sales", "--yes") == 0
    assert "`more for the role` names it for other rights" in capsys.readouterr().out
    assert set(roles(ranger)) == {"sales_developer"}
    assert [one for one in policies(ranger).values() if "sales_developer" in json.dumps(one)] == [
        policies(ranger)["more for the role"]
    ]


def test_another_profile_is_a_difference_that_apply_removes(
    ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = ("operator", "--namespace", "sales", "--group", "audit")
    assert run("apply", *operator, "--yes") == 0
    capsys.readouterr()
    changed = ["--set", "cdap.profile=cdap-6", "roles"]
    assert main([*changed, "apply", *operator, "--dry-run"]) == 2
    name = "roles: every application in namespace sales of cdap"
    assert f"update policy `{name}`" in capsys.readouterr().out
    assert main([*changed, "apply", *operator, "--yes"]) == 0
    held = {access["type"] for item in policies(ranger)[name]["policyItems"] for access in item["accesses"]}
    assert held == {"read", "admin"}
    assert main([*changed, "apply", *operator, "--dry-run"]) == 0
    assert run("apply", *operator, "--dry-run") == 2
