"""`ranger-cdap explain`: the policy and item that decide, and a change that does turn the answer round."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from policy_world import COMPANY, dataset, item, named, policy

from ranger_cdap.cli.main import main

GET_KV = ["dataset.get", "dataset:ns1.kv"]
ETL = ["--group", "etl"]

# What is asked; whether it is allowed; what the tree says, line by line, among others.
CASES: Mapping[str, tuple[list[str], bool, list[str]]] = {
    "an item by name, another by group": (
        ["alice", *GET_KV, *ETL],
        True,
        [
            "allowed: alice dataset.get on dataset:ns1.kv",
            "asked for by S003-dataset-get, S003-CORE-5",
            "alice has READ on dataset:ns1.kv",
            'policy 2 "kv" (version 3) allows it',
            "allow item 1 (user alice: read, write)",
            "allow item 2 (group etl: read)",
            "to have it denied, one of these suffices",
        ],
    ),
    "no policy": (
        ["bob", *GET_KV, *ETL[:0]],
        False,
        [
            "bob needs READ on dataset:ns1.kv; bob needs READ on namespace:ns1",
            "no policy gives it",
            'policy 2 "kv" says nothing: no item is for this user and access type',
            "to have it allowed, do all of this",
            "add READ for bob to a policy on dataset:ns1.kv",
            "add READ for bob to a policy on namespace:ns1",
        ],
    ),
    "a deny item": (
        ["mallory", *GET_KV, *ETL],
        False,
        [
            'policy 2 "kv" (version 3) denies it',
            "deny item 1 (user mallory: read)",
            'take READ away from mallory in policy 2 "kv" (version 3): deny item 1 (user mallory: read), or add a deny'
            " exception for mallory there; if no policy allows it then, one has to",
        ],
    ),
    "an allow exception": (
        ["eve", *GET_KV, *ETL],
        False,
        [
            'policy 2 "kv" would give it, but makes an exception',
            'policy 2 "kv": allow exception item 1 (user eve: read)',
            "take eve out of the exceptions there",
        ],
    ),
    "deny all else": (
        ["bob", "dataset.get", "dataset:ns1.secret", *ETL],
        False,
        [
            'policy 4 "closed" (version 3) denies all that it does not allow',
            'add READ for bob to policy 4 "closed" (version 3)',
        ],
    ),
    "two policies that allow it": (
        ["ann", "dataset.truncate", "dataset:ns1.both"],
        True,
        [
            "allow item 1 (user ann: admin)",
            'policy 3 "p3": allow item 1 (user ann: read, write, admin, execute)',
        ],
    ),
    "two policies that deny it": (
        ["mallory", "dataset.get", "dataset:ns1.both", *ETL],
        False,
        [
            "deny item 2 (group etl: read)",
            'policy 7 "p7": deny item 1 (user mallory: read)',
        ],
    ),
    "a role": (
        ["olga", "dataset.drop", "dataset:ns1.any"],
        True,
        ["allow item 2 (role ops: admin)"],
    ),
    "a condition": (
        ["bob", "dataset.get", "dataset:ns1.day", *ETL],
        False,
        [
            "no policy gives it here and now: a condition does not hold",
            'policy 5 "by day": allow item 1 (user bob: read under a condition)',
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "allowed", "lines"), CASES.values(), ids=CASES)
def test_the_tree_names_what_decides(
    asked: list[str], allowed: bool, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *asked, *named(tmp_path)]) == 0
    told = [line.lstrip(" │├└─") for line in capsys.readouterr().out.splitlines()]
    assert told[0].startswith("allowed: " if allowed else "denied: ")
    assert [line for line in lines if line not in told] == []


def test_the_requirements_come_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for user in ("alice", "bob"):
        assert main(["explain", user, *GET_KV, *named(tmp_path)]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "└── asked for by S003-dataset-get, S003-CORE-5"


def explained(asked: list[str], files: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["explain", *asked, *files, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def changed(reason: dict[str, Any], policies: list[dict[str, Any]]) -> None:
    """Do in the policies what `change` says: take out the items that speak of the person, or add one."""
    by_id = {one["id"]: one for one in policies}
    for found in reason["items"]:
        by_id[found["policy"]["id"]][found["list"]][found["number"] - 1] = item()
    if not reason["held"] and not any(found["list"] == "denyPolicyItems" for found in reason["items"]):
        given = item(reason["actions"][0].lower(), users=[reason["user"]])
        if reason["policy"]:
            by_id[reason["policy"]["id"]]["policyItems"].append(given)
            return
        levels = dict(zip(("namespace", reason["entity"]["type"]), reason["entity"]["parts"], strict=False))
        policies.append(policy(100 + len(policies), levels, given))


@pytest.mark.parametrize(("asked", "allowed", "lines"), CASES.values(), ids=CASES)
def test_the_change_turns_the_answer_round(
    asked: list[str], allowed: bool, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = explained(asked, named(tmp_path), capsys)
    assert before["allowed"] is allowed
    policies = deepcopy(list(COMPANY))
    tried = [reason for alternative in before["alternatives"] for reason in alternative]
    for reason in [one for one in tried if one["held"]][:1] if allowed else [one for one in tried if not one["held"]]:
        assert reason["change"] in before["changes"]
        changed(reason, policies)

    after = explained(asked, named(tmp_path, policies), capsys)

    assert after["allowed"] is not allowed


def test_a_policy_that_can_not_be_used_is_to_be_repaired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = policy(
        8, dataset("kv"), denyPolicyItems=[item("read", users=["x"])], validitySchedules=[{"startTime": "?"}]
    )
    document = explained(["alice", *GET_KV], named(tmp_path, [*COMPANY, broken]), capsys)
    (reason, _) = document["alternatives"][0]
    assert "`ranger-cdap policies lint` shows" in reason["change"]
    assert reason["why"].startswith('policy 8 "p8" (version 3) cannot be used, so it denies everybody: ')


def test_of_a_super_user_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path)
    path = tmp_path / "policies.json"
    configured = json.loads(path.read_text()) | {"serviceConfig": {"ranger.plugin.super.users": "root"}}
    path.write_text(json.dumps(configured))
    document = explained(["root", *GET_KV], files, capsys)
    assert document["allowed"] is True
    assert document["changes"] == ["take root and their groups out of the super users of the service"]


def test_what_plays_no_part_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deploy = ["explain", "alice", "application.deploy", "application:ns1.shop"]
    assert main([*deploy, "--impersonate", "svc", *named(tmp_path)]) == 0
    assert "`application.deploy` cannot be decided unless it is said what plays the part of" in capsys.readouterr().out


def test_nothing_is_cached_and_nothing_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = named(tmp_path)
    there = sorted(tmp_path.rglob("*"))
    settings = ["--set", f"plugin.cache_dir={tmp_path}/cache", "--set", "audit.sinks=file"]
    settings += ["--set", f"audit.file={tmp_path}/audit.jsonl"]
    assert main([*settings, "explain", "alice", *GET_KV, *files]) == 0
    assert sorted(tmp_path.rglob("*")) == there


def test_what_is_wrong_with_a_policy_that_had_a_say_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "bob", "dataset.get", "dataset:ns1.day", *named(tmp_path)]) == 0
    assert "warning: policy 5 (by day), policyItems[0].conditions[0]: condition `ip-range`" in capsys.readouterr().err
