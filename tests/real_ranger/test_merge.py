"""A grant on the resource of a policy somebody wrote: it goes into that policy, and comes out of it alone."""

from __future__ import annotations

from typing import Any

from ranger_cdap.cdap.grant import Grant
from spark_sync.grants.push import push
from spark_sync.ledger.life import Life, State
from tests.real_ranger.estate import V2, Estate, Json
from tests.real_ranger.ui_forms import POLICIES, item, new_policy
from tests.spark_sync.grants.fixtures import ALL, MemoryLedger, gone, life

KV: Any = {"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["kv"]}


def rights(policy: Json) -> dict[str, set[str]]:
    """The accesses of each user."""
    found: dict[str, set[str]] = {}
    for row in policy.get("policyItems", ()):
        for user in row.get("users", ()):
            found.setdefault(user, set()).update(access["type"] for access in row.get("accesses", ()))
    return found


def theirs(estate: Estate) -> Json:
    """A policy of a person that lets bob read `KV`, and alice execute."""
    estate.set_up()
    alice, bob = estate.user("alice"), estate.user("bob")
    rows = [item("read", users=[bob]), item("execute", users=[alice])]
    made: Json = estate.done("POST", POLICIES, new_policy(estate.service, "theirs", KV, policyItems=rows))
    return made


def pushed(estate: Estate, one: Life) -> Life:
    ledger = MemoryLedger([one])
    assert push(ledger, estate.settings).error is None  # type: ignore[arg-type]
    (after,) = ledger.rows.values()
    return after


def test_the_sync_job_adds_what_is_missing_and_takes_exactly_that_out(estate: Estate) -> None:
    policy, names = theirs(estate), set(estate.policies())
    alice, bob = estate.name("alice"), estate.name("bob")
    applied = pushed(estate, life(alice))
    there = estate.policies()["theirs"]
    assert (applied.state, set(applied.merged), applied.policy_id) == (
        State.APPLIED,
        {"read", "write", "admin"},
        policy["id"],
    )
    assert rights(there) == {alice: set(ALL), bob: {"read"}}
    assert set(estate.policies()) == names
    versions = estate.versions()
    pushed(estate, applied)
    assert estate.versions() == versions
    assert pushed(estate, gone(applied)).state is State.CLOSED
    assert rights(estate.policies()["theirs"]) == {alice: {"execute"}, bob: {"read"}}


def test_ranger_s_own_grant_goes_into_the_policy_of_that_resource_whatever_its_name(estate: Estate) -> None:
    policy, before = theirs(estate), estate.policies()
    alice, bob = estate.name("alice"), estate.name("bob")
    one = Grant({"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, alice, ("write",))
    with estate.client(estate.name("sync")) as sync:
        for _ in range(2):
            sync.grant_access(estate.service, one, grantor=estate.name("sync"))
            found = estate.done("GET", f"{V2}/policy/{policy['id']}")
            assert rights(found) == {alice: {"execute", "write"}, bob: {"read"}}
            assert set(estate.policies()) == set(before)
        sync.revoke_access(estate.service, one, grantor=estate.name("sync"))
    assert rights(estate.policies()["theirs"]) == rights(before["theirs"])
