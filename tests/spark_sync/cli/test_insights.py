"""`ranger-cdap insights` as a user sees it: answers, files, warnings, and what is refused before Spark starts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.cli.parameters import moment_of
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.manage.policy_directory import read_directory
from spark_sync.cli import insights_input
from spark_sync.insights.tally import DAY
from tests.authz.fixtures import document, policy
from tests.spark_sync.insights.audit_fixtures import HDFS, NOON, record, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
def run(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], files: Path) -> Run:
    """Runs a command on the session of all tests."""

    @contextmanager
    def opened(*_: Any, **__: Any) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(insights_input, "spark_session", opened)
    monkeypatch.chdir(files)

    def run(command: str, *more: str) -> Ran:
        policies = () if "--policies" in more else ("--policies", "current.json")
        argv = ["insights", command, "audit", *policies, "--userstore", "users.json", *UNTIL, *more]
        capsys.readouterr()
        code = main(argv)
        return Ran(code, *capsys.readouterr())

    return run


@pytest.mark.spark
def test_a_replay_says_who_would_lose_and_gain(run: Run) -> None:
    found = run("report", "--policies", "new.json", "--json", "--fail-on", "gained")
    assert found.exit_code == ExitCode.ACCESS_CHANGED
    answer = json.loads(found.stdout)
    assert [(one["change"], one["user"], one["access"], one["count"]) for one in answer["differences"]] == [
        ("lost", "alice", "read", 2),
        ("lost", "gone", "write", 1),
        ("gained", "bob", "read", 3),
    ]
    assert answer["lines"] == {"lines": 6, "accepted": 4, "rejected": 1, "marks": 0, "others": 1, "outside": 0}
    (rejected,) = answer["rejected"]
    assert (Path(rejected["file"]).name, rejected["line"], rejected["text"]) == (
        "cdapdev_ranger_audit_node2.log",
        6,
        "no record",
    )
    assert answer["users_without_known_groups"] == {"count": 0, "names": []}
    assert answer["accesses"] == 6
    for fails_on in ("lost", "any"):
        assert run("report", "--policies", "new.json", "--fail-on", fails_on).exit_code == ExitCode.ACCESS_CHANGED
        assert run("report", "--fail-on", fails_on).exit_code == ExitCode.OK


@pytest.mark.spark
def test_the_policies_in_effect_lose_nothing(run: Run) -> None:
    found = run("report", "--since", "2026-11-17")
    assert found.exit_code == ExitCode.OK, found.stderr
    assert "decided otherwise: none" in found.stdout
    assert "5 accesses by 2 users of `cdapdev` from 2026-11-18 to 2026-11-18" in found.stdout
    assert "6 lines: 3 accepted, 1 of other services, 1 outside of the period" in found.stdout
    assert "line 6: not one JSON object" in found.stderr


@pytest.mark.spark
def test_a_report_answers_for_people_and_for_programs(run: Run) -> None:
    found = run("report", "--days", "30")
    assert found.exit_code == ExitCode.OK, found.stderr
    for title in ("Privileges not used", "Denials that repeat", "Users who stopped"):
        assert title.lower() in found.stdout.lower()
    answer = json.loads(run("report", "--days", "30", "--json").stdout)
    assert [(one["user"], one["accesses"]) for one in answer["unused_privileges"]] == [
        ("alice", ["write"]),
        ("gone", ["read", "write"]),
    ]
    assert [(one["user"], one["count"]) for one in answer["repeated_denials"]] == [("bob", 3)]
    assert [(one["user"], one["policies"]) for one in answer["stopped_users"]] == [("gone", 1)]


@pytest.mark.spark
def test_a_proposal_is_a_directory_of_policies_with_its_impact(run: Run, files: Path) -> None:
    found = run("propose", "--proposal", "least", "--json")
    assert found.exit_code == ExitCode.OK, found.stderr
    answer = json.loads(found.stdout)
    assert (answer["policies"], answer["allowed_accesses"], answer["left_out"]) == (1, 3, [])
    assert answer["impact"]["gained"] == 0
    assert answer["impact"]["lost"] > 0
    (only,) = read_directory(files / "least").policies
    assert [(item["users"], [one["type"] for one in item["accesses"]]) for item in only["policyItems"]] == [
        (["alice"], ["read"]),
        (["gone"], ["write"]),
    ]
    assert main(["policies", "impact", "current.json", "least", "--fail-on", "gained"]) == ExitCode.OK
    assert run("report", "--policies", "least", "--fail-on", "any").exit_code == ExitCode.OK
    again = run("propose", "--proposal", "least")
    assert (again.exit_code, "`least` is not empty" in again.stderr) == (ExitCode.INVALID_INPUT, True)


@pytest.mark.spark
def test_users_without_known_groups_are_named(run: Run, files: Path) -> None:
    (files / "users.json").write_text('{"userStoreVersion":1,"userGroupMapping":{"alice":[]}}')
    assert (
        "the groups of 2 users are not known, so they count as members of none: `bob`, `gone`" in run("report").stderr
    )


@pytest.mark.spark
def test_an_audit_of_other_services_is_no_answer(run: Run) -> None:
    found = run("report", "--service", "kafka")
    assert found.exit_code == ExitCode.INVALID_INPUT
    assert "no record of service `kafka` counts: of 6 lines, 5 are of other services" in found.stderr


REFUSED = {
    "there is no audit": (["missing"], "missing`, of the audit, cannot be read: No such file"),
    "no time": (["audit", "--since", "yesterday"], "`--since yesterday` is not a time"),
    "no period": (["audit", "--since", "2026-11-02", "--until", "2026-11-01"], "`--since` is not before `--until`"),
    "no policies": (["audit", "--policies", "audit.json"], "audit.json` cannot be read"),
    "no users": (["audit", "--policies", "current.json", "--users", "no one.txt"], "no one.txt` cannot be read"),
}


@pytest.mark.parametrize(("argv", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_said_before_spark_starts(
    argv: list[str], message: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark")

    def started(*_: Any, **__: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.chdir(files)
    monkeypatch.setattr(insights_input, "spark_session", started)
    code = main(["insights", "report", *argv])
    err = capsys.readouterr().err
    assert (code, message in " ".join(err.split())) == (ExitCode.INVALID_INPUT, True), err


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


@pytest.mark.spark
def test_a_replay_on_a_small_cluster(files: Path) -> None:
    argv = ["insights", "report", "audit", "--policies", "new.json", "--userstore", "users.json", *UNTIL, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "ranger_cdap", *argv, "--master", "local-cluster[2,1,1024]"],
        capture_output=True,
        text=True,
        check=False,
        cwd=files,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    answer = json.loads(done.stdout)
    assert [(one["change"], one["user"]) for one in answer["differences"]] == [
        ("lost", "alice"),
        ("lost", "gone"),
        ("gained", "bob"),
    ]
