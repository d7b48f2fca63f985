"""`ranger-cdap access` of a user and an entity: the ways, the denials against them, and what ends the access."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import servicedef
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import COMPANY, dataset, download, item, named, policy
from tests.tools.cli.test_access_review_law import ENTITIES as REVIEWED
from tests.tools.cli.test_access_review_law import NOTHING, WORLDS, decided, files

USERS = ("alice", "ann", "bob", "carol", "dan", "eve", "mallory", "olga", "zoe", "nemo")
ENTITIES = ("namespace:ns1", *(f"dataset:ns1.{name}" for name in ("kv", "secret", "both", "bo", "other")))
TWO_WAYS = policy(9, dataset("k*"), item("read", groups=["etl"], users=["carol"]), name="more")
DENIAL = policy(10, dataset("*"), denyPolicyItems=[item("read", groups=["etl"])], policyPriority=1)


def question(user: str, entity: str, *options: str) -> list[str]:
    return ["access", "--ways", "--user", user, "--entity", entity, *options]


def shown(words: list[str], files: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main([*question(*words), *files]) == ExitCode.OK
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def cell(user: str, entity: str, access: str, files: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert (
        main(["access", "--ways", "--user", user, "--entity", entity, "--access", access, *files, "--json"])
        == ExitCode.OK
    )
    (found,) = json.loads(capsys.readouterr().out)["accesses"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("entity", ENTITIES)
def test_path_and_who_give_the_same_answers(entity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path)
    assert main(["access", "--entity", entity, *files, "--json"]) == ExitCode.OK
    rows = json.loads(capsys.readouterr().out)["holders"]
    held = {row["name"]: row["accesses"] for row in rows if row["kind"] in ("everybody", "user")}
    for user in USERS:
        assert main(["access", "--ways", "--user", user, "--entity", entity, *files, "--json"]) == ExitCode.OK
        for one in json.loads(capsys.readouterr().out)["accesses"]:
            verdict = held.get(user, held[""]).get(one["access"])
            assert one["verdict"] == (verdict["verdict"] if verdict else "no policy"), (user, one["access"])
            assert one["policy"] == (verdict["policy"] if verdict else None)


def test_the_only_way_is_said_to_be_the_only_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(["carol", "dataset:ns1.kv", "--access", "READ"], named(tmp_path), capsys)
    assert lines == [
        "carol, in group etl, on dataset:ns1.kv",
        "read: allowed",
        'by policy 2 "kv", allow item 2, as group etl',
        'to end it: policy 2 "kv", allow item 2 must no longer apply to carol; it is the only way',
    ]


def test_all_ways_are_listed_with_all_by_whom_they_apply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(["carol", "dataset:ns1.kv", "--access", "read"], named(tmp_path, [*COMPANY, TWO_WAYS]), capsys)
    assert {'by policy 2 "kv", allow item 2, as group etl'} < set(lines)
    assert 'by policy 9 "more", allow item 1, as user carol or group etl' in lines
    assert "to end it: all 2 ways must no longer apply to carol" in lines


def test_a_denial_is_named_and_ways_without_effect_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(["carol", "dataset:ns1.kv", "--access", "read"], named(tmp_path, [*COMPANY, DENIAL]), capsys)
    assert lines[1:] == [
        "read: denied",
        'without effect: policy 2 "kv", allow item 2, as group etl',
        'denied by policy 10 "p10", deny item 1, as group etl',
    ]


def test_a_denial_of_lower_priority_is_said_to_be_overridden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    higher = policy(11, dataset("kv"), item("read", users=["carol"]), policyPriority=2)
    lines = shown(["carol", "dataset:ns1.kv", "--access", "read"], named(tmp_path, [*COMPANY, DENIAL, higher]), capsys)
    assert 'overridden: policy 10 "p10", deny item 1, as group etl' in lines
    assert 'without effect: policy 2 "kv", allow item 2, as group etl' in lines
    assert lines[-1].endswith('policy 11 "p11", allow item 1 must no longer apply to carol; it is the only way')


def test_an_exception_is_what_an_excepted_user_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = cell("eve", "dataset:ns1.kv", "read", [*named(tmp_path), "--group", "etl"], capsys)
    assert found["verdict"] == "no policy"
    assert [(one["list"], one["as"]) for one in found["denials"]] == [("allowExceptions", ["user eve"])]
    assert [one["policy"]["id"] for one in found["without_effect"]] == [2]


def test_each_of_two_policies_that_deny_all_else_ends_the_access_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = [policy(n, dataset("kv"), item("read", users=["zed"]), isDenyAllElse=True) for n in (1, 2)]
    files = named(tmp_path, closed)
    assert cell("zed", "dataset:ns1.kv", "read", files, capsys)["removals"] in ([[0], [1]], [[1], [0]])
    (line,) = (one for one in shown(["zed", "dataset:ns1.kv"], files, capsys) if one.startswith("to end it"))
    assert line.startswith("to end it: one of these must no longer apply to zed: policy")


def test_a_condition_is_named_with_the_answer_and_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    future = [{"startTime": "2090/01/01 00:00:00", "timeZone": "UTC"}]
    policies = [policy(1, dataset("kv"), item("read", users=["zed"]), validitySchedules=future)]
    files = named(tmp_path, policies)
    lines = shown(["zed", "dataset:ns1.kv", "--access", "read"], files, capsys)
    assert "read: allowed if from 2090/01/01 00:00:00 UTC" in lines
    assert cell("zed", "dataset:ns1.kv", "read", files, capsys)["depends"] == "if from 2090/01/01 00:00:00 UTC"


@pytest.mark.parametrize(
    ("address", "answer"),
    [("10.1.2.3", "allowed"), ("10.2.0.1", "denied"), ("192.0.2.1", "no policy"), (None, "conditional")],
)
def test_an_address_evaluates_the_conditions(
    address: str | None, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = named(tmp_path)
    evaluator = "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"
    definition = {**servicedef.service_definition(), "policyConditions": [{"name": "ip", "evaluator": evaluator}]}
    allow, deny = ([{"type": "ip", "values": [value]}] for value in ("10.*", "10.2.*"))
    denials = [item("read", users=["zed"], conditions=deny)]
    one = policy(1, dataset("kv"), item("read", users=["zed"], conditions=allow), denyPolicyItems=denials)
    (tmp_path / "policies.json").write_text(json.dumps(download([one], serviceDef=definition)))
    found = cell("zed", "dataset:ns1.kv", "read", [*files, *(["--client-ip", address] if address else [])], capsys)
    assert found["verdict"] == answer
    assert bool(found["ways"]) == (answer in ("allowed", "conditional"))
    depends = 'if from 10.*, unless from 10.2.* (policy 1 "p1", deny item 1 (user zed))'
    assert found["depends"] == (depends if address is None else None)


def test_a_super_user_is_a_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path)
    (tmp_path / "policies.json").write_text(
        json.dumps(download(COMPANY, serviceConfig={"ranger.plugin.super.users": "carol"}))
    )
    lines = shown(["carol", "dataset:ns1.kv", "--access", "read"], files, capsys)
    assert "by super users of the service configuration" in lines
    assert "to end it: all 2 ways must no longer apply to carol" in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zed", "datset:ns1.kv"], "there is no entity type `datset`"),
        (["zed", "dataset:ns1.kv", "--access", "own"], "there is no access type `own`"),
        (["", "dataset:ns1.kv"], "the user has no name"),
        (["zed", "dataset:ns1.kv", "--client-ip", "10.1"], "`10.1` is not an address"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*question(*words), *named(tmp_path)]) == ExitCode.INVALID_INPUT
    told = capsys.readouterr()
    assert (told.out, message in told.err) == ("", True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["access", "--ways", "--user", "zed", "--entity", "dataset:ns1.kv"],
        ["access", "--user", "zed"],
        ["access", "--entity", "dataset:ns1.*"],
    ],
)
def test_without_policies_there_is_no_answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "ranger.url=http://127.0.0.1:1", *words]) == ExitCode.NOT_READY
    told = capsys.readouterr()
    assert (told.out, "(not-ready)" in told.err) == ("", True)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORLDS)
def test_path_allows_exactly_what_the_authorizer_allows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: dict[str, Any]
) -> None:
    options = files(tmp_path, world)
    allowed = decided(tmp_path)
    for entity in REVIEWED:
        for user in ("ann", "bob", "cid"):
            assert (
                main(["access", "--ways", "--user", user, "--entity", str(entity), *options, "--json"]) == ExitCode.OK
            )
            for one in json.loads(capsys.readouterr().out)["accesses"]:
                if one["access"] != "_admin" and one["verdict"] not in ("conditional", "undecided"):
                    is_allowed = allowed[entity, user, one["access"].upper()]
                    assert (one["verdict"] == "allowed") is is_allowed, (user, entity, one["access"])
                    assert bool(one["ways"]) is bool(one["removals"]) is is_allowed


def test_a_denial_by_a_tag_is_named_with_the_tag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}, "dataset": {"values": ["kv"]}}
    tagged = {"resources": {"tag": {"values": ["PII"]}}, "denyPolicyItems": [item("cdap:read", users=["ann"])]}
    world = NOTHING | {
        "policies": [{"resources": levels, "policyItems": [item("read", users=["ann"])]}],
        "tagPolicies": [tagged],
        "tags": {1: ["PII"]},
    }
    options = files(tmp_path, world)
    lines = shown(["ann", "dataset:ns1.kv", "--access", "read"], options, capsys)
    assert 'denied by policy 2 "p2", deny item 1, by the tag PII, as user ann' in lines
    assert main(["access", "--user", "ann", *options]) == ExitCode.OK
    told = capsys.readouterr().out
    assert "allowed: nothing" in told
    assert 'by policy 2 "p2", deny item 1, by the tag PII, as user ann' in told


def test_a_policy_of_a_zone_is_named_with_the_zone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = policy(50, dataset("kv"), item("read", users=["ann"]), zoneName="finance")
    resources = [{"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["kv"]}]
    zone = {"zoneName": "finance", "resources": resources, "policies": [inside]}
    options = named(tmp_path)
    (tmp_path / "policies.json").write_text(json.dumps(download(COMPANY, securityZones={"finance": zone})))
    lines = shown(["ann", "dataset:ns1.kv"], options, capsys)
    assert 'by policy 50 "p50", allow item 1, in zone finance, as user ann' in lines
    assert main(["access", "--user", "alice", *options]) == ExitCode.OK
    assert "allowed: nothing" in capsys.readouterr().out  # the policies outside of the zone are not asked
