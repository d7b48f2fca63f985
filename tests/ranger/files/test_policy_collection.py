"""Policies without ids decide like the download they came from: with zones, tags, roles, conditions and schedules."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_directory import read_directory, write_directory
from ranger_cdap.ranger.files.strict_text import parse_text, write_json
from tests.differential.fuzz.mixed import scenario
from tests.differential.our_engine import built, requests_of

Json = dict[str, Any]
READ = {"type": "read"}
NS1 = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}}
KV: Json = {"name": "kv", "resources": NS1, "policyItems": [{"users": ["alice"], "accesses": [READ]}]}


def answers(drawn: Json, download: Json, options: EngineOptions) -> list[tuple[bool, bool, bool]]:
    engine = built(drawn, download, drawn.get("tags"), options)
    decisions = map(engine.evaluate, requests_of(drawn, engine))
    return [(one.allowed, one.determined, one.audited) for one in decisions]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from(["json", "yaml"]), st.sampled_from(["safe", "ranger"]))
def test_download_export_and_directory_decide_alike(number: int, form: Any, compatibility: Any) -> None:
    drawn = scenario(23, number)
    collection = PolicyCollection.of_download(json.dumps(drawn["policies"]).encode())
    exported = PolicyCollection.of_document(parse_text(write_json(collection.document()), ".json"))
    with TemporaryDirectory() as folder:
        write_directory(Path(folder), collection, form)
        kept = read_directory(Path(folder))
    options = EngineOptions(compatibility=compatibility)
    expected = answers(drawn, drawn["policies"], options)
    for one in (collection, exported, kept):
        assert answers(drawn, json.loads(one.download()), options) == expected


def test_the_scenarios_have_what_the_law_is_about() -> None:
    found = "".join(json.dumps(scenario(23, number)["policies"]) for number in range(60))
    for word in ("securityZones", "tagPolicies", "roles", "conditions", "validitySchedules", "policyPriority"):
        assert f'"{word}"' in found


def download(*policies: Json, **more: Any) -> bytes:
    definition = servicedef.service_definition()
    return msgspec.json.encode({"serviceName": "s", "serviceDef": definition, "policies": policies, **more})


def test_an_export_has_no_number_and_no_definition_that_ships() -> None:
    collection = PolicyCollection.of_download(download({**KV, "id": 7, "guid": "g", "version": 3}))
    assert json.loads(msgspec.json.encode(collection.document())) == {
        "policies": [KV],
        "service": {"service": "s", "type": "cdap", "zones": {}},
    }
    (numbered,) = json.loads(collection.download())["policies"]
    assert numbered == {**KV, "id": 1}


def test_a_policy_outside_of_all_zones_stays_outside_whatever_it_says() -> None:
    zones = {"z": {"zoneName": "z", "resources": [{"namespace": ["ns2"]}], "policies": []}}
    found = PolicyCollection.of_download(download({**KV, "id": 1, "zoneName": "z"}, securityZones=zones))
    assert found.policies == (KV,)


@pytest.mark.parametrize(("access", "is_kept"), [("read", False), ("_READ", True)])
def test_what_ranger_adds_to_the_definition_is_kept_if_a_policy_names_it(access: str, is_kept: bool) -> None:
    definition = servicedef.service_definition()
    definition["markerAccessTypes"] = [{"itemId": 9, "name": "_READ", "impliedGrants": ["read"]}]
    definition["policyConditions"] = [*definition["policyConditions"], {"itemId": 9, "name": "_expression"}]
    item = {"users": ["alice"], "accesses": [{"type": access}]}
    found = PolicyCollection.of_download(download({**KV, "id": 1, "policyItems": [item]}, serviceDef=definition))
    assert (found.service.definition is not None) == is_kept


def test_a_definition_with_another_access_type_is_kept() -> None:
    definition = servicedef.service_definition()
    definition["accessTypes"].append({"itemId": 99, "name": "own", "impliedGrants": ["admin"]})
    assert PolicyCollection.of_download(download(serviceDef=definition)).service.definition is not None


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "holds no policies"),
        ({"policies": {}}, "holds no policies"),
        ({"policies": [1]}, "not a JSON object"),
        ({"policies": [{}]}, "no name"),
        ({"policies": [KV, KV]}, "the name `kv`"),
        ({"policies": [], "tagPolicies": {}}, "not a list"),
        ({"policies": [], "tagPolicies": [KV]}, "no tag service is named"),
        ({"policies": [], "service": {"nam": "s"}}, "`nam`"),
        ({"policies": [{**KV, "service": "a"}, {**KV, "name": "b", "service": "b"}]}, "services, `a` and `b`"),
        ({"policies": [{**KV, "zoneName": "z"}], "service": {"zones": {}}}, "zone `z`"),
        ({"policies": [{**KV, "denyPolicyItem": []}, KV]}, None),
        ({"policies": [{**KV, "denyPolicyItem": [{"users": ["bob"]}]}]}, "did you mean `denyPolicyItems`"),
        ({"policies": [{**KV, "deny_policy_items": [{"users": ["bob"]}]}]}, "did you mean `denyPolicyItems`"),
        ({"policies": [{**KV, "isEnabled": "no"}]}, "isEnabled"),
        ({"policies": [{**KV, "policyItems": [{"user": ["bob"], "accesses": [READ]}]}]}, "did you mean `users`"),
        ({"policies": [{**KV, "policyItems": [{"users": [1], "accesses": [READ]}]}]}, r"users\[0\]"),
        ({"policies": [{**KV, "resources": {"instance": {"values": ["a"], "isExclude": True}}}]}, "`isExcludes`"),
        ({"policies": [{**KV, "resources": {"instance": ["a"]}}]}, "cannot be read"),
    ],
)
def test_an_export_that_means_something_else_is_refused(document: Any, said: str | None) -> None:
    if said is None:
        said = "did you mean|the name `kv`"
    with pytest.raises(InvalidInput, match=said):
        PolicyCollection.of_document(document)


def test_a_member_of_a_newer_ranger_is_kept() -> None:
    newer = {**KV, "options": {"unheard": {"of": [1]}}, "wholly": {"new": True}}
    (kept,) = PolicyCollection.of_document({"policies": [newer]}).policies
    assert kept == newer


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"policies": [], "service": {"type": "hive"}}, "the definition of service type `hive` is missing"),
        ({"policies": [{**KV, "serviceType": "hive"}]}, "the definition of service type `hive` is missing"),
    ],
)
def test_what_is_not_known_is_not_made_up(document: Json, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        PolicyCollection.of_document(document).download()
