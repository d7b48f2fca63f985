"""The names that users are decided by: as Ranger transforms them, or nothing is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.engine.compiled.names import CONF, HANDLER
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.download import UserStore
from tests.authz.fixtures import Memory, authorizer, document, policy

KV = entity_id("dataset", ["ns1", "kv"])
READ = [{"type": "read"}]
LOWER = {f"{CONF}ldap.username.caseconversion": "lower"}
GROUPS = {f"{CONF}ldap.groupname.caseconversion": "lower", f"{CONF}mapping.groupname.handler": HANDLER}
TO_ALL = {"policyItems": [{"groups": ["public"], "accesses": READ}]}
OPEN = [
    policy(1, {"namespace": "ns1"}, [], [], **TO_ALL),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, [], [], **TO_ALL),
]
STORE = UserStore(
    user_attr_mapping={user: {"_emailAddress": mail} for user, mail in (("al", "a@x"), ("b", "b@x"), ("c", "b@x"))},
    user_group_mapping={"al": ["staff"]},
)


def by_names(
    policies: list[dict[str, Any]],
    config: Mapping[str, str] = LOWER,
    memory: Memory | None = None,
    **options: Any,
) -> Authorizer:
    download = decode_service_policies(msgspec.json.encode({**document(policies), "serviceConfig": config}))
    options = {"transform_names": True, **options}
    engine = PolicyEngine.build(download, attributes=STORE, options=EngineOptions(**options))
    return authorizer(engine, memory, groups_of=STORE.groups_of)


def for_all_but(**denied: list[str]) -> list[dict[str, Any]]:
    denial = policy(3, {"namespace": "ns1", "dataset": "kv"}, [], [], denyPolicyItems=[{**denied, "accesses": READ}])
    return [*OPEN, denial]


def reads(asked: Authorizer, user: str, groups: tuple[str, ...] = ()) -> bool:
    return asked.check(user, groups, "dataset.get", KV).allowed


@pytest.mark.parametrize("user", ["eve", "EVE", "Eve"])
def test_a_denial_counts_for_every_name_that_becomes_the_denied_one(user: str) -> None:
    assert not reads(by_names(for_all_but(users=["eve"])), user)
    assert reads(by_names(for_all_but(users=["bob"])), user)


def test_without_the_setting_names_stay_as_they_are() -> None:
    asked = by_names(for_all_but(users=["eve"]), transform_names=False)
    assert reads(asked, "EVE")
    assert not reads(asked, "eve")


def test_a_user_with_an_uncertain_name_is_denied_what_is_allowed_to_all() -> None:
    asked = by_names(OPEN)
    assert reads(asked, "eve")
    answer = asked.check("ΣE", (), "dataset.get", KV)
    assert not answer.allowed
    assert {one.decision.reason.partition(":")[0] for one in answer.decided_by} == {"the name is uncertain"}


def test_an_uncertain_group_may_be_any_that_a_denial_names() -> None:
    asked = by_names(for_all_but(groups=["staff"]), GROUPS)
    assert reads(asked, "eve", ("Dev",))
    assert not reads(asked, "eve", ("Staff",))
    assert not reads(asked, "eve", ("Dev", "Σ"))


def test_stored_groups_are_those_of_the_name_in_ranger_and_not_transformed() -> None:
    asked = by_names(for_all_but(groups=["staff"]), LOWER | GROUPS)
    assert not reads(asked, "AL")


def test_only_groups_of_the_user_store_count_if_set() -> None:
    only = by_names(for_all_but(groups=["staff", "dev"]), stored_groups="only")
    assert reads(only, "eve", ("dev",))
    assert not reads(only, "al")
    ignored = by_names(for_all_but(groups=["staff", "dev"]), stored_groups="ignored")
    assert not reads(ignored, "eve", ("dev",))
    assert reads(ignored, "al")


def test_an_address_is_the_user_who_has_it_or_the_user_named_before_the_at() -> None:
    for denied, address, allowed in (
        ("al", "a@x", False), ("a", "a@x", True), ("eve", "eve@x", False), ("", "@x", True), ("d", "b@x", False),
    ):  # fmt: skip
        assert reads(by_names(for_all_but(users=[denied]), email_to_user=True), address) is allowed, address


def test_the_audit_names_the_user_who_was_decided_about_and_the_answer_the_one_asked() -> None:
    memory = Memory()
    asked = by_names(OPEN, memory=memory)
    assert asked.check("EVE", (), "dataset.get", KV).person == "EVE"
    assert [record.reqUser for record in memory.records] == ["eve"]
