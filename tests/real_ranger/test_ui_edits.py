"""Edits as Ranger's web UI sends them: they decide as they read, and our commands see them as such."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.ranger.changes.transfer import portable
from tests.real_ranger import ui_forms
from tests.real_ranger.estate import V2, Estate, Json
from tests.real_ranger.ui_forms import POLICIES, ROLES, SERVICES, ZONES, item, new_policy, saved_policy

NS1 = {"instance": ["cdap"], "namespace": ["ns1"]}
PAST = {"startTime": "2020/01/01 00:00:00", "endTime": "2020/12/31 00:00:00", "timeZone": "UTC"}
PRESENT = {"startTime": "2020/01/01 00:00:00", "endTime": "2199/12/31 00:00:00", "timeZone": "UTC"}


@pytest.fixture
def alice(estate: Estate) -> str:
    estate.set_up()
    return estate.user("alice")


def test_a_policy_is_created_edited_switched_off_and_deleted(estate: Estate, alice: str) -> None:
    made = estate.done(
        "POST", POLICIES, new_policy(estate.service, "p", NS1, policyItems=[item("read", users=[alice])])
    )
    ours = {name: made[name] for name in ("isEnabled", "policyType", "isAuditEnabled", "isDenyAllElse")}
    assert ours == {"isEnabled": True, "policyType": 0, "isAuditEnabled": True, "isDenyAllElse": False}
    with estate.plugin() as plugin:

        def may() -> list[str]:
            return [one for one in ("read", "write") if estate.may(plugin, alice, one, namespace="ns1")]

        def save(**typed: Any) -> None:
            read = estate.done("GET", f"{POLICIES}/{made['id']}")
            estate.done("PUT", f"{POLICIES}/{made['id']}", saved_policy(read, **typed))

        assert may() == ["read"]
        save(policyItems=[item("read", "write", users=[alice])])
        assert may() == ["read", "write"]
        save(denyPolicyItems=[item("write", users=[alice])])
        assert may() == ["read"]
        save(isEnabled=False)
        assert may() == []
        save(isEnabled=True, denyPolicyItems=[])
        assert may() == ["read", "write"]
        estate.done("DELETE", f"{POLICIES}/{made['id']}")
        assert may() == []


# what is typed into the form of a policy that lets alice read ns1, and whether she may then read ns1 and ns2
TYPED: dict[str, tuple[Json, tuple[bool, bool]]] = {
    "nothing else": ({}, (True, False)),
    "a validity period of today": ({"validitySchedules": [PRESENT]}, (True, False)),
    "a validity period that is over": ({"validitySchedules": [PAST]}, (False, False)),
    "an empty list of validity periods": ({"validitySchedules": []}, (True, False)),
    "an override": ({"override": True}, (True, False)),
    "a label and no audit": ({"policyLabels": ["mine"], "isAuditEnabled": False}, (True, False)),
    "deny all else": ({"isDenyAllElse": True}, (True, False)),
    "a condition nobody evaluates": (
        {"conditions": [{"type": "_expression", "values": ["REQ.accessType == 'read'"]}]},
        (False, False),
    ),
}


@pytest.mark.parametrize(("typed", "allowed"), TYPED.values(), ids=TYPED)
def test_each_field_of_the_form_decides_as_it_reads(
    estate: Estate, alice: str, typed: Json, allowed: tuple[bool, bool]
) -> None:
    form = new_policy(estate.service, "p", NS1, policyItems=[item("read", users=[alice])], **typed)
    estate.done("POST", POLICIES, form)
    with estate.plugin() as plugin:
        assert tuple(estate.may(plugin, alice, "read", namespace=name) for name in ("ns1", "ns2")) == allowed


def test_a_second_resource_and_an_exclusion_decide_as_they_read(estate: Estate, alice: str) -> None:
    form = new_policy(
        estate.service, "p", NS1, NS1 | {"namespace": ["ns2", "ns3"]}, policyItems=[item("read", users=[alice])]
    )
    made = estate.done("POST", POLICIES, form)
    assert [row["namespace"]["values"] for row in made["additionalResources"]] == [["ns2", "ns3"]]
    with estate.plugin() as plugin:

        def readable() -> list[str]:
            names = ("ns1", "ns2", "ns3", "ns4")
            return [name for name in names if estate.may(plugin, alice, "read", namespace=name)]

        assert readable() == ["ns1", "ns2", "ns3"]
        excluding = made["resources"] | {"namespace": {"values": ["ns1"], "isExcludes": True}}
        changed = saved_policy(made, resources=excluding, additionalResources=[])
        estate.done("PUT", f"{POLICIES}/{made['id']}", changed)
        assert readable() == ["ns2", "ns3", "ns4"]


WHO = st.fixed_dictionaries({"users": st.sampled_from([["alice"], ["alice", "bob"]])})
ITEM = st.builds(
    lambda accesses, who, delegate: (accesses, who, delegate),
    st.lists(st.sampled_from(["read", "write", "admin", "execute"]), min_size=1, max_size=3, unique=True),
    WHO,
    st.booleans(),
)
FORM = st.fixed_dictionaries(
    {kind: st.lists(ITEM, max_size=2) for kind in ("policyItems", "denyPolicyItems", "allowExceptions")}
    | {"override": st.booleans(), "isAuditEnabled": st.just(True), "description": st.sampled_from(["", "of sales"])}
    | {"validitySchedules": st.sampled_from([[], [PAST], [PRESENT, PAST]]), "isEnabled": st.booleans()}
    | {"policyLabels": st.lists(st.sampled_from(["a", "b"]), unique=True)}
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FORM, min_size=1, max_size=3))
def test_a_form_that_is_opened_and_saved_changes_nothing(estate: Estate, alice: str, forms: list[Json]) -> None:
    """Law: whatever was typed, Save without an edit raises versions only; our files of policies show no difference."""
    estate.user("bob")
    made = []
    for number, form in enumerate(forms):
        typed: Json = dict(form)
        for kind in ("policyItems", "denyPolicyItems", "allowExceptions"):
            typed[kind] = [
                item(*accesses, delegate=delegate, users=[estate.name(name) for name in who["users"]])
                for accesses, who, delegate in form[kind]
            ]
        levels = {"instance": ["cdap"], "namespace": [f"ns{number}", "other"]}
        made.append(estate.done("POST", POLICIES, new_policy(estate.service, f"p{number}", levels, **typed)))
    before = estate.policies()
    for policy in made:
        estate.done("PUT", f"{POLICIES}/{policy['id']}", saved_policy(estate.done("GET", f"{POLICIES}/{policy['id']}")))
    after = estate.policies()
    try:
        assert {name: portable(one) for name, one in after.items()} == {n: portable(one) for n, one in before.items()}
    finally:
        for policy in made:
            estate.done("DELETE", f"{POLICIES}/{policy['id']}")


def test_the_plan_shows_exactly_what_was_edited_and_apply_takes_it_back(
    estate: Estate, alice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = estate.done(
        "POST", POLICIES, new_policy(estate.service, "p", NS1, policyItems=[item("read", users=[alice])])
    )
    files = str(estate.directory / "policies")
    assert estate.run("policies", "export", "--directory", files) == 0
    assert estate.run("policies", "apply", "--dry-run", files) == 0
    estate.done("PUT", f"{POLICIES}/{made['id']}", saved_policy(made, description="edited", isAuditEnabled=False))
    capsys.readouterr()
    assert estate.run("policies", "apply", "--dry-run", files) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("update")] == [
        "update policy `p`: differs in description, isAuditEnabled"
    ]
    assert estate.run("policies", "apply", files, "--yes") == 0
    assert portable(estate.policies()["p"]) == portable(made)


def test_the_form_of_a_service_keeps_what_setup_wrote_and_unlinks_its_tags(estate: Estate) -> None:
    estate.set_up()
    tags = estate.tag_service()
    before = estate.done("GET", f"{V2}/service/name/{estate.service}")
    path = f"{SERVICES}/{before['id']}"
    after = estate.done("PUT", path, ui_forms.saved_service(before, default__policy__users=None))
    assert (after["configs"], after["tagService"]) == (before["configs"], tags)
    assert estate.run("setup", "--dry-run") == 0
    unlinked = estate.done("PUT", path, ui_forms.saved_service(after, tag_service=""))
    assert "tagService" not in unlinked
    assert unlinked["configs"] == before["configs"]


def test_a_service_switched_off_in_the_form_stops_downloads_until_it_is_on(estate: Estate, alice: str) -> None:
    with estate.plugin() as plugin:
        assert plugin.refresh().state.value == "fresh"
        service = estate.done("GET", f"{V2}/service/name/{estate.service}")
        for enabled, state in ((False, "disabled"), (True, "fresh")):
            form = ui_forms.saved_service(service) | {"isEnabled": enabled}
            estate.done("PUT", f"{SERVICES}/{service['id']}", form)
            assert plugin.refresh().state.value == state


def test_a_role_made_and_edited_in_its_form_has_its_members(estate: Estate, alice: str) -> None:
    name, bob = estate.name("readers"), estate.user("bob", "crew")
    made = estate.done("POST", ROLES, ui_forms.role(name, users={alice: False}, groups={}, roles={}))
    form = new_policy(estate.service, "p", NS1, policyItems=[item("read", roles=[name])])
    estate.done("POST", POLICIES, form)
    with estate.plugin() as plugin:
        assert (
            estate.may(plugin, alice, "read", namespace="ns1"),
            estate.may(plugin, bob, "read", namespace="ns1"),
        ) == (
            True,
            False,
        )
        changed = ui_forms.role(name, made, users={bob: True}, groups={}, roles={})
        assert estate.done("PUT", f"{ROLES}/{made['id']}", changed)["users"] == [{"name": bob, "isAdmin": True}]
        assert (
            estate.may(plugin, alice, "read", namespace="ns1"),
            estate.may(plugin, bob, "read", namespace="ns1"),
        ) == (
            False,
            True,
        )
    assert estate.ask("DELETE", f"{ROLES}/{made['id']}")[0] == 400  # a policy names it


def test_a_zone_made_and_edited_in_its_form_has_its_policies(estate: Estate, alice: str) -> None:
    name = estate.name("zone")
    rows = [{"instance": ["cdap"], "namespace": ["ns*"]}]
    made = estate.done(
        "POST", ZONES, ui_forms.zone(name, {estate.service: rows}, adminUsers=[alice], auditUsers=[alice])
    )
    inside = new_policy(estate.service, "in", NS1, zone=name, policyItems=[item("read", users=[alice])])
    estate.done("POST", POLICIES, inside)
    with estate.plugin() as plugin:
        assert estate.may(plugin, alice, "read", namespace="ns1")
        other = [{"instance": ["cdap"], "namespace": ["other"]}]
        edited = ui_forms.zone(name, {estate.service: other}, made, adminUsers=[alice], auditUsers=[alice])
        estate.done("PUT", f"{ZONES}/{made['id']}", edited)
        assert not estate.may(plugin, alice, "read", namespace="ns1")
