"""`ranger-cdap shadow report`: what enforcing would change, from audit records, by policies as they are now."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.audit.verify import Place
from ranger_cdap.cdap.answer import EvaluatedPrivilege
from ranger_cdap.cdap.entity import parse_entity
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.engine import Decision
from ranger_cdap.tools.shadow.shadow_report import ShadowReport, gaps
from tests.cli.fixtures import download, named

KV = "cdap/ns1/kv"


def record(user: str = "bob", result: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "repo": "cdapdev",
        "reqUser": user,
        "evtTime": 1_790_000_000_000,
        "access": "dataset.get",
        "resource": KV,
        "resType": "dataset",
        "action": "read",
        "result": result,
        "policy": -1,
        "policy_version": -1,
        "reason": f"{user} needs READ on dataset:ns1.kv",
        "enforced": False,
        **more,
    }


Report = Callable[..., Any]


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Report:
    """The report on these records, by the policies of the company; lines may be text."""
    monkeypatch.chdir(tmp_path)

    def answer(code: int, *records: dict[str, Any] | str, words: tuple[str, ...] = ("--json",)) -> Any:
        lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
        (tmp_path / "audit.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        capsys.readouterr()
        assert main(["shadow", "report", "audit.jsonl", *named(tmp_path), *words]) == code, capsys.readouterr()
        shown = capsys.readouterr()
        return json.loads(shown.out) if "--json" in words else (shown.out, shown.err)

    return answer


# What policies decided and what CDAP was answered; the change, if it is one.
CHANGES = [
    (0, {}, "newly denied"),
    (1, {}, None),
    (0, {"enforced": True}, None),
    (0, {"repo": "other"}, None),
]


@pytest.mark.parametrize(("result", "more", "change"), CHANGES)
def test_a_record_is_a_change_if_cdap_was_answered_otherwise(
    report: Report, result: int, more: dict[str, Any], change: str | None
) -> None:
    code = ExitCode.NO if change else ExitCode.OK
    found = report(code, record(result=result, **more), record(result=1))
    assert [row["change"] for row in found["changes"]] == ([change] if change else [])
    assert found["unchanged"] + found["enforced"] + found["other_services"] == (1 if change else 2)


def test_equal_denials_are_one_row_and_a_policy_closes_them(report: Report) -> None:
    later = record(evtTime=1_790_000_100_000)
    found = report(ExitCode.NO, record(), later, record("zoe"))
    read = [{"actions": ["read"], "policy": -1}]
    assert [(row["user"], row["count"], row["missing"], row["closed"]) for row in found["changes"]] == [
        ("bob", 2, read, False),
        ("zoe", 1, read, False),
    ]
    assert (found["changes"][0]["first"], found["changes"][0]["last"]) == (1_790_000_000_000, 1_790_000_100_000)
    (policy,) = found["policies"]
    assert policy["resources"] == {
        "instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}, "dataset": {"values": ["kv"]},
    }  # fmt: skip
    assert policy["policyItems"] == [{"users": ["bob", "zoe"], "accesses": [{"type": "read"}]}]


def test_what_current_policies_allow_is_closed(report: Report) -> None:
    found = report(ExitCode.OK, record("alice"), record("carol"))  # by name, and by a group of the user store
    assert [row["closed"] for row in found["changes"]] == [True, True]
    assert found["policies"] == []


def test_no_policy_is_proposed_against_a_denial(report: Report) -> None:
    by_policy = record("mallory", policy=2, reason="policy 2 denies")
    by_one_of_two = [{"actions": ["read"], "policy": 2}, {"actions": ["write"], "policy": -1}]
    in_part = record("mallory", policy=2, missing=by_one_of_two)
    unknown = record(missing=[{"actions": ["fly"], "policy": -1}])
    vetoed = record(action="get", reason="vetoed: it is Sunday")
    nowhere = record(resource="cdap/ns1", reason="an entity that is none")
    for_no_one = record("", reason="no user")
    unsafe = record("{USER}")
    found = report(ExitCode.NO, by_policy, in_part, unknown, vetoed, nowhere, for_no_one, unsafe)
    assert len(found["changes"]) == 7
    assert found["policies"] == []


def test_any_privilege_is_closed_by_the_least(report: Report) -> None:
    for action in ("any", "visible"):
        asked = record("bob", action=action, resource="cdap/ns2", resType="namespace", access="namespace.get")
        (policy,) = report(ExitCode.NO, asked)["policies"]
        assert policy["policyItems"] == [{"users": ["bob"], "accesses": [{"type": "read"}]}]


def test_a_principal_with_a_slash_is_one_name(report: Report) -> None:
    asked = record(action="admin", resType="principal", resource="cdap/svc/host@R", access="namespace.set_owner")
    (policy,) = report(ExitCode.NO, asked)["policies"]
    assert policy["resources"]["principal"] == {"values": ["svc/host@R"]}


BAD = ["", "{", "[]", "7", '{"repo": "cdapdev"}', json.dumps(record(result=2)), json.dumps(record(evtTime=-1)),
       json.dumps(record(evtTime=10**30)), json.dumps(record(reqUser=None)), json.dumps(record(enforced="no")),
       json.dumps(record(missing=[{"actions": "read", "policy": -1}])), json.dumps(record(missing=[{}])),
       '{"chain": "other"}', '{"a":' * 5000]  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_other_lines_are_counted_with_their_place(report: Report, line: str) -> None:
    found = report(ExitCode.NO, line, '{"chain": "start"}', record())
    assert (found["rejected"], len(found["rejected_at"]), len(found["changes"])) == (1, 1, 1)
    assert "audit.jsonl" in found["rejected_at"][0]


def test_the_page_names_what_is_missing_and_no_name_moves_the_cursor(report: Report) -> None:
    by_policy = record("mallory", policy=2, missing=[{"actions": ["read"], "policy": 2}])
    out, err = report(ExitCode.NO, record("bob\x1b[2J"), by_policy, "x", words=())
    assert "newly denied: 2" in out
    assert "READ on dataset:ns1.kv: policy 2 denies" in out
    assert "compared with everything being allowed" in out
    assert "not a record of this program" in err
    assert "\x1b" not in out + err


NO_EVIDENCE = [[], [""], [record(enforced=True)], [record(repo="other")], ["junk", record(result=1)], ["\x00\xff"]]


@pytest.mark.parametrize("lines", NO_EVIDENCE)
@pytest.mark.parametrize("words", [(), ("--quiet",)])
def test_a_report_without_evidence_is_no_good_news(report: Report, lines: list[Any], words: tuple[str, ...]) -> None:
    _, err = report(ExitCode.INVALID_INPUT, *lines, words=words)
    assert "the audit does not show" in err
    found = report(ExitCode.INVALID_INPUT, *lines)
    assert found["changes"] == []


@given(content=st.binary(max_size=200))
def test_random_bytes_never_show_that_nothing_changes(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "audit").write_bytes(content)
        words = ["shadow", "report", str(path), *named(Path(folder)), "--quiet"]
        assert main(words) == ExitCode.INVALID_INPUT


def test_earlier_records_do_not_count(report: Report) -> None:
    moment = 1_790_000_000_000
    lines = [record(evtTime=moment - 1), record(result=1)]
    found = report(ExitCode.OK, *lines, words=("--json", "--since", "2026-09-21T14:13:20Z"))
    assert (found["earlier"], found["changes"]) == (1, [])
    report(ExitCode.NO, *lines, words=("--json",))
    report(ExitCode.INVALID_INPUT, *lines, words=("--quiet", "--since", "2027-01-01"))


def test_the_policies_are_written_to_a_file(report: Report, tmp_path: Path) -> None:
    report(ExitCode.NO, record(), words=("--out", "gaps.json"))
    (policy,) = json.loads((tmp_path / "gaps.json").read_text(encoding="utf-8"))["policies"]
    assert policy["policyLabels"] == ["cdap-plan"]
    assert main(["shadow", "report", "none.jsonl"]) == ExitCode.INVALID_INPUT
    assert main(["shadow", "report", "audit.jsonl", *named(tmp_path), "--out", "no/such/x"]) == ExitCode.INVALID_INPUT


def test_a_policy_is_proposed_in_the_zone_of_its_entity(
    report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(ExitCode.NO, record())
    zones = {"finance": {"zoneName": "finance", "resources": [{"instance": ["cdap"], "namespace": ["ns*"]}]}}
    for name, more, zone in (("zoned.json", {"securityZones": zones}, "finance"), ("without.json", {}, None)):
        Path(name).write_text(json.dumps(download([], **more)), encoding="utf-8")
        words = ["shadow", "report", "audit.jsonl", "--policies", name, "--out", "gaps.json"]
        assert main(words) == ExitCode.NO
        (policy,) = json.loads((tmp_path / "gaps.json").read_text(encoding="utf-8"))["policies"]
        assert policy.get("zoneName") == zone
        assert ("no security zones are known here" in capsys.readouterr().err) == (zone is None)


LINES = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.builds(
            lambda user, result, enforced, repo: json.dumps(
                record(user, result, enforced=enforced, repo=repo)
            ).encode(),
            st.sampled_from(["alice", "bob"]),
            st.sampled_from([0, 1]),
            st.booleans(),
            st.sampled_from(["cdapdev", "other", ""]),
        ),
    ),
    max_size=30,
)


@given(lines=LINES)
def test_every_line_is_counted_once_and_only_open_denials_are_gaps(lines: list[bytes]) -> None:
    found = ShadowReport("cdapdev", 0)
    for number, line in enumerate(lines):
        found.read(Place("f", number), line)
    changes = sum(row.count for row in found.rows.values())
    assert changes + found.unchanged + found.enforced + found.other_services + found.rejected == len(lines)
    assert len(found.places) == found.rejected

    held = Decision(allowed=True, determined=True, audited=False)
    lacking = Decision(allowed=False, determined=True, audited=False)
    rows = list(
        found.by_now(
            lambda user, _, entity, actions: EvaluatedPrivilege(
                entity, actions, actions[0], held if user == "alice" else lacking, user
            )
        )
    )
    users = Counter(row.key.user for row in rows if row.key.change == "newly denied")
    assert set(gaps(rows)) == ({("bob", "read", parse_entity("dataset:ns1.kv"))} if users["bob"] else set())


def old_event(user: str, result: int = 1, **more: Any) -> str:
    """A line of the audit of the Java predecessor."""
    return json.dumps({
        "repoType": 11, "repo": "cdapdev", "reqUser": user, "evtTime": "2020-01-01 10:00:00.123", "resource": KV,
        "resType": "dataset", "action": "read", "result": int(result), "policy": 2 if result else -1,
        "enforcer": "ranger-acl", "cliIP": "master.example.com", **more,
    })  # fmt: skip


def test_recorded_answers_are_compared_with_todays_policies(report: Report, tmp_path: Path) -> None:
    words = ("--json", "--records", "predecessor")
    changed = report(
        ExitCode.NO, old_event("alice", True), old_event("bob", True), old_event("carol", False), words=words
    )
    assert {(row["change"], row["user"]) for row in changed["changes"]} == {
        ("newly denied", "bob"),
        ("newly allowed", "carol"),  # by a group of the user store
    }
    assert (changed["changed"], changed["unchanged"], changed["source"]) == (2, 1, "predecessor")
    (policy,) = changed["policies"]
    assert policy["policyItems"] == [{"users": ["bob"], "accesses": [{"type": "read"}]}]
    report(ExitCode.OK, old_event("alice", True), old_event("carol", False), words=(*words, "--accept-allowed"))
    report(ExitCode.OK, old_event("alice", True), old_event("mallory", False), words=words)
    assert not list(tmp_path.glob("**/records*")), "nothing is audited"


def test_records_that_cannot_be_decided_are_no_good_news(report: Report) -> None:
    good, nameless = old_event("alice", True), old_event("", True)
    words = ("--records", "predecessor")
    found = report(ExitCode.INVALID_INPUT, good, nameless, nameless, words=("--json", *words))
    undecided = {"reason": "it names no user", "count": 2, "first_at": "audit.jsonl:2"}
    assert (found["unchanged"], found["undecided"]) == (1, [undecided])
    out, err = report(ExitCode.INVALID_INPUT, good, nameless, words=words)
    assert "not decided: 1" in out
    assert "1: it names no user; the first at audit.jsonl:2" in out
    assert "1 record cannot be decided" in " ".join(err.split())
    report(ExitCode.OK, good, nameless, words=(*words, "--accept-undecided"))
    _, err = report(ExitCode.INVALID_INPUT, nameless, words=(*words, "--accept-undecided"))
    assert "do not show what would change" in " ".join(err.split())
    _, err = report(ExitCode.INVALID_INPUT, good, "junk", words=(*words, "--accept-undecided"))
    assert "audit.jsonl:2" in err


def test_a_replay_needs_files_and_policies(tmp_path: Path, capsys: Any) -> None:
    policies = named(tmp_path)
    assert main(["shadow", "report", "--records", "predecessor", *policies]) == ExitCode.INVALID_INPUT
    assert "`--records predecessor` needs files" in " ".join(capsys.readouterr().err.split())
    assert (
        main(["shadow", "report", "--records", "predecessor", str(tmp_path / "none"), *policies])
        == ExitCode.INVALID_INPUT
    )
    assert "cannot be read" in capsys.readouterr().err
    (tmp_path / "lines").write_text(f"{old_event('alice', True)}\n", encoding="utf-8")
    assert main(["shadow", "report", "--records", "predecessor", str(tmp_path / "lines")]) == ExitCode.NOT_READY


@given(content=st.binary(max_size=200))
def test_random_bytes_are_no_records_of_another_form(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "lines").write_bytes(content)
        words = [
            "shadow",
            "report",
            "--records",
            "predecessor",
            str(path),
            *named(Path(folder)),
            "--quiet",
            "--accept-undecided",
        ]
        assert main(words) == ExitCode.INVALID_INPUT


def test_the_page_says_that_an_old_record_names_no_operation(report: Report) -> None:
    events = (old_event("bob"), old_event("bob", repo="hive"), "2020-01-01 INFO x: " + old_event("alice"))
    out, _ = report(ExitCode.NO, *events, words=("--records", "predecessor"))
    assert "names no operations: each row is one that its records may have been" in " ".join(out.split())
    assert "changed: 1; unchanged: 1; compared with the predecessor" in " ".join(out.split())
    assert "of other services: 1" in " ".join(out.split())
