"""The library `apache-ranger` works unmodified: every request it can send is served, or is left out with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from apache_ranger.client import ranger_client, ranger_user_mgmt_client
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.client.ranger_user_mgmt_client import RangerUserMgmtClient
from apache_ranger.exceptions import RangerServiceException
from apache_ranger.model.ranger_policy import RangerPolicy
from apache_ranger.model.ranger_service import RangerService
from apache_ranger.model.ranger_user_mgmt import RangerGroup, RangerGroupUser, RangerUser
from apache_ranger.utils import API

from ranger_cdap.testing.admin.api.routes import ROUTES
from servicedef import service_definition
from tests.testing.admin.caller import PASSWORD, V2, Caller, download, policy
from tests.testing.admin.left_out import UNSUPPORTED

CLIENTS = (ranger_client, ranger_user_mgmt_client)
"""`apache_ranger.client.ranger_kms_client` is for Ranger KMS, which is another server."""
PLACE = re.compile(r"\{\w+\}")


def requests() -> Iterator[tuple[str, str, str]]:
    """Name, method and path of everything a client can send."""
    for module in CLIENTS:
        for client in vars(module).values():
            if isinstance(client, type) and client.__module__ == module.__name__:
                for name, value in vars(client).items():
                    if isinstance(value, API):
                        yield f"{client.__name__}.{name}", value.method.value, f"/{value.path}"


REQUESTS = list(requests())


def fits(path: str, template: str) -> bool:
    return re.fullmatch(PLACE.sub("[^/]+", template), path) is not None


def test_the_clients_are_walked() -> None:
    assert {name.partition(".")[0] for name, _, _ in REQUESTS} == {
        "RangerClient",
        "RangerClientPrivate",
        "RangerUserMgmtClient",
    }


@pytest.mark.parametrize(("method", "path"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS])
def test_what_the_client_can_send_is_served_or_left_out(method: str, path: str) -> None:
    shape = PLACE.sub("{}", path)
    served = any((row.method, PLACE.sub("{}", row.path)) == (method, shape) for row in ROUTES)
    reasons = [
        row.reason for row in UNSUPPORTED for asked, example in row.requests if asked == method and fits(example, path)
    ]
    assert served != bool(reasons), reasons


def test_the_apache_ranger_client_works_unmodified(admin: Caller) -> None:
    client = RangerClient(admin.url, ("admin", PASSWORD))
    client.session.trust_env = False
    users = RangerUserMgmtClient(client)
    assert client.create_service_def(service_definition())["name"] == "cdap"
    assert client.get_service_def("cdap").version == 1
    service = client.create_service(RangerService({"name": "dev", "type": "cdap", "configs": {"username": "boss"}}))
    everything = client.get_policies_in_service("dev")
    assert {item.users[0] for found in everything for item in found.policyItems} == {"boss"}
    assert "all - instance, namespace, dataset" in [found.name for found in everything]
    made = client.create_policy(RangerPolicy(policy(user="boss") | {"service": "dev"}))
    assert client.get_policy("dev", "p").id == made.id
    made.description = "changed"
    assert client.update_policy_by_id(made.id, made).version == 2
    with pytest.raises(RangerServiceException) as refused:
        client.create_policy(RangerPolicy(policy(user="boss") | {"service": "dev"}))
    assert refused.value.statusCode == 400
    client.delete_policy_by_id(made.id)
    assert client.get_policy("dev", "p") is None
    assert "boss" in [user.name for user in users.find_users({"name": "bo"}).list]
    client.delete_service_by_id(service.id)
    assert [found.name for found in client.find_services()] == ["tag"]


def test_the_client_manages_groups_and_their_users(cdapdev: Caller) -> None:
    client = RangerClient(cdapdev.url, ("admin", PASSWORD))
    client.session.trust_env = False
    people = RangerUserMgmtClient(client)
    alice = people.get_user("alice")
    group = people.create_group(RangerGroup({"name": "devs"}))
    people.create_group_user(RangerGroupUser({"name": "devs", "parentGroupId": group.id, "userId": alice.id}))
    assert (people.get_group_by_id(group.id).name, people.get_users_in_group("devs")) == ("devs", ["alice"])
    assert people.get_users_in_group("public") == []
    (member,) = people.find_group_users().list
    assert (member.name, member.userId) == ("devs", alice.id)
    people.delete_group_user_by_id(member.id)
    assert people.find_group_users().list == []
    assert people.get_user_by_id(alice.id).groupNameList == []
    people.delete_group_by_id(group.id)
    assert people.get_group("devs") is None
    extra = people.create_user(RangerUser({"name": "extra", "firstName": "extra", "password": PASSWORD}))
    people.delete_user_by_id(extra.id)
    assert people.get_user("extra") is None


def test_a_deleted_group_is_taken_out_of_policies_and_users(cdapdev: Caller) -> None:
    groups = "/service/xusers/secure/groups"
    alice = cdapdev("GET", "/service/xusers/users/userName/alice")[1]
    for name in ("devs", "ops"):
        cdapdev("POST", groups, {"name": name})
        cdapdev("POST", "/service/xusers/groupusers", {"name": name, "userId": alice["id"]})
    cdapdev("POST", f"{V2}/roles", {"name": "leads", "groups": [{"name": "ops"}]})
    item = {"groups": ["devs", "ops"], "accesses": [{"type": "read"}]}
    cdapdev("POST", f"{V2}/policy", policy(policyItems=[item]))
    before = download(cdapdev)[1]["policyVersion"]
    assert cdapdev("DELETE", f"{groups}/ops")[0] == 400
    assert cdapdev("DELETE", f"{groups}/devs") == (204, None)
    after = download(cdapdev)[1]
    assert after["policyVersion"] == before + 1
    assert after["policies"][0]["policyItems"][0]["groups"] == ["ops"]
    assert cdapdev("GET", "/service/xusers/users/userName/alice")[1]["groupNameList"] == ["ops"]
    assert cdapdev("DELETE", f"{groups}/devs")[0] == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/service/xusers/users/1"),
        ("DELETE", "/service/xusers/groups/1"),
        ("DELETE", "/service/xusers/secure/groups/public"),
        ("GET", "/service/xusers/secure/groups/1"),
        ("GET", "/service/xusers/groupusers/groupName/public"),
        ("DELETE", "/service/xusers/groupusers/1"),
    ],
)
@pytest.mark.parametrize("user", ["bob", "sync"])
def test_only_administrators_manage_groups(shared: Caller, method: str, path: str, user: str) -> None:
    assert shared.as_user(user)(method, path)[0] == 403
    assert shared("GET", "/service/xusers/groups")[1]["totalCount"] == 1
