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
    return {"name": name, "services": {service: {"resources": resources}}, "adminUsers": ["alice"], **more}


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
    (zone("other", "fin1"), "some of the same resources"),
    (zone("other", "f*"), "some of the same resources"),
    (zone("other", "*"), "some of the same resources"),
    (zone("other", "?in1"), "some of the same resources"),
    (zone("other", "x", service="none"), "service `none`"),
    (zone("other", "x", adminUsers=["nobody"]), "`nobody`"),
    (zone("other", "x", adminUserGroups=["nobodies"]), "`nobodies`"),
    (zone(" ", "x"), "needs a name"),
    ({"name": "other"}, "needs a name and resources"),
    ({"name": "other", "services": {"cdapdev": {"resources": [{}]}}}, "each with values"),
    ({"name": "other", "services": {"cdapdev": {"resources": [{"namespace": []}]}}}, "each with values"),
    ({"name": "other", "services": {"cdapdev": {"resources": [{"planet": ["x"]}]}}}, "each with values"),
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
