"""A policy as Ranger Admin would save it (its own validator: tests/differential/test_java_saves.py)."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

import servicedef
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.saved_policy import SavedPolicies, as_saved, saved_download
from ranger_cdap.ranger.changes.transfer import portable
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.strict_text import write_json, write_yaml
from tests.ranger.changes.spellings import policy
from tests.ranger.files.forms import collection_of, download_of

Json = dict[str, Any]
SEEDS = range(150)
KV: Json = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}, "dataset": {"values": ["kv"]}}
EVE: Json = {"name": "p", "resources": KV, "policyItems": [{"users": ["eve"], "accesses": [{"type": "read"}]}]}
DEFINITION = servicedef.service_definition()


def with_item(**members: Any) -> Json:
    return {**EVE, "policyItems": [{**EVE["policyItems"][0], **members}]}


# written, what it becomes (None: itself), and what is said
REWRITTEN: dict[str, tuple[Json, Json | None, tuple[str, ...]]] = {
    "an access type in capitals": (
        with_item(accesses=[{"type": "READ"}, {"type": "read"}]),
        EVE,
        ("access type `READ` is saved as `read`: policy `p`",),
    ),
    "an exception and a denial": (
        {**EVE, "denyPolicyItems": [{"users": ["x"], "accesses": [{"type": "Write", "isAllowed": True}]}]},
        {**EVE, "denyPolicyItems": [{"users": ["x"], "accesses": [{"type": "write"}]}]},
        ("access type `Write` is saved as `write`: policy `p`",),
    ),
    "a marker": (
        with_item(accesses=[{"type": "_all"}]),
        with_item(accesses=[{"type": "_ALL"}]),
        ("access type `_all` is saved as `_ALL`: policy `p`",),
    ),
    "levels": (
        {**EVE, "resources": {name.title(): values for name, values in KV.items()}},
        EVE,
        tuple(f"level `{name.title()}` is saved as `{name}`: policy `p`" for name in KV),
    ),
    "names": (
        with_item(users=[" eve\t", "eve"], groups=["g\n"], roles=["\x1fr"]),
        with_item(groups=["g"], roles=["r"]),
        (
            "user ` eve?` is saved as `eve`: policy `p`",
            "group `g?` is saved as `g`: policy `p`",
            "role `?r` is saved as `r`: policy `p`",
        ),
    ),
    "a blank value": (
        {**EVE, "additionalResources": [{**KV, "dataset": {"values": ["kv", " "]}}]},
        {**EVE, "additionalResources": [KV]},
        ("a blank value of level `dataset` is not saved: policy `p`",),
    ),
    "the same value twice": (
        {**EVE, "resources": {**KV, "dataset": {"values": ["kv", "a", "kv"]}}},
        None,
        ("level `dataset` has `kv` twice, which Ranger Admin rejects (3056): policy `p`",),
    ),
    "what Ranger does not know": (with_item(accesses=[{"type": "fly "}], users=["\xa0eve"]), None, ()),
    "labels": ({**EVE, "policyLabels": ["b", "", "a", "b"]}, {**EVE, "policyLabels": ["a", "b"]}, ()),
}


@pytest.mark.parametrize(("written", "expected", "said"), REWRITTEN.values(), ids=REWRITTEN)
def test_what_is_rewritten_is_said(written: Json, expected: Json | None, said: tuple[str, ...]) -> None:
    before, saved = copy.deepcopy(written), SavedPolicies()
    (found,) = saved.of([written], DEFINITION)
    assert portable(found) == portable(expected or written)
    assert saved.changes == said
    assert written == before


def test_two_spellings_of_one_level_are_refused() -> None:
    written = {**EVE, "resources": {**KV, "Dataset": {"values": ["other"]}}}
    with pytest.raises(InvalidInput, match=r"policy `p` .* level `dataset` in two spellings"):
        SavedPolicies().of([written], DEFINITION)


def test_a_change_of_many_policies_is_said_once() -> None:
    saved = SavedPolicies()
    saved.of([{**with_item(users=["eve "]), "name": f"p{n}"} for n in range(3)], DEFINITION)
    assert saved.changes == ("user `eve ` is saved as `eve`: policy `p0` and 2 more",)


def test_a_policy_saved_twice_stays_as_it_is() -> None:
    names = [access["name"] for access in DEFINITION["accessTypes"]]
    for seed in SEEDS:
        (settled,) = SavedPolicies().of([policy(seed)], DEFINITION)
        assert as_saved(settled, names) == (settled, as_saved(settled, names)[1])


@pytest.mark.parametrize("kind", ["policies", "resources", "additionalResources", "policyItems", "validitySchedules"])
@pytest.mark.parametrize("garbage", [None, 1, "x", [], {}, [1], [None], {"x": 1}], ids=repr)
def test_garbage_is_left_to_those_who_decode(kind: str, garbage: Any) -> None:
    assert as_saved({**EVE, kind: garbage}, ["read"])[0] == {**EVE, kind: garbage}


def in_every_shape(policies: list[Json]) -> dict[str, bytes]:
    """The same policies in each form that a file may have, by its suffix; the first alone, too."""
    zone = {"zoneName": "z", "resources": [{"instance": ["*"]}], "policies": [{**policies[0], "zoneName": "z"}]}
    whole = {"serviceName": "s", "serviceDef": DEFINITION}
    return {
        "download.json": msgspec.json.encode({**whole, "policies": policies}),
        "zone.json": msgspec.json.encode({**whole, "policies": policies[1:], "securityZones": {"z": zone}}),
        "export.json": write_json({"policies": policies}),
        "export.yaml": write_yaml({"policies": policies}),
        "sections.yaml": write_yaml({"service": {"type": "cdap"}, "policies": policies}),
        "form.json": write_json({"metaDataInfo": {"Host name": "h"}, "policies": policies}),
        "list.json": write_json(policies),
        "list.yml": write_yaml(policies),
        "one.json": write_json(policies[0]),
        "one.yaml": write_yaml(policies[0]),
    }


def test_a_file_is_read_so_in_every_shape() -> None:
    written = with_item(accesses=[{"type": "READ"}], users=[" eve "])
    shapes = in_every_shape([written, {**written, "name": "q", "resources": {"instance": {"values": ["c"]}}}])
    for name, content in shapes.items():
        suffix = name[name.index(".") :]
        download, changes = saved_download(download_of(content, suffix, "s"))
        found = PolicyCollection.of_download(download)
        assert len(found.policies) == 1 + (not name.startswith("one")), name
        for one in (*found.policies, *collection_of(content, suffix).as_saved()[0].policies):
            assert one["policyItems"] == EVE["policyItems"], name
        assert [change.partition(":")[0] for change in changes] == [
            "user ` eve ` is saved as `eve`",
            "access type `READ` is saved as `read`",
        ], name


def test_policies_of_tags_are_saved_by_their_own_definition() -> None:
    tag = {"name": "t", "resources": {"tag": {"values": ["PII"]}}}
    tag["policyItems"] = [{"users": ["eve"], "accesses": [{"type": "CDAP:read"}, {"type": "READ"}]}]
    definition = {"name": "tag", "accessTypes": [{"name": "cdap:read"}]}
    download = msgspec.json.encode(
        {"serviceName": "s", "tagPolicies": {"serviceName": "t", "serviceDef": definition, "policies": [tag]}}
    )
    saved = PolicyCollection.of_download(saved_download(download)[0])
    assert saved.tag_policies[0]["policyItems"][0]["accesses"] == [{"type": "cdap:read"}, {"type": "READ"}]
    assert PolicyCollection.of_download(download).as_saved()[0].tag_policies == saved.tag_policies
