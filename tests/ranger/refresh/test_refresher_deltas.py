"""Policies that come as changes only: applied where that is safe, else everything is downloaded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ranger_cdap.config import Settings
from tests.ranger.documents import SERVICE, policies, policy, roles
from tests.ranger.fixtures import FRESH, NOT_READY, FakeRanger, Started, may_read


def delta(version: int, *changes: dict[str, Any], **more: Any) -> bytes:
    document = {"serviceName": SERVICE, "policyVersion": version, "serviceDef": None, "policyDeltas": list(changes)}
    return json.dumps(document | more).encode()


def change(kind: int, policy_id: int, user: str = "", **more: Any) -> dict[str, Any]:
    content = policy(policy_id, user) if user else {"id": policy_id}
    routed = {"serviceType": "cdap", "policyType": 0, "version": 9}
    return {"id": policy_id, "changeType": kind, "policy": content | routed | more}


CREATE, UPDATE, DELETE = 0, 1, 2


def asked_for_policies(ranger: FakeRanger) -> list[str]:
    return [asked for asked in ranger.asked if asked.startswith("policies")]


def test_changes_come_into_force_without_a_whole_download(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["policies"] = policies(1, policy(1), policy(2, "carol", namespace="ns2"))
    refresher = started()
    refresher.refresh()
    ranger.documents["policies"] = delta(3, change(UPDATE, 1, "bob"), change(DELETE, 2), change(CREATE, 3, "dora"))

    after = refresher.refresh()

    assert (after.state, after.versions.policies) == (FRESH, 3)
    assert [may_read(after, user) for user in ("alice", "bob", "dora")] == [False, True, True]
    assert not may_read(after, "carol", "ns2")
    assert asked_for_policies(ranger) == ["policies -1", "policies 1"]
    assert ranger.speaks_of_deltas == [False, True]


def test_a_restart_finds_the_changed_policies_in_the_cache(
    started: Started, ranger: FakeRanger, settings: Settings
) -> None:
    ranger.documents["policies"] = policies(1, policy(1), policy(2, "carol", namespace="ns2"))
    refresher = started()
    refresher.refresh()
    for version, changes in enumerate(([change(UPDATE, 1, "bob")], [change(DELETE, 2)], [change(CREATE, 4, "eve")]), 2):
        ranger.documents["policies"] = delta(version, *changes)
        refresher.refresh()
    on_disk = json.loads((settings.plugin.cache_dir / f"cdap_{SERVICE}.json").read_bytes())
    assert [(p["id"], p["policyItems"][0]["users"]) for p in on_disk["policies"]] == [(1, ["bob"]), (4, ["eve"])]
    assert on_disk["policyVersion"] == 4
    ranger.is_away()
    snapshot = started().refresh()
    assert [may_read(snapshot, user) for user in ("alice", "bob", "eve")] == [False, True, True]
    assert snapshot.versions.policies == 4


@pytest.mark.parametrize(
    "answer",
    [
        delta(2, {"id": 1, "changeType": 7, "policy": {"id": 1}}),
        delta(2, {"id": 1, "changeType": 1}),
        delta(2, change(UPDATE, 1, "bob", serviceType="tag")),
        delta(2, change(UPDATE, 1, "bob"), securityZones={"z": {"zoneName": "z", "resources": []}}),
        delta(2, change(UPDATE, 1, "bob"), serviceName="another"),
        delta(2, change(UPDATE, 1, "bob"), serviceDef={"name": "cdap", "resources": [], "accessTypes": []}),
    ],
    ids=["no kind of change", "no policy", "a tag policy", "a zone", "another service", "another definition"],
)
def test_changes_that_can_not_be_applied_mean_a_whole_download(
    started: Started, ranger: FakeRanger, answer: bytes
) -> None:
    refresher = started()
    refresher.refresh()
    ranger.changes, ranger.documents["policies"] = answer, policies(2, policy(1, "dora"))
    after = refresher.refresh()
    assert asked_for_policies(ranger) == ["policies -1", "policies 1", "policies -1"]
    assert (after.state, [may_read(after, user) for user in ("alice", "bob", "dora")]) == (FRESH, [False, False, True])


def test_roles_that_change_with_the_policies_mean_a_whole_download(started: Started, ranger: FakeRanger) -> None:
    refresher = started()
    refresher.refresh()
    ranger.changes, ranger.documents["policies"] = delta(2, change(UPDATE, 1, "bob")), policies(2, policy(1, "dora"))
    ranger.documents["roles"] = roles(2, ops=["bob"])
    after = refresher.refresh()
    assert (after.versions.roles, may_read(after, "dora")) == (2, True)


def test_no_changes_change_nothing(started: Started, ranger: FakeRanger) -> None:
    refresher = started()
    refresher.refresh()
    ranger.changes = delta(2)
    after = refresher.refresh()
    assert (after.state, after.versions.policies, may_read(after)) == (FRESH, 2, True)


def test_changes_to_what_nobody_has_do_not_decide(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["policies"] = delta(2, change(CREATE, 1, "alice"))
    snapshot = started().refresh()
    assert (snapshot.state, snapshot.engine) == (NOT_READY, None)
    assert "policy deltas" in snapshot.reason
