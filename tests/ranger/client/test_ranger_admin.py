"""What is asked of a Ranger Admin: which request each method makes, and what it makes of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import responses
from responses import matchers

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.downloader import Activations, Downloader, capabilities
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource

URL = "https://ranger.test:6182"
API = f"{URL}/service/public/v2/api"
NOT_FOUND = {"statusCode": 404, "msgDesc": "Not found"}
NO_SUCH_ID = {"statusCode": 1, "msgDesc": "Data Not Found for given Id", "messageList": [{"name": "DATA_NOT_FOUND"}]}
NO_SERVICE = {"statusCode": 404, "msgDesc": 'VXResponse={ msgDesc={"RANGER_ERROR_SERVICE_NOT_FOUND: ServiceName=x"} }'}


@pytest.fixture
def admin() -> Iterator[RangerAdmin]:
    with responses.mock, RangerAdmin(AdminConnection(URL, username="svc", password=Secret("Passw0rd!x"))) as admin:
        yield admin


def policy(policy_id: int, name: str = "") -> dict[str, Any]:
    return {"id": policy_id, "name": name or f"p{policy_id}", "service": "cdapdev", "version": 1, "isEnabled": True}


DOWNLOADS = [
    ("download_policies", "plugins/secure/policies/download", "lastKnownVersion", "11"),
    ("download_roles", "roles/secure/download", "lastKnownRoleVersion", "12"),
    ("download_tags", "tags/secure/download", "lastKnownVersion", "13"),
    ("download_user_store", "xusers/secure/download", "lastKnownUserStoreVersion", "14"),
]


@pytest.mark.parametrize(("method", "path", "version", "activated"), DOWNLOADS, ids=[row[0] for row in DOWNLOADS])
def test_a_download_is_the_document_as_it_came_or_none(
    admin: RangerAdmin, method: str, path: str, version: str, activated: str
) -> None:
    def download(known: int) -> bytes | None:
        by = Downloader("cdap@h-cdapdev", "cluster 1", Activations(policies=11, roles=12, tags=13, users=14))
        found: bytes | None = getattr(admin, method)("cdapdev", last_known_version=known, by=by)
        return found

    url = f"{URL}/service/{path}/cdapdev"
    asks = {
        "pluginId": "cdap@h-cdapdev",
        "clusterName": "cluster 1",
        "pluginCapabilities": capabilities(),
        "lastActivationTime": activated,
    }
    body = b'{"serviceName": "cdapdev",  "unknown": 1}'
    responses.get(url, body=body, match=[matchers.query_param_matcher(asks | {version: "-1"}, strict_match=False)])
    responses.get(url, status=304, match=[matchers.query_param_matcher(asks | {version: "7"}, strict_match=False)])
    assert download(-1) == body
    assert download(7) is None


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (
            403,
            {"statusCode": 403, "msgDesc": "User doesn't have permission to download policy"},
            errors.AccessForbidden,
        ),
        (404, NO_SERVICE, errors.ServiceNotFound),
        (401, {"statusCode": 401, "msgDesc": "Authentication Failed"}, errors.AuthenticationFailed),
    ],
)
def test_a_download_that_fails_says_how(
    admin: RangerAdmin, status: int, answer: dict[str, Any], kind: type[errors.RangerAdminError]
) -> None:
    responses.get(f"{URL}/service/plugins/secure/policies/download/x", status=status, json=answer)
    with pytest.raises(kind):
        admin.download_policies("x", last_known_version=-1, by=Downloader("p"))


GETS: list[tuple[str, Callable[[RangerAdmin], object], str]] = [
    ("service definition", lambda a: a.get_service_def("cdap"), "servicedef/name/cdap"),
    ("service", lambda a: a.get_service("cdapdev"), "service/name/cdapdev"),
    ("policy by name", lambda a: a.policy_by_name("cdapdev", "ns1 full"), "service/cdapdev/policy/ns1%20full"),
    ("policy by guid", lambda a: a.policy_by_guid("cdapdev", "g-1"), "policy/guid/g-1"),
]


@pytest.mark.parametrize(("get", "path"), [row[1:] for row in GETS], ids=[row[0] for row in GETS])
def test_what_is_not_there_is_none(admin: RangerAdmin, get: Callable[[RangerAdmin], object], path: str) -> None:
    responses.get(f"{API}/{path}", status=404, json=NOT_FOUND)
    assert get(admin) is None


@pytest.mark.parametrize(("get", "path"), [row[1:] for row in GETS], ids=[row[0] for row in GETS])
@pytest.mark.parametrize("body", [b"", b"<html/>", b"[1]", b'"x"'])
def test_an_answer_of_another_shape_is_unexpected(
    admin: RangerAdmin, get: Callable[[RangerAdmin], object], path: str, body: bytes
) -> None:
    responses.get(f"{API}/{path}", body=body)
    with pytest.raises(errors.UnexpectedAnswer):
        get(admin)


def test_definitions_and_services_keep_fields_this_project_does_not_know(admin: RangerAdmin) -> None:
    known = {"id": 207, "name": "cdap", "markerAccessTypes": [{"name": "_READ"}], "newInRanger3": {"a": [1]}}
    for method, path in (
        (responses.get, "servicedef/name/cdap"),
        (responses.post, "servicedef"),
        (responses.put, "servicedef/name/cdap"),
        (responses.get, "service/name/cdapdev"),
        (responses.post, "service"),
        (responses.put, "service/4"),
    ):
        method(f"{API}/{path}", json=known)
    answers = [
        admin.get_service_def("cdap"),
        admin.create_service_def(known),
        admin.update_service_def("cdap", known),
        admin.get_service("cdapdev"),
        admin.create_service(known),
        admin.update_service(4, known),
    ]
    assert answers == [known] * 6
    assert [json.loads(call.request.body) for call in responses.calls if call.request.body] == [known] * 4


def test_a_policy_is_sent_with_ranger_s_field_names(admin: RangerAdmin) -> None:
    wanted = Policy(
        guid="g-1",
        name="grant",
        service="cdapdev",
        resources={"instance": PolicyResource(values=["cdap"])},
        policy_items=[PolicyItem(users=["alice"], accesses=[PolicyItemAccess(type="read")])],
    )
    responses.post(f"{API}/policy", json=policy(10, "grant") | {"guid": "g-1", "createdBy": "Admin"})
    responses.put(f"{API}/policy/10", json=policy(10, "grant") | {"version": 2})
    responses.delete(f"{API}/policy/10", status=204)
    created = admin.create_policy(wanted)
    assert (created.id, created.guid, created.version) == (10, "g-1", 1)
    assert admin.update_policy(created).version == 2
    admin.delete_policy(10)
    sent = json.loads(responses.calls[0].request.body)
    assert sent["resources"] == {"instance": {"values": ["cdap"]}}
    assert sent["policyItems"] == [{"users": ["alice"], "accesses": [{"type": "read", "isAllowed": True}]}]
    assert None not in sent.values()


def test_a_taken_name_or_resource_is_told_by_its_number(admin: RangerAdmin) -> None:
    said = {
        "statusCode": 1,
        "msgDesc": "(0) Validation failure: error code[3010], reason[Another policy already exists]",
    }
    responses.post(f"{API}/policy", status=400, json=said)
    with pytest.raises(errors.RequestRejected) as caught:
        admin.create_policy(Policy(name="x", service="cdapdev"))
    assert caught.value.reason_codes == (3010,)


def test_deleting_what_is_gone_says_so(admin: RangerAdmin) -> None:
    responses.delete(f"{API}/policy/10", status=400, json=NO_SUCH_ID)
    with pytest.raises(errors.NotFound):
        admin.delete_policy(10)


@pytest.mark.parametrize("cut", [1, 3, 200, 10_000], ids=lambda cut: f"pages cut at {cut}")
@pytest.mark.parametrize("count", [0, 1, 7])
def test_all_pages_of_policies_are_read_however_the_server_cuts_them(admin: RangerAdmin, cut: int, count: int) -> None:
    there = [policy(n) for n in range(1, count + 1)]

    def page(request: Any) -> tuple[int, dict[str, str], str]:
        start, size = int(request.params["startIndex"]), min(cut, int(request.params["pageSize"]))
        return 200, {}, json.dumps(there[start : start + size])

    responses.add_callback("GET", f"{API}/service/cdapdev/policy", callback=page)
    assert [p.id for p in admin.list_policies("cdapdev")] == list(range(1, count + 1))


def test_a_server_that_ignores_the_page_does_not_keep_us_for_ever(admin: RangerAdmin) -> None:
    responses.get(f"{API}/service/cdapdev/policy", json=[policy(1), policy(2)])
    assert [p.id for p in admin.list_policies("cdapdev")] == [1, 2]
    responses.get(f"{URL}/service/xusers/lookup/users", json={"vXStrings": [{"value": "alice2"}]})
    assert not admin.user_exists("alice")


@pytest.mark.parametrize("name", ["a/b", "50%", "a;b"])
def test_a_policy_whose_name_no_path_can_carry_is_found_all_the_same(admin: RangerAdmin, name: str) -> None:
    responses.get(
        f"{API}/service/cdapdev/policy",
        json=[policy(1, f"not {name}"), policy(2, name)],
        match=[matchers.query_param_matcher({"policyNamePartial": name}, strict_match=False)],
    )
    found = admin.policy_by_name("cdapdev", name)
    assert found is not None
    assert found.id == 2


def test_a_service_name_that_no_path_can_carry_is_refused_unsent(admin: RangerAdmin) -> None:
    with pytest.raises(errors.InvalidInput):
        admin.list_policies("../../xusers")
    assert not responses.calls


def test_a_user_is_found_by_the_whole_name_only(admin: RangerAdmin) -> None:
    names = ["alice2", "malice", *(f"alice-{n}" for n in range(300)), "alice"]

    def page(request: Any) -> tuple[int, dict[str, str], str]:
        start, size = int(request.params["startIndex"]), int(request.params["pageSize"])
        matching = [n for n in names if request.params["name"] in n][start : start + size]
        return 200, {}, json.dumps({"vXStrings": [{"value": n} for n in matching]})

    responses.add_callback("GET", f"{URL}/service/xusers/lookup/users", callback=page)
    assert admin.user_exists("alice")
    assert not admin.user_exists("lice")
    assert not admin.user_exists("Alice")


def test_a_user_is_created_without_telling_the_password(admin: RangerAdmin) -> None:
    url = f"{URL}/service/xusers/secure/users"
    responses.post(url, json={"id": 9, "name": "alice"})
    admin.create_user("alice", Secret("Sesame123"))
    sent = msgspec.json.decode(responses.calls[0].request.body)
    assert (sent["name"], sent["password"], sent["userRoleList"]) == ("alice", "Sesame123", ["ROLE_USER"])
    responses.replace("POST", url, status=400, json={"statusCode": 1, "msgDesc": "Sesame123 is too weak"})
    with pytest.raises(errors.RequestRejected) as caught:
        admin.create_user("bob", Secret("Sesame123"))
    assert "Sesame123" not in str(caught.value) + caught.value.ranger_message
