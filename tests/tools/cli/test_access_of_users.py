"""`ranger-cdap access --user`: all that a user has access to, by which item and as whom, and what is taken away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import grant_guid
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import COMPANY, ROLES, dataset, download, item, named, policy

EVIL = "x\x1b[2J\u202ey\nz"
PROBLEM = "note: problems with policies: 1; `ranger-cdap policies lint` shows them"
ACCESSES = ("read", "write", "admin", "execute")


def shown(words: list[str], files: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["access", "--user", *words, *files]) == ExitCode.OK
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def answered(words: list[str], files: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["access", "--user", *words, *files, "--json"]) == ExitCode.OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def places(rows: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """The access type, the resource and the policy of rows, each as `read`, `dataset:ns1.kv`, `2`."""
    return {(access, row["resource"], str(row["policy_id"])) for row in rows for access in row["accesses"]}


@pytest.mark.parametrize(
    ("user", "allowed", "denied"),
    [
        ("alice", {("read", "dataset:ns1.kv", "2"), ("write", "dataset:ns1.kv", "2")}, set()),
        (
            "carol",  # in etl, which policy 6 denies nothing that another policy gives
            {("read", "namespace:ns1", "1"), ("write", "namespace:ns1", "1"), ("read", "dataset:ns1.kv", "2")},
            set(),
        ),
        (
            "olga",
            {("admin", "namespace:ns1", "3"), ("admin", "dataset:ns1.*", "3")},
            {("admin", "dataset:ns1.secret", "4")},
        ),
        (
            "dan",
            {("admin", "namespace:ns1", "3"), ("admin", "dataset:ns1.*", "3")},
            {("admin", "dataset:ns1.secret", "4")},
        ),
        ("mallory", {("read", "dataset:ns1.bo*", "6")}, {("read", "dataset:ns1.both", "7")}),
        ("eve", set(), set()),
    ],
)
def test_the_access_of_each_user_of_the_company(
    user: str,
    allowed: set[tuple[str, str, str]],
    denied: set[tuple[str, str, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = answered([user], named(tmp_path), capsys)
    assert places(found["allowed"]) == allowed
    assert places(found["denied"]) == denied
    for row in (*found["allowed"], *found["denied"]):
        assert row["undecided"] == []
        assert {example["user"] for example in row["examples"].values()} == {user}
        assert [example["access"] for example in row["examples"].values()] == list(row["examples"]) == row["accesses"]


def test_a_row_says_by_which_item_and_as_whom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(["carol"], named(tmp_path), capsys)
    assert lines[0] == "carol, in group etl"
    assert lines[lines.index("read on dataset:ns1.kv") + 1] == 'by policy 2 "kv", allow item 2, as group etl'


def test_a_role_is_followed_to_the_group_that_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path)
    roles = [*ROLES["rangerRoles"], {"name": "admins", "roles": [{"name": "ops"}]}]
    (tmp_path / "roles.json").write_text(json.dumps({"rangerRoles": roles}))
    more = policy(9, dataset("x"), item("read", roles=["admins"]))
    (tmp_path / "policies.json").write_text(json.dumps(download([*COMPANY, more])))
    lines = shown(["dan", "--access", "READ"], files, capsys)
    assert 'by policy 9 "p9", allow item 1, as role admins, by role ops, by group oncall' in lines


def test_a_denial_is_named_with_what_it_takes_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(["mallory"], named(tmp_path), capsys)
    denied = lines[lines.index("denied, though other items allow it") :]
    assert denied[1:] == ["read on dataset:ns1.both", 'by policy 7 "p7", deny item 1, as user mallory']
    assert 'except policy 7 "p7", deny item 1 (user mallory)' in lines


def test_a_group_given_counts_as_one_of_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path)
    given = answered(["newcomer", "--group", "etl"], files, capsys)
    assert places(given["allowed"]) == places(answered(["carol"], files, capsys)["allowed"])


@pytest.mark.parametrize(
    ("user", "store", "note"),
    [
        (
            "carrol",
            True,
            "warning: unknown user `carrol`: no policy, role, tag, inventory or user store names it; "
            "did you mean `carol`?",
        ),
        ("bob", False, "note: there is no user store, so only groups given with `--group` count"),
        ("carol", True, ""),
    ],
)
def test_an_unknown_user_is_named_and_has_what_everyone_has(
    user: str, store: bool, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = policy(9, dataset("open"), item("read", groups=["public"]))
    files = named(tmp_path, [*COMPANY, more])
    assert (
        main(["access", "--user", user, *(files if store else ["--policies", ",".join(files[1].split(",")[:2])])])
        == ExitCode.OK
    )
    told = capsys.readouterr()
    assert sorted(told.err.splitlines()) == sorted([*[note] * bool(note), PROBLEM])
    assert 'by policy 9 "p9", allow item 1, as everyone' in told.out
    assert ("group etl" in told.out) == (not note)


@pytest.mark.parametrize(("count", "all_", "one_by_one"), [(5, False, True), (6, False, False), (6, True, True)])
def test_many_policies_of_the_sync_job_are_counted_unless_all_are_wanted(
    count: int, all_: bool, one_by_one: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    def guid(n: int) -> str:
        return grant_guid("cdap", EntityId("dataset", ("ns1", f"d{n}")), 1)

    grants = [
        policy(20 + n, dataset(f"d{n}"), item(*ACCESSES, users=["zed"]), policyLabels=["cdap-creator"], guid=guid(n))
        for n in range(count)
    ]
    other = policy(90, dataset("other"), item("read", users=["zed"]))
    files = named(tmp_path, [*grants, other])
    lines = shown(["zed", *["--all"] * all_], files, capsys)
    assert "read on dataset:ns1.other" in lines
    assert ("read, write, admin, execute on dataset:ns1.d3" in lines) is one_by_one
    assert (f"read, write, admin, execute on {count} of type dataset" in lines) is not one_by_one
    assert len(answered(["zed"], files, capsys)["allowed"]) == count + 1


def test_an_access_under_a_condition_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    future = [{"startTime": "2090/01/01 00:00:00", "timeZone": "UTC"}]
    past = [{"endTime": "2020/01/01 00:00:00", "timeZone": "UTC"}]
    policies = [
        policy(1, dataset("a"), item("read", users=["zed"]), validitySchedules=future),
        policy(2, dataset("b"), item("read", users=["zed"]), validitySchedules=past),
    ]
    lines = shown(["zed"], named(tmp_path, policies), capsys)
    assert "if from 2090/01/01 00:00:00 UTC" in lines
    assert not any("dataset:ns1.b" in line for line in lines)


def test_a_super_user_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = named(tmp_path)
    config = {"ranger.plugin.super.users": "root"}
    (tmp_path / "policies.json").write_text(json.dumps(download(COMPANY, serviceConfig=config)))
    found = answered(["root", "--access", "read"], files, capsys)
    assert {row["policy_id"] for row in found["allowed"]} == {None}
    assert "dataset:*.*" in {row["resource"] for row in found["allowed"]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zed", "--access", "raed"], "there is no access type `raed`; did you mean `read`?"),
        ([""], "the user has no name"),
    ],
)
def test_an_access_type_that_is_none_and_no_user_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["access", "--user", *words, *named(tmp_path)]) == ExitCode.INVALID_INPUT
    told = capsys.readouterr()
    assert (told.out, message in told.err) == ("", True)


def test_no_name_acts_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = [
        policy(1, dataset(EVIL), item("read", groups=[EVIL]), name=EVIL),
        policy(2, dataset(EVIL), item("read", users=[EVIL]), name=EVIL, denyPolicyItems=[item("read", users=["zed"])]),
    ]
    files = named(tmp_path, policies)
    for words in (
        ["access", "--user", EVIL, "--group", EVIL],
        ["access", "--user", "zed", "--group", EVIL],
        ["access", "--entity", "dataset:ns1.*"],
    ):
        assert main([*words, *files]) == ExitCode.OK
        told = capsys.readouterr()
        assert all(line.isprintable() for line in told.out.splitlines())
        assert all(line.isprintable() for line in told.err.splitlines())
        assert "\\x1b[2J" in told.out
    assert (
        main(["access", "--ways", "--user", "zed", "--entity", "dataset:ns1.kv", "--group", EVIL, *files])
        == ExitCode.OK
    )
    assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())


def test_nothing_is_said_to_be_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(["eve"], named(tmp_path), capsys) == ["eve, in no group", "allowed: nothing"]


def test_an_exception_is_shown_with_the_access_types_that_it_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Policy 4 denies all but reading of one dataset."""
    (found,) = [row for row in answered(["olga"], named(tmp_path), capsys)["allowed"] if len(row["path"]) == 3]
    assert found["except"] == ['policy 4 "closed", deny all else']
    rows = [row for row in answered(["ann"], named(tmp_path), capsys)["allowed"] if len(row["path"]) == 3]
    assert {tuple(row["accesses"]): bool(row["except"]) for row in rows} == {
        ("read",): False,
        ("write", "admin", "execute"): True,
    }
