"""What a denial advises where CDAP looks up what it is about to create; the recorded calls say where that is."""

from __future__ import annotations

import pytest

from ranger_cdap.authz.denial_text import before_creation
from ranger_cdap.authz.enforcer import AccessEnforcer, Enforced
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.profile import profile_names
from tests.authz.fixtures import Memory, authorizer, policy
from tests.cdap.checks.test_replay import RECORDED, Call

ADVICE = "does not exist yet because a deployment is about to create it"
CREATED_AS = {"DATASET": "DATASET", "DATASET_TYPE": "DATASET_MODULE"}
"""The entity that brings one of a type into being: a type comes with the module of its name."""


def key(call: Call) -> tuple[str, tuple[str, ...], str]:
    return call.entity[0], call.permissions, call.hint


def precedes_creation(calls: tuple[Call, ...], number: int) -> bool:
    """Whether CDAP later creates what the call is about."""
    kind, parts = calls[number].entity
    created = (CREATED_AS.get(kind), parts)
    later = (call for call in calls[number + 1 :] if call.entity == created)
    return any(call.permissions == ("STANDARD.CREATE",) for call in later)


CALLS = [call for recorded in RECORDED.values() for call in recorded.calls if not call.visible]
BEFORE_CREATION = {
    key(call)
    for name, recorded in RECORDED.items()
    if "application.deploy" in name
    for number, call in enumerate(recorded.calls)
    if call.permissions == ("STANDARD.GET",) and precedes_creation(recorded.calls, number)
}
KV = CdapCheck(
    "DATASET", ("ns1", "kv"), ("STANDARD.GET",), None, "DatasetInstanceService.get DatasetInstanceHandler.get"
)


def enforced(check: CdapCheck, *policies: object, profile: str = "003", memory: Memory | None = None) -> Enforced:
    return AccessEnforcer(authorizer(list(policies), memory, profile=profile)).enforce("alice", check)


@pytest.mark.parametrize("profile", profile_names())
def test_exactly_the_denial_of_a_check_before_a_creation_says_so(profile: str) -> None:
    asked = AccessEnforcer(authorizer([], profile=profile))

    assert {kind for kind, *_ in BEFORE_CREATION} == set(CREATED_AS)
    for call in CALLS:
        denied = asked.enforce("alice", call.check)
        assert not denied.allowed
        assert (ADVICE in denied.reason) is (key(call) in BEFORE_CREATION), call


def test_the_denial_names_the_privilege_and_what_to_do() -> None:
    memory = Memory()
    denied = enforced(KV, memory=memory)

    assert denied.reason == (
        "alice needs READ on dataset:ns1.kv; if the dataset does not exist yet because a deployment is about to create"
        " it, grant READ on dataset:ns1.kv beforehand, for example with `ranger-cdap needs … --for-cdap --policies`"
    )
    assert [record.result for record in memory.records] == [0]
    assert all(ADVICE not in answer.reason for answer in denied.answers)


def test_a_grant_is_advised_only_where_it_helps() -> None:
    kv = {"namespace": "ns1", "dataset": "kv"}
    read = [{"users": ["alice"], "accesses": [{"type": "read"}]}]
    allowed = enforced(KV, policy(1, kv, ["alice"], ["read"]))
    refused = enforced(KV, policy(1, kv, ["bob"], ["read"], denyPolicyItems=read))

    assert (allowed.allowed, allowed.reason) == (True, "")
    assert (refused.allowed, refused.reason) == (False, "alice needs READ on dataset:ns1.kv")
    assert before_creation(KV, ()) == ""
