"""`ranger-cdap check --why`: the policy and item that decide, and a change that does turn the answer round."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import parse_entity, to_resource
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import COMPANY, dataset, item, named, policy

GET_KV = ["dataset.get", "dataset:ns1.kv"]
ETL = ["--group", "etl"]

# What is asked; whether it is allowed; what the tree says, line by line, among others.
CASES: Mapping[str, tuple[list[str], bool, list[str]]] = {
    "an item by name, another by group": (
        ["alice", *GET_KV, *ETL],
        True,
        [
            "allowed: alice dataset.get on dataset:ns1.kv",
            "required by",
            "S003-dataset-get: Getting a dataset needs READ on the dataset.",
            "alice has READ on dataset:ns1.kv",
            'policy 2 "kv" (version 3) allows it',
            "allow item 1 (user alice: read, write)",
            "allow item 2 (group etl: read)",
            "to have it denied",
        ],
    ),
    "no policy": (
        ["bob", *GET_KV, *ETL[:0]],
        False,
        [
            "bob needs READ on dataset:ns1.kv",
            "no policy allows it",
            'policy 2 "kv" says nothing: no item matches this user and access type',
            "to have it allowed",
            "add READ for bob to a policy on dataset:ns1.kv",
        ],
    ),
    "no policy on two entities": (
        ["bob", "secure_key.get", "secure_key:ns1.till", *ETL[:0]],
        False,
        [
            "bob needs READ on secure_key:ns1.till; bob needs READ on namespace:ns1",
            "to have it allowed, do all of this",
            "add READ for bob to a policy on secure_key:ns1.till",
            "add READ for bob to a policy on namespace:ns1",
        ],
    ),
    "a deny item": (
        ["mallory", *GET_KV, *ETL],
        False,
        [
            'policy 2 "kv" (version 3) denies READ; granting READ would not help',
            "deny item 1 (user mallory: read)",
            'revoke READ from mallory in policy 2 "kv" (version 3): deny item 1 (user mallory: read), or add a deny'
            " exception for mallory there; then a policy must allow it",
        ],
    ),
    "an allow exception": (
        ["eve", *GET_KV, *ETL],
        False,
        [
            'policy 2 "kv" would allow it, but has an exception',
            'policy 2 "kv": allow exception item 1 (user eve: read)',
            "remove eve from the exceptions there",
        ],
    ),
    "deny all else": (
        ["bob", "dataset.get", "dataset:ns1.secret", *ETL],
        False,
        [
            'policy 4 "closed" (version 3) denies everything it does not allow',
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
            "no policy allows it now: a condition does not hold",
            'policy 5 "by day": allow item 1 (user bob: read under a condition)',
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "allowed", "lines"), CASES.values(), ids=CASES)
def test_the_tree_names_what_decides(
    asked: list[str], allowed: bool, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--why", *asked, *named(tmp_path)]) == (ExitCode.OK if allowed else ExitCode.NO)
    told = [line.lstrip(" │├└─") for line in capsys.readouterr().out.splitlines()]
    assert told[0].startswith("allowed: " if allowed else "denied: ")
    assert [line for line in lines if line not in told] == []


def test_a_pattern_is_denied_with_an_entity_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["check", "--why", "alice", "application.start_pipeline", "application:ns1.Copy", *named(tmp_path)])
        == ExitCode.NO
    )
    told = [line.lstrip(" │├└─") for line in capsys.readouterr().out.splitlines()]
    assert "alice lacks EXECUTE on program:ns1.Copy.*" in told
    assert "no policy allows it on program:ns1.Copy.flow.a" in told


def test_the_requirements_come_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for user in ("alice", "bob"):
        assert main(["check", "--why", user, *GET_KV, *named(tmp_path)]) in (ExitCode.OK, ExitCode.NO)
        assert capsys.readouterr().out.splitlines()[-2:] == [
            "└── required by",
            "    └── S003-dataset-get: Getting a dataset needs READ on the dataset.",
        ]


def explained(asked: list[str], files: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["check", "--why", *asked, *files, "--json"]) in (ExitCode.OK, ExitCode.NO)
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
        levels = to_resource(parse_entity(reason["entity"]), "cdap")
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
    (reason,) = document["alternatives"][0]
    assert "`ranger-cdap policies lint` shows" in reason["change"]
    assert reason["why"].startswith('policy 8 "p8" (version 3) is unusable, so it denies everyone: ')


TAGGED = {
    "op": "add_or_update",
    "tagVersion": 1,
    "tagDefinitions": {"1": {"id": 1, "name": "PII"}},
    "tags": {"1": {"id": 1, "type": "PII"}},
    "serviceResources": [
        {
            "id": 5,
            "resourceElements": {
                level: {"values": [value]} for level, value in {"instance": "cdap", **dataset("kv")}.items()
            },
        }
    ],
    "resourceToTagIds": {"5": [1]},
}


def with_tag_policy(folder: Path, one: dict[str, Any]) -> list[str]:
    """The files of the company, with a policy of the tag service `tagdev`, and the tag PII on the dataset kv."""
    files = named(folder)
    path = folder / "policies.json"
    definition = {
        "name": "tag",
        "resources": [{"name": "tag"}],
        "accessTypes": [{"name": f"cdap:{access}"} for access in ("read", "write", "admin", "execute")],
    }
    linked = {"serviceName": "tagdev", "policies": [one], "serviceDef": definition}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tagPolicies": linked}))
    (folder / "tags.json").write_text(json.dumps(TAGGED | {"serviceName": "cdapdev"}))
    return [*files[:-1], f"{files[-1]},{folder / 'tags.json'}"]


def test_a_tag_policy_is_named_with_tag_and_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deny = policy(30, {}, name="no PII", denyPolicyItems=[item("cdap:read", groups=["etl"])])
    deny["resources"] = {"tag": {"values": ["PII"]}}
    document = explained(["alice", *GET_KV, *ETL], with_tag_policy(tmp_path, deny), capsys)
    (reason,) = document["alternatives"][0]
    place = 'policy 30 "no PII" (version 3) about the tag `PII` in the tag service `tagdev`'
    assert reason["why"] == f"{place} denies READ; granting READ would not help"
    assert reason["change"] == (
        f"revoke READ from alice in {place}: deny item 1 (group etl: cdap:read), or add a deny exception for alice"
        " there, or take the tag `PII` off dataset:ns1.kv; then a policy must allow it"
    )


@pytest.mark.parametrize(
    ("user", "meant"),
    [
        ("aliec", "alice"),  # nothing else names them, and there is no store
        ("carlo", "carol"),
        ("carol", ""),  # in the store
        ("mallory", ""),  # a policy names them
        ("olga", ""),  # a role names them
    ],
)
def test_a_user_that_ranger_does_not_know_is_reported(
    user: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = named(tmp_path) if user != "aliec" else ["--policies", ",".join(named(tmp_path)[1].split(",")[:2])]
    assert main(["check", "--why", user, *GET_KV, *files]) in (ExitCode.OK, ExitCode.NO)
    told = capsys.readouterr().err
    assert (f"warning: unknown user `{user}`: " in told and f"did you mean `{meant}`" in told) is bool(meant)
    assert ("unknown" in told) is bool(meant)


HIVE = {
    "serviceName": "hivedev",
    "policyVersion": 1,
    "policies": [],
    "serviceDef": {"name": "hive", "resources": [{"name": "database"}], "accessTypes": [{"name": "select"}]},
}


@pytest.mark.parametrize(
    "command",
    [
        ["check", "--why", "alice", *GET_KV],
        ["access", "--entity", GET_KV[1]],
        ["access", "--format", "matrix", "--entity", "namespace:ns1"],
    ],
    ids=lambda command: str(command[0]),
)
def test_policies_of_another_service_type_are_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hive.json"
    path.write_text(json.dumps(HIVE))
    assert main([*command, "--policies", str(path)]) == 3
    assert "its policies are of a service of type `hive`, not of CDAP" in " ".join(capsys.readouterr().err.split())


def test_of_a_super_user_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path)
    path = tmp_path / "policies.json"
    configured = json.loads(path.read_text()) | {"serviceConfig": {"ranger.plugin.super.users": "root"}}
    path.write_text(json.dumps(configured))
    document = explained(["root", *GET_KV], files, capsys)
    assert document["allowed"] is True
    assert document["changes"] == ["remove root and their groups from the super users of the service"]


def test_what_plays_no_part_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deploy = ["check", "--why", "alice", "application.deploy", "application:ns1.shop"]
    assert main([*deploy, "--impersonate", "svc", *named(tmp_path)]) in (ExitCode.OK, ExitCode.NO)
    assert "`application.deploy` cannot be decided without an entity for" in capsys.readouterr().out


def test_nothing_is_cached_and_nothing_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = named(tmp_path)
    there = sorted(tmp_path.rglob("*"))
    settings = ["--set", f"plugin.cache_dir={tmp_path}/cache", "--set", "audit.sinks=file"]
    settings += ["--set", f"audit.file={tmp_path}/audit.jsonl"]
    assert main([*settings, "check", "--why", "alice", *GET_KV, *files]) in (ExitCode.OK, ExitCode.NO)
    assert sorted(tmp_path.rglob("*")) == there


def test_what_is_wrong_with_a_policy_that_had_a_say_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--why", "bob", "dataset.get", "dataset:ns1.day", *named(tmp_path)]) in (
        ExitCode.OK,
        ExitCode.NO,
    )
    assert "warning: policy 5 (by day), policyItems[0].conditions[0]: condition `ip-range`" in capsys.readouterr().err
