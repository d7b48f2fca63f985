"""What decides is read as leniently as Ranger reads it; what does not decide is not read at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies, decode_service_tags

LEVEL = {"name": "path", "level": 10}


def definition(**changes: Any) -> bytes:
    level = {**LEVEL, **changes}
    return msgspec.json.encode({"serviceName": "s", "serviceDef": {"name": "s", "resources": [level]}})


@pytest.mark.parametrize(
    "changes",
    [{"parent": None}, {"isValidLeaf": None}, {"level": "10"}, {"level": "10", "matcherOptions": None}],
    ids=str,
)
def test_nulls_and_numbers_in_quotes_are_read(changes: dict[str, Any]) -> None:
    found = decode_service_policies(definition(**changes)).service_def
    assert found is not None
    (level,) = found.resources
    assert (level.name, level.level, level.parent) == ("path", 10, "")


@pytest.mark.parametrize("field", ["label", "mandatory", "itemId", "uiHint", "accessTypeRestrictions"])
@pytest.mark.parametrize("value", [5, "x", ["x"], {"x": 1}, True], ids=str)
def test_a_field_that_does_not_decide_never_makes_a_set_unreadable(field: str, value: object) -> None:
    assert decode_service_policies(definition(**{field: value})).service_def is not None


def test_a_field_that_decides_and_cannot_be_read_refuses_the_set() -> None:
    with pytest.raises(PolicySetError, match="the downloaded policies cannot be read"):
        decode_service_policies(definition(level="ten"))


@pytest.mark.parametrize("field", ["owner", "options"])
def test_a_field_of_a_tag_that_does_not_decide_is_ignored(field: str) -> None:
    tags = {"1": {"id": 1, "type": "PII", field: "x", "attributes": None}}
    resources = [{"id": 1, "ownerUser": 5, "guid": None, "resourceElements": {"path": {"values": ["/a"]}}}]
    found = decode_service_tags(msgspec.json.encode({"tags": tags, "serviceResources": resources}))
    assert (found.tags["1"].type, found.tags["1"].attributes) == ("PII", {})
    assert found.service_resources[0].guid == ""
