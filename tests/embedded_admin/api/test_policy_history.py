"""Versions of policies, as Ranger keeps them."""

from __future__ import annotations

import pytest

from ranger_cdap.embedded_admin.store import former_policies
from tests.embedded_admin.caller import V2, Caller, policy

PLUGINS = "/service/plugins"


def versions(call: Caller, policy_id: int) -> list[str]:
    status, answer = call("GET", f"{PLUGINS}/policy/{policy_id}/versionList")
    assert status == 200
    return answer["value"].split(",") if answer["value"] else []


def version_path(policy_id: int, number: object) -> str:
    return f"{PLUGINS}/policy/{policy_id}/version/{number}"


def test_every_version_is_answered_as_it_was_also_after_a_deletion(cdapdev: Caller) -> None:
    answers = [cdapdev("POST", f"{V2}/policy", policy())[1]]
    policy_id = answers[0]["id"]
    answers += [cdapdev("PUT", f"{V2}/policy/{policy_id}", policy(description=f"d{n}"))[1] for n in range(3)]
    for _ in range(2):
        assert versions(cdapdev, policy_id) == ["1", "2", "3", "4"]
        for number, answer in enumerate(answers, 1):
            assert cdapdev("GET", version_path(policy_id, number)) == (200, answer)
        cdapdev("DELETE", f"{V2}/policy/{policy_id}")


def test_unknown_policies_and_versions_have_no_answer(cdapdev: Caller) -> None:
    made = cdapdev("POST", f"{V2}/policy", policy())[1]
    assert versions(cdapdev, 999) == []
    for policy_id, number in ((made["id"], 2), (999, 1), (made["id"], 0)):
        status, answer = cdapdev("GET", version_path(policy_id, number))
        assert (status, answer["msgDesc"]) == (400, "No Policy found for given version.")
    assert cdapdev("GET", version_path(made["id"], "x"))[0] == 404


def test_a_version_is_for_those_who_may_see_it(cdapdev: Caller) -> None:
    made = cdapdev("POST", f"{V2}/policy", policy())[1]
    cdapdev("DELETE", f"{V2}/policy/{made['id']}")
    assert cdapdev.as_user("bob")("GET", version_path(made["id"], 1))[0] == 403


def test_the_oldest_versions_are_forgotten_first(cdapdev: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former_policies, "KEPT_FORMER_POLICIES", 2)
    made = cdapdev("POST", f"{V2}/policy", policy())[1]
    for n in range(4):
        cdapdev("PUT", f"{V2}/policy/{made['id']}", policy(description=f"d{n}"))
    assert versions(cdapdev, made["id"]) == ["3", "4", "5"]


def test_the_versions_of_a_deleted_service_go_with_it(cdapdev: Caller) -> None:
    made = cdapdev("POST", f"{V2}/policy", policy())[1]
    cdapdev("PUT", f"{V2}/policy/{made['id']}", policy(description="changed"))
    service = cdapdev("GET", f"{V2}/service/name/cdapdev")[1]
    assert cdapdev("DELETE", f"{V2}/service/{service['id']}")[0] == 204
    assert versions(cdapdev, made["id"]) == []
