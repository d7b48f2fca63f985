"""`ranger-cdap who`: everybody that policies reach, directly, by role and by group, and through which policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main
from tests.cli.fixtures import COMPANY, dataset, item, named, policy

KV = "dataset:ns1.kv"


def reached(entity: str, files: list[str], capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], dict[str, str]]:
    """By kind and name what somebody may, as `standing policy`."""
    assert main(["who", entity, *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return {
        (row["kind"], row["name"]): {
            access: f"{entry['standing']} {(entry['policy'] or {'id': '-'})['id']}"
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
    assert main(["who", KV, *named(tmp_path)]) == 0
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
    names = {name for _, name in reached(KV, named(tmp_path)[:4], capsys)}
    assert names == {"", "alice", "ann", "eve", "mallory", "olga", "etl", "oncall", "ops"}
