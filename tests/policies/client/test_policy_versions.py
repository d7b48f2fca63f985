"""Ranger's history of a policy, as the client reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import responses

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.policies.client.connection import AdminConnection
from ranger_cdap.policies.client.ranger_admin import RangerAdmin

URL = "https://ranger.test:6182"
HISTORY = f"{URL}/service/plugins/policy/7"
NO_VERSION = {"statusCode": 1, "msgDesc": "No Policy found for given version.", "messageList": []}


@pytest.fixture
def admin() -> Iterator[RangerAdmin]:
    with responses.mock, RangerAdmin(AdminConnection(URL, username="svc", password=Secret("Passw0rd!x"))) as admin:
        yield admin


@pytest.mark.parametrize(
    ("value", "versions"),
    [("1", (1,)), ("1,2,10", (1, 2, 10)), ("10, 2,1", (1, 2, 10)), ("", ()), (None, ()), (3, (3,))],
)
def test_the_versions_of_a_policy_are_in_order(admin: RangerAdmin, value: Any, versions: tuple[int, ...]) -> None:
    responses.get(f"{HISTORY}/versionList", json={"value": value})
    assert admin.policy_versions(7) == versions


@pytest.mark.parametrize(
    "body", [b"", b"<html/>", b"[1]", b'{"value": "1,x"}', b'{"value": "-1"}', b'{"value": "' + b"9" * 5000 + b'"}']
)
def test_a_list_of_another_shape_is_unexpected(admin: RangerAdmin, body: bytes) -> None:
    responses.get(f"{HISTORY}/versionList", body=body)
    with pytest.raises(errors.UnexpectedAnswer):
        admin.policy_versions(7)


def test_a_version_is_the_policy_with_fields_this_project_does_not_know(admin: RangerAdmin) -> None:
    document = {"id": 7, "version": 3, "service": "cdapdev", "novel": {"a": 1}}
    responses.get(f"{HISTORY}/version/3", json=document)
    assert admin.policy_of_version(7, 3) == document


def test_a_version_that_is_unknown_is_rejected_in_the_words_of_ranger(admin: RangerAdmin) -> None:
    responses.get(f"{HISTORY}/version/9", status=400, json=NO_VERSION)
    with pytest.raises(errors.RequestRejected, match="No Policy found"):
        admin.policy_of_version(7, 9)
