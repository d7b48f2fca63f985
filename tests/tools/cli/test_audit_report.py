"""`ranger-cdap audit report`, `policies diff --replay` and `lint --propose --audit`, as a user sees them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.cli.parameters import moment_of
from ranger_cdap.errors import InvalidInput
from ranger_cdap.tools.insights.facts import DAY
from tests.authz.fixtures import document, policy
from tests.tools.insights.audit_fixtures import HDFS, NOON, record, written


@dataclass(frozen=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


Run = Callable[..., Ran]
DATASET = {"namespace": "ns1", "dataset": "purchases"}
UNTIL = ("--until", "2026-11-20")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """An audit in Ranger's layout, policies before and after a change, and a user store."""
    node = tmp_path / "audit" / "cdapdev" / "20261118" / "cdapdev_ranger_audit_node2.log"
    node.parent.mkdir(parents=True)
    old = record(reqUser="gone", evtTime=NOON - 100 * DAY, action="write")
    node.write_bytes(written([record(), record(), old, record(repo="hive")]) + HDFS + b"\nno record\n")
    before = [policy(7, DATASET, ["alice", "gone"], ["read", "write"])]
    after = [policy(7, DATASET, ["bob"], ["read"])]
    for name, policies in (("current", before), ("new", after)):
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(document(policies)))
    store = {"userStoreVersion": 1, "userGroupMapping": {"alice": ["etl"], "bob": []}, "userAttrMapping": {"gone": {}}}
    (tmp_path / "users.json").write_text(json.dumps(store))
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], files: Path) -> Run:
    """Runs a command in the directory of the files."""
    monkeypatch.chdir(files)

    def run(*argv: str) -> Ran:
        capsys.readouterr()
        code = main([*argv])
        return Ran(code, *capsys.readouterr())

    return run


REPORT = ("audit", "report", "audit", "--policies", "current.json,users.json", *UNTIL)


def test_accesses_of_an_audit_that_a_change_gives_or_takes(run: Run) -> None:
    words = ("policies", "diff", "current.json", "new.json,users.json", "--replay", "audit")
    found = run(*words, "--json", "--fail-on", "gained")
    assert found.exit_code == ExitCode.ACCESS_CHANGED
    answer = json.loads(found.stdout)
    rows = [(side, *row["who"], *row["accesses"], row["times"]) for side in ("gained", "lost") for row in answer[side]]
    assert rows == [
        ("gained", "user bob", "read", 3),
        ("lost", "user alice", "read", 2),
        ("lost", "user gone", "write", 1),
    ]
    shown = run(*words).stdout
    assert "user bob gains read on dataset:ns1.purchases" in shown
    assert "recorded 3 times" in shown
    assert (
        run("policies", "diff", "current.json", "current.json", "--replay", "audit", "--fail-on", "any").exit_code == 0
    )


def test_a_report_answers_for_people_and_for_programs(run: Run) -> None:
    found = run(*REPORT, "--days", "30")
    assert found.exit_code == ExitCode.OK, found.stderr
    for title in ("Privileges not used", "Denials that repeat", "Users who stopped"):
        assert title.lower() in found.stdout.lower()
    assert "line 6: not one JSON object" in found.stderr
    answer = json.loads(run(*REPORT, "--days", "30", "--json").stdout)
    assert answer["lines"] == {"lines": 6, "accepted": 4, "rejected": 1, "marks": 0, "others": 1, "outside": 0}
    assert [(one["line"], one["text"]) for one in answer["rejected"]] == [(6, "no record")]
    assert [(one["user"], one["accesses"]) for one in answer["unused_privileges"]] == [
        ("alice", ["write"]),
        ("gone", ["read", "write"]),
    ]
    assert [(one["user"], one["count"]) for one in answer["repeated_denials"]] == [("bob", 3)]
    assert [(one["user"], one["policies"]) for one in answer["stopped_users"]] == [("gone", 1)]
    assert answer["users_without_known_groups"] == {"count": 0, "names": []}


def test_a_period_counts_what_is_outside_of_it(run: Run) -> None:
    found = run(*REPORT, "--since", "2026-11-17")
    assert "5 accesses by 2 users of `cdapdev` from 2026-11-18 to 2026-11-18" in found.stdout
    assert "6 lines: 3 accepted, 1 of other services, 1 outside of the period" in found.stdout


def test_policies_for_what_was_used_lose_nothing_of_it(run: Run, files: Path) -> None:
    propose = ("policies", "lint", "--propose", "--policies", "current.json,users.json", "--audit", "audit")
    found = run(*propose, "--out", "least.json", "--json")
    assert found.exit_code == ExitCode.NO, found.stderr
    answer = json.loads(found.stdout)
    assert (len(answer["policies"]), answer["left_out"], answer["impact"]["gained"]) == (1, [], 0)
    assert answer["impact"]["lost"] > 0
    (only,) = json.loads((files / "least.json").read_text())["policies"]
    assert [(item["users"], [one["type"] for one in item["accesses"]]) for item in only["policyItems"]] == [
        (["alice"], ["read"]),
        (["gone"], ["write"]),
    ]
    assert run("policies", "diff", "current.json", "least.json", "--fail-on", "gained").exit_code == ExitCode.OK
    replayed = run("policies", "diff", "current.json", "least.json", "--replay", "audit", "--fail-on", "lost")
    assert replayed.exit_code == ExitCode.OK


def test_users_without_known_groups_are_named(run: Run, files: Path) -> None:
    (files / "users.json").write_text('{"userStoreVersion":1,"userGroupMapping":{"alice":[]}}')
    assert "the groups of 2 users are not known, so they count as members of none: `bob`, `gone`" in run(*REPORT).stderr


def test_the_layout_of_rangers_plugins_is_read_and_hidden_files_are_not(run: Run, files: Path) -> None:
    for name in ("_SUCCESS", ".part.crc", "_temporary/0/part.log"):
        (files / "audit" / name).parent.mkdir(parents=True, exist_ok=True)
        (files / "audit" / name).write_text("{}\n")
    answer = json.loads(run(*REPORT, "--json").stdout)
    assert [Path(one["file"]).name for one in answer["files"]] == ["cdapdev_ranger_audit_node2.log"]


def test_records_from_a_pipe(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = next((files / "audit").rglob("*.log")).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert json.loads(run("audit", "report", "-", *REPORT[3:], "--json").stdout)["lines"]["lines"] == 6


def test_an_audit_of_other_services_is_no_answer(run: Run, files: Path) -> None:
    (files / "other.jsonl").write_bytes(written([record(repo="hive")]))
    found = run("audit", "report", "other.jsonl", *REPORT[3:])
    assert found.exit_code == ExitCode.INVALID_INPUT
    assert "no record of service `cdapdev` counts: of 1 lines, 1 are of other services" in found.stderr


REFUSED = {
    "there is no audit": (["missing"], "`missing` cannot be read: No such file"),
    "no time": (["audit", "--since", "yesterday"], "`--since yesterday` is not a time"),
    "no period": (["audit", "--since", "2026-11-02", "--until", "2026-11-01"], "`--since` is not before `--until`"),
    "no policies": (["audit", "--policies", "none.json"], "none.json` cannot be read"),
    "compressed": (["a.log.gz"], "a.log.gz` has no lines of text"),
    "nothing": ([], "there are no files of audit records"),
}


@pytest.mark.parametrize(("argv", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_one_sentence(argv: list[str], message: str, run: Run, files: Path) -> None:
    (files / "a.log.gz").touch()
    policies = [] if "--policies" in argv else ["--policies", "current.json"]
    found = run("--set", f"audit.file={files / 'none'}", "audit", "report", *argv, *policies)
    assert (found.exit_code, message in " ".join(found.stderr.split())) == (ExitCode.INVALID_INPUT, True), found.stderr


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, 5),
        ("2d", NOON - 2 * DAY),
        ("99999d", 0),
        ("1970-01-02", DAY),
        ("1970-01-02T00:00:01Z", DAY + 1000),
        ("1970-01-02 01:00:00+01:00", DAY),
    ],
)
def test_times_of_the_command_line(given: str | None, expected: int) -> None:
    assert moment_of("--since", given, NOON, 5) == expected


@pytest.mark.parametrize(
    "given", ["", "2d2", "20261101", "2026-13-01", "2026-W01-1", "-1d", "1970-01-01T00:00:00-99:99"]
)
def test_what_is_no_time_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="is not a time"):
        moment_of("--since", given, NOON, 0)
