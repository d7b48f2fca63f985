"""Downloads of what changed only: every row of changes leads a plugin to the policies a full download has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ranger_cdap.testing.admin import EmbeddedAdmin
from ranger_cdap.testing.admin.store.change_log import CREATED, DELETED, UPDATED, LoggedChange, folded
from servicedef import service_definition
from tests.testing.admin.caller import DOWNLOAD, PASSWORD, V2, Caller, policy, prepared


@pytest.fixture
def admin_with_deltas() -> Iterator[Caller]:
    with EmbeddedAdmin(admin_password=PASSWORD, policy_deltas=True) as server:
        yield prepared(Caller(server.url))


def download(admin: Caller, known: int, *, deltas: bool = True) -> tuple[int, Any]:
    return admin("GET", f"{DOWNLOAD}/cdapdev?lastKnownVersion={known}&supportsPolicyDeltas={str(deltas).lower()}")


ZONE = {
    "name": "z",
    "services": {"cdapdev": {"resources": [{"instance": ["cdap"], "namespace": ["fin*"]}]}},
    "adminUsers": ["alice"],
    "auditUsers": ["alice"],
}


def make(admin: Caller, name: str, **more: Any) -> dict[str, Any]:
    status, made = admin("POST", f"{V2}/policy", policy(name, name, **more))
    assert status == 200
    return dict(made)


def version(admin: Caller) -> int:
    return int(download(admin, -1)[1]["policyVersion"])


def told(answer: dict[str, Any]) -> list[tuple[int, int]]:
    assert "policies" not in answer
    assert "policies" not in answer["tagPolicies"]
    return [(delta["changeType"], delta["policy"]["id"]) for delta in answer["policyDeltas"]]


def test_a_plugin_gets_what_changed_since_its_version(admin_with_deltas: Caller) -> None:
    admin = admin_with_deltas
    old, gone = make(admin, "old"), make(admin, "gone")
    known = version(admin)
    new = make(admin, "new")
    admin("PUT", f"{V2}/policy/{old['id']}", policy("old", "old", isEnabled=False))
    admin("DELETE", f"{V2}/policy/{gone['id']}")
    answer = download(admin, known)[1]
    assert answer["policyVersion"] == known + 3
    assert told(answer) == [(CREATED, new["id"]), (UPDATED, old["id"]), (DELETED, gone["id"])]
    created, updated, deleted = answer["policyDeltas"]
    assert [delta["policiesVersion"] for delta in answer["policyDeltas"]] == [known + 1, known + 2, known + 3]
    assert created["policy"]["name"] == "new"
    assert updated["policy"]["isEnabled"] is False
    assert deleted["policy"] | {"serviceType": "cdap", "policyType": 0} == deleted["policy"]
    assert "name" not in deleted["policy"]


def test_a_policy_made_and_deleted_since_is_not_mentioned(admin_with_deltas: Caller) -> None:
    known = version(admin_with_deltas)
    made = make(admin_with_deltas, "short")
    admin_with_deltas("DELETE", f"{V2}/policy/{made['id']}")
    answer = download(admin_with_deltas, known)[1]
    assert (told(answer), answer["policyVersion"]) == ([], known + 2)
    assert download(admin_with_deltas, known + 2) == (304, None)


def test_a_change_of_tag_policies_is_told_with_their_type(admin_with_deltas: Caller) -> None:
    known = version(admin_with_deltas)
    (expires,) = download(admin_with_deltas, -1)[1]["tagPolicies"]["policies"]
    admin_with_deltas("PUT", f"{V2}/policy/{expires['id']}", expires | {"isEnabled": False})
    answer = download(admin_with_deltas, known)[1]
    assert told(answer) == [(UPDATED, expires["id"])]
    assert answer["policyDeltas"][0]["policy"]["serviceType"] == "tag"


@pytest.mark.parametrize("known", [-1, 0, -7, 10_000])
def test_a_version_that_never_was_gets_everything(admin_with_deltas: Caller, known: int) -> None:
    make(admin_with_deltas, "p")
    answer = download(admin_with_deltas, known)[1]
    assert "policyDeltas" not in answer
    assert [row["name"] for row in answer["policies"]] == ["p"]


def test_a_change_that_is_no_policy_s_gets_everything_and_disabled_policies_too(admin_with_deltas: Caller) -> None:
    make(admin_with_deltas, "off", isEnabled=False)
    known = version(admin_with_deltas)
    make(admin_with_deltas, "on")
    admin_with_deltas("PUT", f"{V2}/servicedef/name/cdap", service_definition())
    answer = download(admin_with_deltas, known)[1]
    assert "policyDeltas" not in answer
    assert [row["name"] for row in answer["policies"]] == ["off", "on"]


def test_a_change_inside_a_security_zone_gets_everything(admin_with_deltas: Caller) -> None:
    admin_with_deltas("POST", f"{V2}/zones", ZONE)
    known = version(admin_with_deltas)
    make(admin_with_deltas, "fin1", zoneName="z")
    answer = download(admin_with_deltas, known)[1]
    assert "policyDeltas" not in answer
    assert [row["name"] for row in answer["securityZones"]["z"]["policies"]] == ["fin1"]


def test_deltas_name_the_zones_which_a_plugin_would_drop_otherwise(admin_with_deltas: Caller) -> None:
    admin_with_deltas("POST", f"{V2}/zones", ZONE)
    make(admin_with_deltas, "fin1", zoneName="z")
    known = version(admin_with_deltas)
    new = make(admin_with_deltas, "outside")
    answer = download(admin_with_deltas, known)[1]
    assert told(answer) == [(CREATED, new["id"])]
    (zone,) = answer["securityZones"].values()
    assert zone == {
        "zoneName": "z",
        "resources": [{"instance": ["cdap"], "namespace": ["fin*"]}],
        "policyDeltas": [],
        "containsAssociatedTagService": False,
    }


def test_deltas_need_both_sides(admin_with_deltas: Caller, cdapdev: Caller) -> None:
    for admin, asks in ((admin_with_deltas, False), (cdapdev, True)):
        make(admin, "off", isEnabled=False)
        known = version(admin)
        make(admin, "p")
        answer = download(admin, known, deltas=asks)[1]
        assert "policyDeltas" not in answer
        assert [row["name"] for row in answer["policies"]] == ["p"]


@pytest.mark.parametrize(
    ("kinds", "told_as"),
    [
        ([CREATED], [CREATED]),
        ([CREATED, UPDATED, UPDATED], [CREATED]),
        ([UPDATED, UPDATED], [UPDATED]),
        ([UPDATED, DELETED], [DELETED]),
        ([CREATED, UPDATED, DELETED], []),
    ],
)
def test_changes_of_one_policy_are_folded_into_one(kinds: list[int], told_as: list[int]) -> None:
    changes = [LoggedChange(kind, 7, 0, "cdap", version=n) for n, kind in enumerate(kinds)]
    assert [(change.kind, change.version) for change in folded(changes)] == [(kind, len(kinds) - 1) for kind in told_as]
