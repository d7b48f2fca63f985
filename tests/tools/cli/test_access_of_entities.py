"""`ranger-cdap access --entity`: everybody that policies reach, by name, role and group, and by which policy."""

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
from tests.tools.cli.test_access_review_law import ENTITIES, WORLDS, files

KV = "dataset:ns1.kv"


def reached(entity: str, files: list[str], capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], dict[str, str]]:
    """By kind and name what somebody may, as `verdict policy`."""
    assert main(["access", "--entity", entity, *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["holders"]
    return {
        (row["kind"], row["name"]): {
            access: f"{entry['verdict']} {(entry['policy'] or {'id': '-'})['id']}"
            for access, entry in row["accesses"].items()
        }
        for row in found
    }


def test_everybody_by_name_role_and_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reached(KV, named(tmp_path), capsys) == {
        ("everybody", ""): {},
        ("user", "alice"): {"read": "allowed 2", "write": "allowed 2"},
        ("user", "ann"): dict.fromkeys(("read", "write", "admin", "execute"), "allowed 3"),
        ("user", "carol"): {"read": "allowed 2"},  # Ranger knows her to be in etl
        ("user", "dan"): {"admin": "allowed 3"},  # in oncall, which has the role ops
        ("user", "eve"): {},
        ("user", "mallory"): {"read": "denied 2"},
        ("user", "olga"): {"admin": "allowed 3"},  # has the role ops
        ("group", "etl"): {"read": "allowed 2"},
        ("group", "oncall"): {"admin": "allowed 3"},
        ("role", "ops"): {"admin": "allowed 3"},
    }


def test_the_table_names_the_policy_and_the_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["access", "--entity", KV, *named(tmp_path)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert 'user alice read allowed policy 2 "kv"' in lines
    assert 'user carol read allowed policy 2 "kv" etl' in lines
    assert 'user mallory read denied policy 2 "kv"' in lines


@pytest.mark.parametrize(
    ("more", "who", "read"),
    [
        (policy(9, dataset("kv"), item("read", groups=["public"])), ("everybody", ""), "allowed 9"),
        (policy(9, dataset("*"), denyPolicyItems=[item("read", groups=["etl"])]), ("user", "carol"), "denied 9"),
        (
            policy(9, dataset("k*"), validitySchedules=[{"startTime": "2020/01/01 00:00:00", "timeZone": "UTC"}],
                   denyPolicyItems=[item("read", users=["alice"])]),
            ("user", "alice"),
            "conditional 2",
        ),
        (policy(9, dataset("other"), item("read", users=["zoe"])), ("user", "zoe"), None),
        (policy(9, dataset("kv"), item("read", groups=["sales"])), ("user", "zoe"), "allowed 9"),
    ],
    ids=["public", "a denied group", "a time", "another dataset", "a member of another group"],
)  # fmt: skip
def test_one_more_policy(
    more: dict[str, object], who: tuple[str, str], read: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reached(KV, named(tmp_path, [*COMPANY, more]), capsys)
    assert found.get(who, {}).get("read") == read


def test_without_a_user_store_only_those_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {name for _, name in reached(KV, ["--policies", ",".join(named(tmp_path)[1].split(",")[:2])], capsys)}
    assert names == {"", "alice", "ann", "eve", "mallory", "olga", "etl", "oncall", "ops"}


FUTURE = [{"startTime": "2090/01/01 00:00:00", "timeZone": "UTC"}]
SALES = (
    policy(1, dataset("sales*"), item("read", "write", groups=["analysts"]), name="sales"),
    policy(2, dataset("sales_eu*"), item("read", users=["bob"]), name="eu", validitySchedules=FUTURE),
    policy(3, dataset("*"), item("read", users=["ann"], groups=["auditors"])),
    policy(4, dataset("sales_secret"), name="secret", denyPolicyItems=[item("read", groups=["analysts"])]),
    policy(5, dataset("hr"), item("read", users=["carl"])),
)


def by_pattern(words: list[str], files: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["access", "--entity", *words, *files]) == ExitCode.OK
    return capsys.readouterr().out.splitlines()


def test_a_pattern_shows_who_has_which_access_on_which_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = by_pattern(["dataset:ns1.sales*", "--access", "READ"], named(tmp_path, SALES), capsys)
    assert lines == [
        "group analysts has read on all of dataset:ns1.sales*",
        '  by policy 1 "sales", allow item 1',
        '  except policy 4 "secret", deny item 1 (group analysts)',
        "user ann, group auditors have read on all of dataset:ns1.sales*",
        '  by policy 3 "p3", allow item 1',
        '  except policy 4 "secret", deny item 1 (group analysts)',
        "user bob has read on dataset:ns1.sales_eu*",
        '  by policy 2 "eu", allow item 1',
        "  if from 2090/01/01 00:00:00 UTC",
    ]


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("dataset:ns1.hr*", {(3, True), (5, False)}),
        ("dataset:*.hr", {(3, False), (5, False)}),
        ("dataset:ns1.s*", {(1, False), (2, False), (3, True)}),
        ("dataset:ns1.sales_eu_*", {(1, True), (2, True), (3, True)}),
        ("dataset:ns2.*", set()),
        ("application:ns1.*", set()),
    ],
)
def test_a_pattern_has_the_rows_of_the_policies_that_meet_it(
    pattern: str, rows: set[tuple[int, bool]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["access", "--entity", pattern, "--access", "read", *named(tmp_path, SALES), "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)["allowed"]
    assert {(row["policy_id"], row["whole"]) for row in found} == rows
    assert all(row["undecided"] == [] for row in found)


def test_a_pattern_without_access_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert by_pattern(["dataset:ns2.*"], named(tmp_path), capsys) == ["no one has any access to dataset:ns2.*"]


def test_an_access_type_leaves_out_all_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = by_pattern([KV, "--access", "admin"], named(tmp_path), capsys)[1:]
    assert {tuple(line.split()[1:3]) for line in lines} == {
        ("ann", "admin"), ("dan", "admin"), ("olga", "admin"), ("oncall", "admin"), ("ops", "admin"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            policy(9, dataset("kv"), item("read", users=["zed"], conditions=[{"type": "ip", "values": ["10.1.*"]}])),
            "allowed if from 10.1.*",
        ),
        (policy(9, dataset("kv"), item("read", users=["zed"]), validitySchedules=FUTURE), "allowed if from 2090/01/01"),
        (
            policy(
                9, dataset("kv"), item("read", users=["zed"]),
                denyPolicyItems=[item("read", users=["zed"], conditions=[{"type": "ip", "values": ["10.2.*"]}])],
            ),
            'allowed unless from 10.2.* (policy 9 "p9", deny item 1 (user zed))',
        ),
    ],
    ids=["an address", "a time", "a denial"],
)  # fmt: skip
def test_a_conditional_access_names_its_condition(
    more: dict[str, object], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = named(tmp_path)
    evaluator = "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"
    definition = {**servicedef.service_definition(), "policyConditions": [{"name": "ip", "evaluator": evaluator}]}
    (tmp_path / "policies.json").write_text(json.dumps(download([*COMPANY, more], serviceDef=definition)))
    (line,) = (line for line in by_pattern([KV, "--access", "read"], files, capsys) if " zed " in line)
    assert text in line
    assert main(["access", "--entity", KV, *files, "--json"]) == ExitCode.OK
    (row,) = (row for row in json.loads(capsys.readouterr().out)["holders"] if row["name"] == "zed")
    assert row["accesses"]["read"]["verdict"] == "conditional"
    assert f"allowed {row['accesses']['read']['depends']}".startswith(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dataset:ns1.*", "--access", "raed"], "there is no access type `raed`; did you mean `read`?"),
        ([KV, "--access", "raed"], "there is no access type `raed`; did you mean `read`?"),
        (["datasets:ns1.*"], "there is no entity type `datasets`"),
        (["dataset:*"], "dataset"),
        (["dataset:ns1.a b*"], "`a b*` is not a pattern of names that CDAP allows"),
    ],
)
def test_an_unknown_access_type_and_no_pattern_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["access", "--entity", *words, *named(tmp_path)]) == ExitCode.INVALID_INPUT
    told = capsys.readouterr()
    assert (told.out, message in told.err) == ("", True)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORLDS)
def test_every_conditional_access_says_on_what_it_depends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: dict[str, Any]
) -> None:
    options = files(tmp_path, world)
    for entity in ENTITIES:
        assert main(["access", "--entity", str(entity), *options, "--json"]) == ExitCode.OK
        for row in json.loads(capsys.readouterr().out)["holders"]:
            for access, entry in row["accesses"].items():
                assert (entry["verdict"] == "conditional") == bool(entry.get("depends")), (row["name"], access)


LATER, LATER_STILL = ([{"startTime": f"{year}/01/01 00:00:00", "timeZone": "UTC"}] for year in (2080, 2090))
STAFF = {"userGroupMapping": {"ann": ["staff"], "bob": ["staff"]}}
NEVER = [
    policy(
        1, dataset("d"), item("read", groups=["staff"]), validitySchedules=LATER,
        denyPolicyItems=[item("read", users=["ann"])],
    )
]  # fmt: skip
NEVER_YET = [
    policy(1, dataset("d"), item("read", users=["ann"]), validitySchedules=LATER_STILL),
    policy(2, dataset("d"), denyPolicyItems=[item("read", users=["ann"])], validitySchedules=LATER),
]


@pytest.mark.parametrize(
    ("policies", "read"),
    [
        (NEVER, {"ann": "denied", "bob": "allowed if from 2080/01/01 00:00:00 UTC"}),
        (NEVER_YET, {"ann": "may be allowed if from 2090/01/01 00:00:00 UTC, unless from 2080/01/01 00:00:00 UTC"}),
    ],
    ids=["denied whenever it is allowed", "denied before it is allowed"],
)
def test_who_can_never_have_an_access_is_not_called_allowed(
    policies: list[dict[str, object]], read: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "p.json", tmp_path / "u.json"]
    for file, content in zip(files, (download(policies), STAFF), strict=True):
        file.write_text(json.dumps(content))
    which = ["--policies", ",".join(map(str, files))]
    lines = by_pattern(["dataset:ns1.d", "--access", "read"], which, capsys)
    for user, status in read.items():
        (line,) = (" ".join(line.split()) for line in lines if line.split()[:2] == ["user", user])
        assert line.startswith(f"user {user} read {status}")


@pytest.mark.parametrize(
    ("items", "roles"),
    [
        ({"policyItems": [item("read", roles=["auditors"])]}, {"auditors": "allowed 1", "finance": "allowed 1"}),
        (
            {"policyItems": [item("read", roles=["finance"])], "denyPolicyItems": [item("read", roles=["auditors"])]},
            {"auditors": "denied 1", "finance": "denied 1"},
        ),
    ],
    ids=["allowed by the outer role", "denied by the outer role"],
)
def test_a_role_has_the_access_of_the_roles_that_contain_it(
    items: dict[str, object], roles: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nested = {
        "rangerRoles": [
            {"name": "auditors", "roles": [{"name": "finance"}]},
            {"name": "finance", "users": [{"name": "zed"}]},
        ]
    }
    files = [tmp_path / "p.json", tmp_path / "r.json"]
    for file, content in zip(files, (download([policy(1, dataset("d"), **items)]), nested), strict=True):
        file.write_text(json.dumps(content))
    found = reached("dataset:ns1.d", ["--policies", ",".join(map(str, files))], capsys)
    assert {name: row["read"] for (kind, name), row in found.items() if kind == "role"} == roles
    assert found["user", "zed"]["read"] == roles["finance"]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORLDS)
def test_the_verdict_on_a_user_is_that_of_the_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: dict[str, Any]
) -> None:
    options = files(tmp_path, world)
    for entity in ENTITIES:
        assert main(["access", "--entity", str(entity), *options, "--json"]) == ExitCode.OK
        for row in json.loads(capsys.readouterr().out)["holders"]:
            if row["kind"] == "user":
                words = ["access", "--user", row["name"], "--entity", str(entity)]
                assert main([*words, *options, "--json"]) == ExitCode.OK
                for one in json.loads(capsys.readouterr().out)["accesses"]:
                    held = row["accesses"].get(one["access"], {"verdict": "no policy"})
                    assert told(one["verdict"]) == told(held["verdict"]), (row["name"], entity, one["access"])


def told(verdict: str) -> str:
    """The verdict; whether a policy denies what none allows is not told apart."""
    return "denied" if verdict == "no policy" else verdict


@pytest.mark.parametrize(
    "words",
    [
        ["access", "--entity", "dataset:ns2.kv"],
        ["access", "--entity", "dataset:ns2.k*"],
        ["access", "--entity", "namespace:ns2", "--format", "matrix"],
        ["access", "--entity", "dataset:ns2.kv", "--user", "alice"],
        ["check", "alice", "dataset.get", "dataset:ns2.kv"],
        ["check", "alice", "dataset.get", "dataset:ns2.kv", "--why"],
    ],
    ids=" ".join,
)
def test_a_typo_is_unknown_in_every_question(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = main([*(word.replace("ns2", "ns1") for word in words), *named(tmp_path)])
    assert "unknown" not in capsys.readouterr().err
    assert main([*words, *named(tmp_path)]) in (right, ExitCode.NO)
    assert "warning: unknown namespace `ns2`" in capsys.readouterr().err
    main([*words, *named(tmp_path), "--json"])
    (found,) = json.loads(capsys.readouterr().out)["unknown"]
    assert found == {"kind": "namespace", "name": "ns2", "nearest": ["ns1"], "covered": False}
