"""Ranger Admin rewrites what it saves: what it has then is what our commands take a file for, in every spelling."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.ranger.changes.saved_policy import access_types_of, as_saved
from ranger_cdap.ranger.changes.transfer import portable
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_directory import write_directory
from ranger_cdap.ranger.files.strict_text import write_json, write_yaml
from servicedef import service_definition
from tests.ranger.changes.spellings import policy
from tests.real_ranger.estate import V2, Estate

Json = dict[str, Any]
NAMES = access_types_of(service_definition())
SEEDS = range(45)


@pytest.fixture
def written(estate: Estate) -> list[Json]:
    """Policies of every spelling that Ranger accepts: their users, groups and roles exist, no value is there twice."""
    estate.set_up()
    known = [estate.name(what) for what in ("eve", "Bob", "o_brien")]
    for what in ("eve", "Bob", "o_brien"):
        estate.user(what)
        estate.group(what)
        estate.done("POST", f"{V2}/roles", {"name": estate.name(what)})
    drawn = [policy(seed, known) for seed in SEEDS]
    found = [one for one in drawn if not any("3056" in text for text in as_saved(one, NAMES)[1])]
    assert len(found) > len(SEEDS) / 2
    return found


def test_ranger_has_what_a_policy_was_taken_for(estate: Estate, written: list[Json]) -> None:
    rewritten = 0
    for one in written:
        estate.done("POST", f"{V2}/policy", {**one, "service": estate.service})
        (saved,) = [each for each in estate.admin.policy_documents(estate.service) if each["name"] == one["name"]]
        assert portable(saved) == portable(as_saved(one, NAMES)[0])
        rewritten += portable(saved) != portable(one)
    assert rewritten > len(written) / 2


def test_after_apply_there_is_no_difference_in_any_shape(estate: Estate, written: list[Json]) -> None:
    directory = estate.directory / "directory"
    write_directory(directory, PolicyCollection.of_document(written[0::4]), "yaml")
    contents = {
        "list.json": write_json(written[1::4]),
        "export.yaml": write_yaml({"policies": list(map(portable, written[2::4])), "service": {"type": "cdap"}}),
        "form.json": write_json({"metaDataInfo": {}, "policies": written[3::4]}),
        "one.json": write_json(written[0]),
    }
    for name, content in contents.items():
        (estate.directory / name).write_bytes(content)
    for name in ("directory", *contents):
        path = str(estate.directory / name)
        assert estate.run("policies", "apply", path, "--delete", "--yes") == 0, name
        assert estate.run("policies", "apply", path, "--delete", "--dry-run") == 0, name
        exported = str(estate.directory / "exported")
        assert estate.run("policies", "export", "--directory", exported) == 0
        assert estate.run("policies", "apply", exported, "--delete", "--dry-run") == 0, name


def test_ranger_has_one_policy_for_a_resource_in_two_spellings(estate: Estate) -> None:
    estate.set_up()
    item = {"users": [estate.user("eve")], "accesses": [{"type": "READ"}]}
    for number, (level, status) in enumerate((("namespace", 200), ("NameSpace", 400))):
        resources = {"instance": {"values": ["cdap"]}, level: {"values": ["ns1"]}}
        one = {"service": estate.service, "name": f"p{number}", "resources": resources, "policyItems": [item]}
        assert estate.ask("POST", f"{V2}/policy", one)[0] == status
