"""The service definition: what Ranger needs of it, and what we promise people."""

import json
import re
from typing import Any

import pytest

import servicedef
from tests.servicedef.definition_facts import access_types, hierarchies

DEFINITION = servicedef.service_definition()


def test_the_levels_and_actions_are_those_of_cdap() -> None:
    assert access_types(DEFINITION) == ("read", "write", "admin", "execute")
    assert ("instance", "namespace", "application", "program") in hierarchies(DEFINITION)


@pytest.mark.parametrize("resource", DEFINITION["resources"], ids=lambda r: r["name"])
def test_every_level_is_an_entity_that_policies_can_name_exactly(resource: dict[str, object]) -> None:
    assert resource["isValidLeaf"] is True
    assert resource["matcherOptions"] == {"wildCard": "true", "ignoreCase": "false"}
    assert resource["excludesSupported"] is (resource["name"] != "instance")
    assert resource["recursiveSupported"] is False
    assert resource["label"]
    assert resource["description"]


def test_names_and_item_ids_are_unique() -> None:
    for part in ("resources", "accessTypes", "configs"):
        rows = DEFINITION[part]
        assert len({row["name"] for row in rows}) == len({row["itemId"] for row in rows}) == len(rows)


def test_every_action_has_a_category_from_which_ranger_makes_its_markers() -> None:
    categories = {access["name"]: access["category"] for access in DEFINITION["accessTypes"]}

    assert categories == {"read": "READ", "write": "UPDATE", "admin": "MANAGE", "execute": "UPDATE"}


def test_no_java_class_is_needed() -> None:
    assert DEFINITION["implClass"] == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parent": "nowhere"}, "unknown parent"),
        ({"level": 5}, "not below its parent"),
        ({"name": "instance"}, "one name"),
    ],
)
def test_a_broken_tree_is_refused(change: dict[str, object], message: str) -> None:
    broken = servicedef.service_definition()
    broken["resources"][1].update(change)

    with pytest.raises(ValueError, match=message):
        hierarchies(broken)


CONFIGS = {row["name"]: row for row in DEFINITION["configs"]}


def test_look_up_is_off_and_switched_on_for_every_level_that_cdap_lists() -> None:
    on = servicedef.with_lookup(DEFINITION)

    assert not servicedef.has_lookup(DEFINITION)
    assert not any(row["lookupSupported"] for row in DEFINITION["resources"])
    assert servicedef.has_lookup(on)
    assert {row["name"] for row in on["resources"] if not row["lookupSupported"]} == servicedef.NOT_LISTED
    assert servicedef.with_lookup(on, on=False) == DEFINITION


FIELDS = [row for row in DEFINITION["configs"] if row["name"] != servicedef.AUDIT_FILTERS]
"""What the form shows as fields; it has a table of its own for audit filters, and sends it with each save."""


@pytest.mark.parametrize("config", FIELDS, ids=lambda row: row["name"])
def test_a_setting_reads_well_in_the_form_and_keeps_its_secret(config: dict[str, Any]) -> None:
    assert config["type"] in {"string", "password", "bool", "int"}, "the form draws nothing for `path`"
    assert (config["type"] == "password") is (config["name"] == "password"), "Ranger hides only that name"
    assert config["name"] != "username", "Ranger would give that user all rights"
    assert config["mandatory"] is False
    assert config["label"]
    assert config["description"]
    hint = json.loads(config["uiHint"])
    assert list(hint) == ["info"], "broken JSON breaks the whole form"
    assert hint["info"].startswith(f"{config['description']}. "), "the form shows the hint, and no description"
    assert not set(hint["info"]) & set("<>&"), "the form takes it as HTML for some types, as text for others"
    assert (config["type"] == "bool") is (config.get("subType") == "YesTrue:NoFalse")


BUILT_IN_FILTERS = {"groupName", "policyLabel", "policyName", "roleName", "status", "userName"}
"""Of the search over the list of policies (`PolicyListing.jsx`); each level adds one by its label."""


def test_the_search_can_tell_the_levels_apart() -> None:
    labels = [row["label"] for row in DEFINITION["resources"]]
    camel_case = [label[0].lower() + label.title().replace(" ", "")[1:] for label in labels]
    assert len({*camel_case, *BUILT_IN_FILTERS}) == len(labels) + len(BUILT_IN_FILTERS)


@pytest.mark.parametrize("resource", DEFINITION["resources"], ids=lambda r: r["name"])
def test_every_level_takes_several_values_in_the_form(resource: dict[str, Any]) -> None:
    assert resource["uiHint"] == "", "`singleValue` would refuse what the engine allows"


def test_the_form_can_tell_the_settings_apart() -> None:
    assert len({re.sub("[.-]", "_", name) for name in CONFIGS}) == len(CONFIGS)
