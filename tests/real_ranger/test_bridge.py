"""Grants made in CDAP, forwarded to Ranger by the decision service in the name of a user who may delegate."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from ranger_cdap.cdap.grant import Grant
from ranger_cdap.service.decision_service import DecisionService
from tests.real_ranger.estate import V2, Estate, Json
from tests.real_ranger.ui_forms import POLICIES, item, new_policy
from tests.service.fixtures import CALLERS, World
from tests.service.grants.test_grants import DONE, UNCHANGED, UPDATE, request, user


@pytest.fixture
def bridge(estate: Estate) -> Iterator[DecisionService]:
    """alice may delegate all datasets of ns1, carol has the same rights and may not."""
    estate.set_up()
    datasets = {"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["*"]}
    rows = [
        item("read", "write", "admin", delegate=True, users=[estate.user("alice")]),
        item("read", "write", "admin", users=[estate.user("carol")]),
    ]
    estate.done("POST", POLICIES, new_policy(estate.service, "datasets of ns1", datasets, policyItems=rows))
    estate.user("bob")
    service = msgspec.structs.replace(estate.settings.service, callers=CALLERS)
    with DecisionService(
        msgspec.structs.replace(estate.settings, service=service), refresh_in_background=False
    ) as started:
        yield started


def ask(estate: Estate, bridge: DecisionService, path: str, by: str, more: tuple[str, ...] = ()) -> Json:
    """The answer to a grant or revoke of the right to read `ns1.kv`, to or from bob."""
    permissions = ["STANDARD.GET", *more]
    body = request(caller=user(estate.name(by)), principal=user(estate.name("bob")), permissions=permissions)
    world = World(bridge.url, bridge.state, None)  # type: ignore[arg-type]
    answer = world.ask("grant", "POST", f"/cdap/v1/{path}", body)
    assert answer.status == 200
    found: Json = answer.json
    return found


def rights(policy: Json) -> dict[str, set[str]]:
    """The accesses of each user."""
    found: dict[str, set[str]] = {}
    for row in policy.get("policyItems", ()):
        for user_ in row.get("users", ()):
            found.setdefault(user_, set()).update(access["type"] for access in row.get("accesses", ()))
    return found


def held(estate: Estate) -> set[str]:
    """What bob has by any policy."""
    return {name for policy in estate.policies().values() for name in rights(policy).get(estate.name("bob"), ())}


def test_who_may_delegate_gives_and_takes_and_a_second_time_changes_nothing(
    estate: Estate, bridge: DecisionService
) -> None:
    for path, both in (("grant", {"read", "write"}), ("revoke", set[str]())):
        assert ask(estate, bridge, path, "alice", (UPDATE,)) == DONE
        assert held(estate) == both
        versions = estate.versions()
        assert ask(estate, bridge, path, "alice", (UPDATE,)) == UNCHANGED
        assert estate.versions() == versions
    assert ask(estate, bridge, "grant", "alice") == DONE
    with estate.plugin("another") as plugin:
        kv = {"namespace": "ns1", "dataset": "kv"}
        allowed = [name for name in ("read", "write") if estate.may(plugin, estate.name("bob"), name, **kv)]
    assert allowed == ["read"]


def test_who_has_the_right_and_may_not_delegate_it_gives_nothing(estate: Estate, bridge: DecisionService) -> None:
    versions = estate.versions()
    for path in ("grant", "revoke"):
        answer = ask(estate, bridge, path, "carol")
        assert (answer["done"], answer["changed"]) == (False, False)
    assert (estate.versions(), held(estate)) == (versions, set())


def test_without_the_right_to_forward_ranger_refuses_and_the_answer_says_so(
    estate: Estate, bridge: DecisionService
) -> None:
    service = estate.admin.get_service(estate.service) or {}
    configs = {name: text for name, text in service["configs"].items() if name != "policy.grantrevoke.auth.users"}
    estate.admin.update_service(service["id"], service | {"configs": configs})
    answer = ask(estate, bridge, "grant", "alice")
    assert (answer["done"], answer["changed"], held(estate)) == (False, False, set())
    assert answer["reason"]


def test_ranger_s_own_grant_goes_into_the_policy_of_that_resource_whatever_its_name(estate: Estate) -> None:
    estate.set_up()
    alice, bob = estate.user("alice"), estate.user("bob")
    rows = [item("read", users=[bob]), item("execute", users=[alice])]
    kv = {"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["kv"]}
    policy = estate.done("POST", POLICIES, new_policy(estate.service, "theirs", kv, policyItems=rows))
    before = estate.policies()
    one = Grant({"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, alice, ("write",))
    with estate.client(estate.name("sync")) as sync:
        for _ in range(2):
            sync.grant_access(estate.service, one, grantor=estate.name("sync"))
            found = estate.done("GET", f"{V2}/policy/{policy['id']}")
            assert rights(found) == {alice: {"execute", "write"}, bob: {"read"}}
            assert set(estate.policies()) == set(before)
        sync.revoke_access(estate.service, one, grantor=estate.name("sync"))
    assert rights(estate.policies()["theirs"]) == rights(before["theirs"])
