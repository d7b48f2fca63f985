"""Security zones over HTTP: their policies stand apart in lists, downloads, grants and delegation."""

from __future__ import annotations

from typing import Any

import pytest
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.model.ranger_security_zone import RangerSecurityZone

from tests.testing.admin.caller import PASSWORD, V2, Caller, download, policy

ZONES = f"{V2}/zones"
GRANT = "/service/plugins/secure/services/grant/cdapdev"


def zone(name: str = "finance", *namespaces: str, service: str = "cdapdev", **more: Any) -> dict[str, Any]:
    resources = [{"instance": ["cdap"], "namespace": list(namespaces or ("fin*",))}]
    people = {"adminUsers": ["alice"], "auditUsers": ["alice"]}
    return {"name": name, "services": {service: {"resources": resources}}, **people, **more}


@pytest.fixture
def zoned(cdapdev: Caller) -> Caller:
    assert cdapdev("POST", ZONES, zone())[0] == 200
    return cdapdev


def names(admin: Caller, query: str = "") -> list[str]:
    return [row["name"] for row in admin("GET", f"{V2}/service/cdapdev/policy{query}")[1]]


def test_a_policy_of_a_zone_is_downloaded_there_and_nowhere_else(zoned: Caller) -> None:
    zoned("POST", f"{V2}/policy", policy("outside", "fin1"))
    assert zoned("POST", f"{V2}/policy", policy("inside", "fin1", zoneName="finance"))[0] == 200
    answer = download(zoned)[1]
    assert [row["name"] for row in answer["policies"]] == ["outside"]
    (finance,) = answer["securityZones"].values()
    assert finance["resources"] == [{"instance": ["cdap"], "namespace": ["fin*"]}]
    assert [row["name"] for row in finance["policies"]] == ["inside"]
    assert (names(zoned), names(zoned, "?zoneName=finance")) == (["outside"], ["inside"])


def test_a_name_or_resource_is_taken_in_its_zone_only(zoned: Caller) -> None:
    assert zoned("POST", f"{V2}/policy", policy("p", "fin1"))[0] == 200
    assert zoned("POST", f"{V2}/policy", policy("p", "fin1", zoneName="finance"))[0] == 200
    status, answer = zoned("POST", f"{V2}/policy", policy("p", "fin1", zoneName="finance"))
    assert (status, "3006" in answer["msgDesc"], "3010" in answer["msgDesc"]) == (400, True, True)
    path = f"{V2}/service/cdapdev/policy/p"
    inside, outside = (zoned("GET", path + query)[1] for query in ("?zoneName=finance", ""))
    assert inside["id"] != outside["id"]
    assert zoned("PUT", f"{V2}/policy/{inside['id']}", inside | {"zoneName": ""})[0] == 400
    assert zoned("DELETE", f"{V2}/policy?servicename=cdapdev&policyname=p&zoneName=finance")[0] == 204
    assert (names(zoned), names(zoned, "?zoneName=finance")) == (["p"], [])


def test_a_grant_goes_where_the_resource_is(zoned: Caller) -> None:
    for namespace in ("fin1", "sales"):
        resource = {"instance": "cdap", "namespace": namespace}
        body = {"grantor": "admin", "resource": resource, "users": ["bob"], "accessTypes": ["read"]}
        assert zoned("POST", GRANT, body)[0] == 200
    assert (len(names(zoned)), len(names(zoned, "?zoneName=finance"))) == (1, 1)


def test_what_is_delegated_outside_a_zone_is_not_inside_and_the_other_way_round(zoned: Caller) -> None:
    item = {"users": ["bob"], "accesses": [{"type": "read"}], "delegateAdmin": True}
    bob = zoned.as_user("bob")
    for here, there in (("", "finance"), ("finance", "")):
        delegated = policy(f"delegated {here}", "*", policyItems=[item], zoneName=here)
        status, made = zoned("POST", f"{V2}/policy", delegated)
        assert status == 200
        assert bob("POST", f"{V2}/policy", policy("mine", "fin1", zoneName=here))[0] == 200
        assert bob("POST", f"{V2}/policy", policy("mine", "fin2", zoneName=there))[0] == 403
        assert names(bob, f"?zoneName={there}") == []
        zoned("DELETE", f"{V2}/policy/{made['id']}")


def test_the_default_policies_of_a_service_are_made_in_the_zone_too(cdapdev: Caller) -> None:
    cdapdev("POST", f"{V2}/service", {"name": "other", "type": "cdap", "configs": {"username": "boss"}})
    cdapdev("POST", ZONES, zone(service="other"))
    everywhere, inside = (
        {row["name"] for row in cdapdev("GET", f"{V2}/service/other/policy{query}")[1]}
        for query in ("", "?zoneName=finance")
    )
    assert inside
    assert inside == everywhere


def test_a_zone_that_goes_takes_its_policies_along_and_plugins_hear_of_it(zoned: Caller) -> None:
    zoned("POST", f"{V2}/policy", policy("inside", "fin1", zoneName="finance"))
    version = download(zoned)[1]["policyVersion"]
    assert zoned("DELETE", f"{ZONES}/name/finance")[0] == 204
    after = download(zoned)[1]
    assert after["policyVersion"] > version
    assert "securityZones" not in after
    assert names(zoned, "?zoneName=finance") == []
    assert zoned("GET", f"{ZONES}/name/finance")[0] == 400


def change(admin: Caller, body: dict[str, Any], name: str = "finance") -> int:
    found = admin("GET", f"{ZONES}/name/{name}")[1]
    return admin("PUT", f"{ZONES}/{found['id']}", body)[0]


def test_a_renamed_zone_keeps_its_policies_under_its_new_name(zoned: Caller) -> None:
    _, made = zoned("POST", f"{V2}/policy", policy("inside", "fin1", zoneName="finance"))
    assert zoned("POST", ZONES, zone("hr", "hr*"))[0] == 200
    assert (change(zoned, zone("hr")), change(zoned, zone("money"))) == (400, 200)
    assert (names(zoned, "?zoneName=finance"), names(zoned, "?zoneName=money")) == ([], ["inside"])
    (found,) = (row for row in download(zoned)[1]["securityZones"].values() if row["policies"])
    assert [(row["zoneName"], row["version"]) for row in found["policies"]] == [("money", made["version"] + 1)]
    status, answer = zoned("POST", f"{V2}/policy", policy("again", "fin1", zoneName="money"))
    assert (status, "3010" in answer["msgDesc"]) == (400, True)


def test_a_narrowed_zone_keeps_its_policies_and_a_leaving_service_takes_them(zoned: Caller) -> None:
    zoned("POST", f"{V2}/policy", policy("inside", "fin1", zoneName="finance"))
    for less in (zone("finance", "other"), zone(services={"cdapdev": {"resources": []}})):
        assert change(zoned, less) == 200
        assert names(zoned, "?zoneName=finance") == ["inside"]
    (empty,) = download(zoned)[1]["securityZones"].values()
    assert ("resources" in empty, len(empty["policies"])) == (False, 1)
    assert (change(zoned, zone(services={})), change(zoned, zone())) == (200, 200)
    assert names(zoned, "?zoneName=finance") == []


def test_a_policy_stays_in_its_zone(zoned: Caller) -> None:
    zoned("POST", ZONES, zone("hr", "hr*", service="cdapdev"))
    zoned("POST", f"{V2}/service", {"name": "other", "type": "cdap", "configs": {}})
    _, made = zoned("POST", f"{V2}/policy", policy("p", "fin1", zoneName="finance"))
    refused = {
        "": "error code[3032], reason[Update of Zone name from=finance to= in policy is not supported]",
        "hr": "error code[3032], reason[Update of Zone name from=finance to=hr in policy is not supported]",
        "none": f"error code[3033], reason[Non-existent Zone name={made['id']} in policy create]",
    }
    for name, text in refused.items():
        status, answer = zoned("PUT", f"{V2}/policy/{made['id']}", policy("p", "fin1", zoneName=name))
        assert (status, text in answer["msgDesc"]) == (400, True), answer
    for body, text in (
        (policy("q", zoneName="none"), "error code[3033], reason[Non-existent Zone name=null in policy create]"),
        (policy("q", zoneName="hr") | {"service": "other"}, "error code[3048]"),
    ):
        status, answer = zoned("POST", f"{V2}/policy", body)
        assert (status, text in answer["msgDesc"]) == (400, True), answer


PEOPLE = [
    # the list of the zone that names bob or a group or role of his, and what he may then do there
    ({"adminUsers": ["bob"]}, True),
    ({"adminUserGroups": ["team"]}, True),
    ({"adminRoles": ["of bob"]}, True),
    ({"adminRoles": ["of team"]}, True),
    ({"auditUsers": ["bob"]}, False),
    ({"auditUserGroups": ["team"]}, False),
    ({"auditRoles": ["of bob"]}, False),
]


@pytest.mark.parametrize(("people", "may_write"), PEOPLE, ids=[str(people) for people, _ in PEOPLE])
def test_people_of_a_zone_have_rights_on_its_policies_only(
    zoned: Caller, people: dict[str, list[str]], may_write: bool
) -> None:
    zoned("POST", "/service/xusers/secure/groups", {"name": "team"})
    user_id = zoned("GET", "/service/xusers/users/userName/bob")[1]["id"]
    zoned("POST", "/service/xusers/groupusers", {"name": "team", "userId": user_id})
    zoned("POST", f"{V2}/roles", {"name": "of bob", "users": [{"name": "bob"}]})
    zoned("POST", f"{V2}/roles", {"name": "of team", "groups": [{"name": "team"}]})
    zoned("POST", f"{V2}/policy", policy("there", "fin1", zoneName="finance"))
    zoned("POST", f"{V2}/policy", policy("out", "fin1"))
    bob = zoned.as_user("bob")
    assert (names(bob, "?zoneName=finance"), names(bob)) == ([], [])
    assert change(zoned, zone(**people)) == 200
    assert (names(bob, "?zoneName=finance"), names(bob)) == (["there"], [])
    allowed = 200 if may_write else 403
    assert bob("POST", f"{V2}/policy", policy("new", "fin2", zoneName="finance"))[0] == allowed
    assert bob("POST", f"{V2}/policy", policy("new", "fin2"))[0] == 403
    resource = {"instance": "cdap", "namespace": "fin1"}
    grant = {"grantor": "bob", "resource": resource, "users": ["alice"], "accessTypes": ["read"]}
    assert bob("POST", GRANT, grant)[0] == 403
    roles = [name for kind, listed in people.items() if kind.endswith("Roles") for name in listed]
    for role in roles:
        assert zoned("DELETE", f"{V2}/roles/name/{role}".replace(" ", "%20"))[0] == 400


def test_where_two_zones_match_a_grant_goes_outside_of_both(zoned: Caller) -> None:
    """Ranger does not notice that `?in1` meets `fin*`."""
    assert zoned("POST", ZONES, zone("unnoticed", "?in1"))[0] == 200
    body = {
        "grantor": "admin",
        "resource": {"instance": "cdap", "namespace": "fin1"},
        "users": ["bob"],
        "accessTypes": ["read"],
    }
    assert zoned("POST", GRANT, body)[0] == 200
    listed = [len(names(zoned, query)) for query in ("", "?zoneName=finance", "?zoneName=unnoticed")]
    assert listed == [1, 0, 0]


def test_the_apache_ranger_client_makes_and_changes_zones(cdapdev: Caller) -> None:
    client = RangerClient(cdapdev.url, ("admin", PASSWORD))
    client.session.trust_env = False
    made = client.create_security_zone(RangerSecurityZone(zone()))
    assert client.get_security_zone("finance").id == client.get_security_zone_by_id(made.id).id == made.id
    assert [found.name for found in client.find_security_zones()] == ["finance"]
    changed = client.update_security_zone_by_id(made.id, RangerSecurityZone(zone("finance", "money*")))
    assert changed.services["cdapdev"].resources == [{"instance": ["cdap"], "namespace": ["money*"]}]
    client.delete_security_zone_by_id(made.id)
    assert client.find_security_zones() == []


def test_a_guid_is_taken_in_its_zone_only_and_looked_up_there(zoned: Caller) -> None:
    guid = "0d047247-bafe-4cf8-8e9b-d5d377284b2d"
    for where in ({}, {"zoneName": "finance"}):
        assert zoned("POST", f"{V2}/policy", policy("p", "fin1", guid=guid, **where))[0] == 200
        assert zoned("POST", f"{V2}/policy", policy("q", "fin2", guid=guid, **where))[0] == 400
    path = f"{V2}/policy/guid/{guid}?serviceName=cdapdev"
    assert "zoneName" not in zoned("GET", path)[1]
    assert zoned("GET", f"{path}&ZoneName=finance")[1]["zoneName"] == "finance"
    assert zoned("GET", f"{path}&ZoneName=other")[0] == 404


def test_policies_keep_their_ids_when_their_zone_is_renamed(zoned: Caller) -> None:
    made = zoned("POST", f"{V2}/policy", policy("p", "fin1", zoneName="finance"))[1]
    found = zoned("GET", f"{ZONES}/name/finance")[1]
    assert zoned("PUT", f"{ZONES}/{found['id']}", found | {"name": "money"})[0] == 200
    (moved,) = zoned("GET", f"{V2}/service/cdapdev/policy?zoneName=money")[1]
    assert (moved["id"], moved["guid"], moved["zoneName"]) == (made["id"], made["guid"], "money")
    assert [row["name"] for row in download(zoned)[1]["securityZones"]["money"]["policies"]] == ["p"]


REFUSED = [
    # the zone, a part of the text
    (zone(), "error code[3036]"),
    (zone("other", "fin1"), "[[finance, other]] match resource:[{instance=[cdap], namespace=[fin1]}]"),
    (zone("other", "f*"), "[[finance, other]] match resource:[{instance=[cdap], namespace=[fin*]}]"),
    (zone("other", "*"), "error code[3046]"),
    (zone("other", "x", service="none"), "error code[3040], reason[Invalid service [none]]"),
    (zone("other", "x", adminUsers=["nobody"]), "user with name: nobody does not exist "),
    (zone("other", "x", auditUserGroups=["nobodies"]), "group with name: nobodies does not exist "),
    (zone("other", "x", adminUsers=[]), "error code[3038]"),
    (zone("other", "x", auditUsers=[]), "field[security zone audit users/user-groups/roles]"),
    (zone(" ", "x"), "error code[3035]"),
    (zone("other", services={"cdapdev": {"resources": [{"namespace": ["x"]}]}}), "error code[3042]"),
    (zone("other", services={"cdapdev": {"resources": [{"planet": ["x"]}]}}), "error code[3042]"),
    (zone("other", services={"cdapdev": {"resources": [{"instance": []}]}}), "error code[3039]"),
    (
        zone("other", services={"cdapdev": {"resources": [{"instance": ["x"]}, {"instance": ["x"]}]}}),
        "error code[3052]",
    ),
]


def test_a_zone_that_can_t_be_is_refused(zoned: Caller) -> None:
    for body, text in REFUSED:
        status, answer = zoned("POST", ZONES, body)
        assert (body, status, text in answer["msgDesc"]) == (body, 400, True), answer
    assert zoned("POST", ZONES, zone("other", "sales"))[0] == 200


def test_administrators_change_zones_and_a_service_in_one_is_not_renamed(zoned: Caller) -> None:
    for user in ("alice", "sync"):
        assert zoned.as_user(user)("POST", ZONES, zone("other", "x"))[0] == 403
        assert zoned.as_user(user)("GET", ZONES)[0] == 200
    _, service = zoned("GET", f"{V2}/service/name/cdapdev")
    assert zoned("PUT", f"{V2}/service/{service['id']}", service | {"name": "renamed"})[0] == 400
    assert zoned("DELETE", f"{V2}/service/{service['id']}")[0] == 204
    assert "services" not in zoned("GET", f"{ZONES}/name/finance")[1]
