"""Tags: what an upload does to those a service has, who may, and what plugins get."""

from __future__ import annotations

from typing import Any

import pytest
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.model.ranger_service_tags import RangerServiceTags

from tests.testing.admin.caller import PASSWORD, V2, Caller

TAGS = f"{V2}/service/cdapdev/tags"
DOWNLOAD = "/service/tags/secure/download/cdapdev"


def upload(op: str, carried: dict[str, list[str]], **more: Any) -> dict[str, Any]:
    """Tags of namespaces, each tag once for each namespace."""
    names = [name for names in carried.values() for name in names]
    numbers = iter(range(len(names)))
    return {
        "op": op,
        "serviceName": "cdapdev",
        "tags": {str(n): {"type": name} for n, name in enumerate(names)},
        "serviceResources": [
            {"id": n, "serviceName": "cdapdev", "resourceElements": elements(namespace)}
            for n, namespace in enumerate(carried)
        ],
        "resourceToTagIds": {str(n): [next(numbers) for _ in own] for n, own in enumerate(carried.values())},
        **more,
    }


def elements(namespace: str) -> dict[str, Any]:
    return {"instance": {"values": ["cdap"]}, "namespace": {"values": [namespace]}}


def carried(document: dict[str, Any]) -> dict[str, list[str]]:
    """The types of tags of each namespace."""
    ids = document.get("resourceToTagIds", {})
    return {
        resource["resourceElements"]["namespace"]["values"][0]: sorted(
            document["tags"][str(number)]["type"] for number in ids.get(str(resource["id"]), ())
        )
        for resource in document.get("serviceResources", ())
    }


def downloaded(admin: Caller) -> dict[str, Any]:
    status, answer = admin.as_user("plugin")("GET", f"{DOWNLOAD}?lastKnownVersion=-1")
    assert status == 200
    return dict(answer)


BEFORE = {"ns1": ["PII"], "ns2": ["PII", "SECRET"]}
UPLOADS: dict[str, tuple[dict[str, Any], dict[str, list[str]]]] = {
    "a new resource": (upload("add_or_update", {"ns3": ["PII"]}), {**BEFORE, "ns3": ["PII"]}),
    "other tags": (upload("add_or_update", {"ns1": ["SECRET"]}), {**BEFORE, "ns1": ["SECRET"]}),
    "no tags": (upload("set", {"ns1": []}), {**BEFORE, "ns1": []}),
    "tags not mentioned": (upload("set", {"ns1": []}, resourceToTagIds={}), BEFORE),
    "all anew": (upload("replace", {"ns2": ["PII"]}), {"ns2": ["PII"]}),
    "nothing at all": (upload("replace", {}), {}),
    "a deletion": (upload("delete", {"ns1": []}), {"ns2": ["PII", "SECRET"]}),
    "a deletion of nothing": (upload("delete", {"ns9": []}), BEFORE),
}


@pytest.mark.parametrize(("sent", "after"), UPLOADS.values(), ids=UPLOADS)
def test_tags_after_an_upload(cdapdev: Caller, sent: dict[str, Any], after: dict[str, list[str]]) -> None:
    assert cdapdev("PUT", TAGS, upload("replace", BEFORE)) == (204, None)
    before = downloaded(cdapdev)
    assert carried(before) == BEFORE
    assert cdapdev("PUT", TAGS, sent) == (204, None)
    now = downloaded(cdapdev)
    assert (carried(now), now["tagVersion"]) == (after, before["tagVersion"] + 1)


BROKEN: dict[str, dict[str, Any]] = {
    "a tag that is not there": upload("set", {"ns1": []}, resourceToTagIds={"0": [7]}),
    "a resource that is not there": upload("set", {"ns1": ["PII"]}, resourceToTagIds={"5": [0]}),
    "a tag without a type": upload("set", {"ns1": ["PII"]}, tags={"0": {}}),
    "a resource without values": upload("set", {}, serviceResources=[{"id": 0, "guid": "unknown"}]),
    "an unknown operation": upload("forget", {"ns1": []}),
    "no operation": upload("", {"ns1": []}),
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
def test_a_broken_upload_changes_nothing(cdapdev: Caller, sent: dict[str, Any]) -> None:
    cdapdev("PUT", TAGS, upload("replace", BEFORE))
    before = downloaded(cdapdev)
    assert cdapdev("PUT", TAGS, sent)[0] == 400
    assert downloaded(cdapdev) == before


def test_a_download_is_empty_or_has_each_tag_once_or_is_304(cdapdev: Caller) -> None:
    head = {
        "op": "add_or_update",
        "serviceName": "cdapdev",
        "tagVersion": 1,
        "isDelta": False,
        "tagsChangeExtent": "ALL",
        "isTagsDeduped": True,
    }
    assert downloaded(cdapdev) == head
    cdapdev("PUT", TAGS, upload("set", BEFORE))
    assert sorted(tag["type"] for tag in downloaded(cdapdev)["tags"].values()) == ["PII", "SECRET"]
    assert cdapdev.as_user("plugin")("GET", f"{DOWNLOAD}?lastKnownVersion=2") == (304, None)
    assert cdapdev("GET", f"{V2}/service/name/cdapdev")[1]["tagVersion"] == 2
    assert cdapdev("GET", f"{V2}/plugins/info")[1][0]["info"]["latestTagVersion"] == "2"


def test_attributes_and_validity_make_tags_different(cdapdev: Caller) -> None:
    period = {"startTime": "2026/01/01 00:00:00", "endTime": "2027/01/01 00:00:00", "timeZone": "UTC"}
    tags = {
        "0": {"type": "PII", "attributes": {"level": "1"}},
        "1": {"type": "PII", "attributes": {"level": "2"}},
        "2": {"type": "PII", "attributes": {"level": "1"}, "validityPeriods": [period]},
    }
    cdapdev("PUT", TAGS, upload("set", {"ns1": ["PII"], "ns2": ["PII"], "ns3": ["PII"]}, tags=tags))
    kept = downloaded(cdapdev)["tags"].values()
    assert [tag["attributes"]["level"] for tag in kept] == ["1", "2", "1"]
    assert [tag.get("validityPeriods") for tag in kept] == [None, None, [period]]


def test_a_resource_keeps_its_guid_and_is_known_by_it(cdapdev: Caller) -> None:
    cdapdev("PUT", TAGS, upload("set", {"ns1": ["PII"]}))
    (resource,) = downloaded(cdapdev)["serviceResources"]
    cdapdev("PUT", TAGS, upload("set", {"ns1": ["SECRET"]}))
    by_guid = [{"id": 4, "guid": resource["guid"]}]
    cdapdev("PUT", TAGS, upload("set", {"x": ["OLD"]}, serviceResources=by_guid, resourceToTagIds={"4": [0]}))
    after = downloaded(cdapdev)
    assert (carried(after), after["serviceResources"][0]["guid"]) == ({"ns1": ["OLD"]}, resource["guid"])


@pytest.mark.parametrize("user", ["alice", "plugin", "sync"])
@pytest.mark.parametrize(("method", "path"), [("PUT", TAGS), ("GET", TAGS)])
def test_only_administrators_upload_and_export(shared: Caller, user: str, method: str, path: str) -> None:
    body = upload("set", BEFORE) if method == "PUT" else None
    assert shared.as_user(user)(method, path, body)[0] == 403
    assert "tags" not in downloaded(shared)


def test_an_unknown_service_has_no_tags(shared: Caller) -> None:
    assert shared("GET", f"{V2}/service/nosuch/tags")[0] == 404
    assert shared("PUT", f"{V2}/service/nosuch/tags", upload("set", BEFORE))[0] == 404


def test_the_apache_ranger_client_uploads_and_gets_tags(cdapdev: Caller) -> None:
    client = RangerClient(cdapdev.url, ("admin", PASSWORD))
    client.session.trust_env = False
    kinds = {"7": {"name": "PII", "source": "Atlas"}, "8": {"name": "SECRET"}}
    client.import_service_tags("cdapdev", RangerServiceTags(upload("set", BEFORE, tagDefinitions=kinds)))
    exported = client.get_service_tags("cdapdev")
    assert (exported.op, exported.serviceName, carried(dict(exported))) == ("set", "cdapdev", BEFORE)
    client.import_service_tags("cdapdev", RangerServiceTags(dict(exported) | {"op": "replace"}))
    assert carried(downloaded(cdapdev)) == BEFORE
    kept = downloaded(cdapdev)["tagDefinitions"].values()
    assert [(kind["name"], kind.get("source")) for kind in kept] == [("PII", "Atlas"), ("SECRET", None)]
