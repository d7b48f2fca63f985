"""What decides is read as leniently as Ranger reads it; what does not decide is not read at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import (
    decode_roles,
    decode_service_policies,
    decode_service_tags,
    decode_user_store,
)

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


DOWNLOADS: dict[str, tuple[Callable[[bytes], object], str]] = {
    "policies": (decode_service_policies, '{"serviceName":"s","policyVersion":%s}'),
    "tag policies": (decode_service_policies, '{"serviceName":"s","tagPolicies":{"policyVersion":%s}}'),
    "a delta": (decode_service_policies, '{"serviceName":"s","policyDeltas":[{"policiesVersion":%s}]}'),
    "roles": (decode_roles, '{"serviceName":"s","roleVersion":%s}'),
    "tags": (decode_service_tags, '{"serviceName":"s","tagVersion":%s}'),
    "users": (decode_user_store, '{"userStoreVersion":%s}'),
}
NO_VERSIONS = [2**63, 10**30, 1e30, -1, -(2**63), 0.5, "nan", [], {}]


@pytest.mark.parametrize("what", DOWNLOADS)
def test_a_version_that_java_has_no_number_for_refuses_the_download(what: str) -> None:
    """Beside 2^63 every true version would seem older from then on."""
    decode, document = DOWNLOADS[what]
    for version in (0, 7, 2**63 - 1, '"7"', "null"):
        decode((document % version).encode())
    for wrong in NO_VERSIONS:
        for text in (json.dumps(wrong), json.dumps(str(wrong))):
            with pytest.raises(PolicySetError):
                decode((document % text).encode())
