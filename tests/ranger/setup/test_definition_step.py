"""What `setup` does to a registered definition: it grows, and look-up is switched by an option only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.setup.definition_step import definition_step
from ranger_cdap.ranger.setup.service_setup import plan
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from servicedef import LOOKUP_CLASS, NOT_LISTED, has_lookup, service_definition, with_lookup

OURS = service_definition()
NAMES = [row["name"] for row in OURS["resources"]]
THEIR_LEVEL = {"name": "theirs", "itemId": 900, "level": 10, "parent": "", "lookupSupported": True, "isValidLeaf": True}
TEXTS = ("label", "description", "uiHint")
options = st.sampled_from([None, True, False])


def rows(part: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Some of our rows, with ids and texts of their own."""
    changed = st.builds(
        lambda row, n, look, texts: {
            **{key: value for key, value in row.items() if key not in TEXTS},
            "itemId": n,
            **texts,
            **({"lookupSupported": look, "validationRegEx": ""} if part == "resources" else {}),
        },
        st.sampled_from(OURS[part]),
        st.integers(100, 800),
        st.booleans(),
        st.dictionaries(st.sampled_from(TEXTS), st.sampled_from(["Old", "CDAP URL", "", None])),
    )
    return st.lists(changed, unique_by=(lambda row: row["name"], lambda row: row["itemId"]))


registered = st.builds(
    lambda resources, configs, name, other: {
        **OURS,
        "id": 7,
        "implClass": name,
        "resources": [*resources, *[THEIR_LEVEL] * other],
        "configs": configs,
    },
    rows("resources"),
    rows("configs"),
    st.sampled_from(["", None, LOOKUP_CLASS, "their.Lookup"]),
    st.booleans(),
)


def flags(definition: dict[str, Any]) -> dict[str, bool]:
    return {row["name"]: row["lookupSupported"] for row in definition["resources"]}


@given(registered, options)
def test_a_second_setup_with_the_same_option_or_without_changes_nothing(
    theirs: dict[str, Any], lookup: bool | None
) -> None:
    body = definition_step(OURS, theirs, lookup=lookup).wanted or {}

    for again in {lookup, None}:
        step = definition_step(OURS, body, lookup=again)
        assert (step.change, step.wanted) == (StepChange.KEEP, body)


@given(registered, options)
def test_nothing_is_dropped_and_no_id_changes_its_meaning(theirs: dict[str, Any], lookup: bool | None) -> None:
    body = definition_step(OURS, theirs, lookup=lookup).wanted or {}

    for part in ("resources", "configs", "accessTypes"):
        ids = {row["name"]: row["itemId"] for row in body[part]}
        assert len(set(ids.values())) == len(ids) == len(body[part])
        assert {row["name"]: row["itemId"] for row in theirs[part]}.items() <= ids.items()
        assert {row["name"] for row in OURS[part]} <= set(ids)
    assert body["id"] == 7


@given(registered, options)
def test_a_text_is_added_where_the_form_has_none_and_nothing_is_validated_anew(
    theirs: dict[str, Any], lookup: bool | None
) -> None:
    """Law: whatever policy could be saved before, can be saved after; whatever somebody wrote is still shown."""
    body = definition_step(OURS, theirs, lookup=lookup).wanted or {}

    for part in ("resources", "configs"):
        ours, after = ({row["name"]: row for row in definition[part]} for definition in (OURS, body))
        for row in theirs[part]:
            model, now = ours.get(row["name"], row), after[row["name"]]
            kept = {key: row.get(key) or model.get(key) or "" for key in TEXTS}
            expected = {key: model[key] for key in TEXTS} if lookup and part == "configs" else kept
            assert {key: now.get(key) or "" for key in TEXTS} == expected
            assert now.get("validationRegEx") == row.get("validationRegEx")


@given(registered)
def test_without_the_option_look_up_stays_as_it_is_also_for_new_levels(theirs: dict[str, Any]) -> None:
    body = definition_step(OURS, theirs, lookup=None).wanted or {}

    assert body["implClass"] == theirs["implClass"]
    assert flags(theirs).items() <= flags(body).items()
    new = {name: on for name, on in flags(body).items() if name not in flags(theirs)}
    assert new == {name: has_lookup(theirs) and name not in NOT_LISTED for name in new}


@given(registered)
def test_with_the_option_every_level_that_cdap_lists_is_looked_up(theirs: dict[str, Any]) -> None:
    step = definition_step(OURS, theirs, lookup=True)

    assert has_lookup(step.wanted or {})
    assert {name: on for name, on in flags(step.wanted or {}).items() if name in NAMES} == {
        name: name not in NOT_LISTED for name in NAMES
    }
    texts = {row["name"]: (row["label"], row["uiHint"]) for row in (step.wanted or {})["configs"]}
    assert texts == {row["name"]: (row["label"], row["uiHint"]) for row in OURS["configs"]}
    assert ("instead of `their.Lookup`" in str(step)) is (theirs["implClass"] == "their.Lookup")


@given(registered)
def test_switched_off_is_only_what_is_ours(theirs: dict[str, Any]) -> None:
    body = definition_step(OURS, theirs, lookup=False).wanted or {}

    if has_lookup(theirs):
        assert body["implClass"] == ""
        assert not any(on for name, on in flags(body).items() if name in NAMES)
    else:
        assert body["implClass"] == theirs["implClass"]
        assert flags(theirs).items() <= flags(body).items()


@given(st.lists(options))
def test_the_last_option_decides(lookups: list[bool | None]) -> None:
    registered = None
    for lookup in lookups:
        registered = definition_step(OURS, registered, lookup=lookup).wanted

    last = next((lookup for lookup in reversed(lookups) if lookup is not None), False)
    assert registered is None or registered == with_lookup(OURS, on=last)


@pytest.mark.parametrize(
    ("lookup", "configs", "named"),
    [
        (True, None, "prod"),
        (True, {}, "prod"),
        (True, {"cdap.instance.name": "other"}, "other"),
        (None, None, None),
        (None, {}, None),
        (False, {}, None),
    ],
)
def test_look_up_gets_the_name_of_the_instance_unless_somebody_gave_one(
    lookup: bool | None, configs: dict[str, str] | None, named: str | None
) -> None:
    service = None if configs is None else {"name": "cdapdev", "type": "cdap", "id": 1, "configs": configs}
    steps = plan(DesiredState("cdapdev", "prod", lookup=lookup), CurrentState(None, service, ()))

    (body,) = (step.wanted or step.there or {} for step in steps if step.kind == "service")
    assert body["configs"].get("cdap.instance.name") == named
