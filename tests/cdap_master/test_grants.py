"""Who hands out privileges or roles in CDAP is told to do it in Ranger; nothing changes."""

from __future__ import annotations

import pytest

from tests.cdap_master.fixtures import World

PRIVILEGES = "/v3/security/authorization/privileges"
GIFT = {
    "authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "default"}},
    "principal": {"name": "gift-friend", "type": "USER"},
    "permissions": [{"type": "STANDARD", "name": "GET"}],
}


@pytest.fixture(scope="module")
def giver(cdap_world: World) -> World:
    cdap_world.people({"gift-giver": ["ADMIN namespace:default", "READ namespace:default"], "gift-friend": []})
    return cdap_world


@pytest.mark.parametrize(
    ("request_line", "body", "advice"),
    [
        (f"POST {PRIVILEGES}/grant", GIFT, "edit policies in Ranger"),
        (f"POST {PRIVILEGES}/revoke", GIFT, "edit policies in Ranger"),
        ("PUT /v3/security/authorization/roles/friends", None, "roles are kept in Ranger"),
    ],
)
def test_it_is_refused_and_says_where(giver: World, request_line: str, body: object, advice: str) -> None:
    before = giver.ranger.admin.list_policies(giver.ranger.service)

    answer = giver.user("gift-giver").ask(request_line, body)

    assert answer.status_code == 403, answer.text
    assert advice in answer.text
    assert giver.ranger.admin.list_policies(giver.ranger.service) == before
