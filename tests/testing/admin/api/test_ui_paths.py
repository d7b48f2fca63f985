"""The paths that the forms of Ranger's web UI send to do what those of `public/v2` do, with the same rights."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.admin.caller import V2, Caller, download, policy

ZONE = {
    "name": "z",
    "services": {"cdapdev": {"resources": [{"instance": ["cdap"], "namespace": ["fin*"]}]}},
    "adminUsers": ["alice"],
    "auditUsers": ["alice"],
}
SERVICE = {"name": "other", "type": "cdap", "configs": {}}

# path of the web UI, path of `public/v2`, a new document, another one
FORMS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "policy": ("/service/plugins/policies", f"{V2}/policy", policy(), policy(description="changed")),
    "service": ("/service/plugins/services", f"{V2}/service", SERVICE, SERVICE | {"description": "changed"}),
    "role": ("/service/roles/roles", f"{V2}/roles", {"name": "r"}, {"name": "r", "description": "changed"}),
    "zone": ("/service/zones/zones", f"{V2}/zones", ZONE, ZONE | {"description": "changed"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_form_saves_is_what_public_v2_shows(cdapdev: Caller, form: str) -> None:
    ours, public, new, changed = FORMS[form]
    status, made = cdapdev("POST", ours, new)
    assert status == 200
    path = f"/{made['id']}"
    assert cdapdev("GET", ours + path)[1] == cdapdev("GET", public + path)[1]
    assert cdapdev("PUT", ours + path, made | changed)[0] == 200
    assert cdapdev("GET", public + path)[1]["description"] == "changed"
    assert cdapdev("DELETE", ours + path)[0] == 204
    assert cdapdev("GET", public + path)[0] == 400


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("user", ["alice", "plugin", None])
def test_a_form_gives_nobody_more_rights(shared: Caller, form: str, user: str | None) -> None:
    ours, public, new, changed = FORMS[form]
    caller = shared.as_user(user)
    for method, path, body in (("POST", "", new), ("PUT", "/1", changed), ("DELETE", "/1", None)):
        status, answer = caller(method, ours + path, body)
        assert (status, answer) == caller(method, public + path, body)
        assert status in (400, 401, 403)


def test_others_see_a_service_by_id_as_by_name_without_its_settings(shared: Caller) -> None:
    alice, service = shared.as_user("alice"), shared("GET", f"{V2}/service/name/cdapdev")[1]
    seen = alice("GET", f"/service/plugins/services/{service['id']}")
    assert seen == alice("GET", "/service/plugins/services/name/cdapdev")
    assert (seen[0], "configs" in seen[1]) == (200, False)


# sent for `tagService`, kept, and whether plugins must download again
LINKS = [({}, "tag", False), ({"tagService": None}, "tag", False), ({"tagService": ""}, None, True)]


@pytest.mark.parametrize(("sent", "kept", "again"), LINKS, ids=["missing", "null", "empty"])
def test_only_an_empty_text_removes_the_link_to_a_tag_service(
    cdapdev: Caller, sent: dict[str, Any], kept: str | None, again: bool
) -> None:
    known = download(cdapdev)[1]
    assert known["tagPolicies"]["serviceName"] == "tag"
    service = cdapdev("GET", f"{V2}/service/name/cdapdev")[1]
    del service["tagService"]
    status, answer = cdapdev("PUT", f"/service/plugins/services/{service['id']}", service | sent)
    assert (status, answer.get("tagService")) == (200, kept)
    status, after = download(cdapdev, known["policyVersion"])
    assert (status, "tagPolicies" in (after or known)) == ((200, False) if again else (304, True))
