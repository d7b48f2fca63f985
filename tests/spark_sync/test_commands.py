"""What the commands of the sync job show, and what they say when they can't run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.main import main
from spark_sync.cli.run import show, to_json
from spark_sync.event import Position
from spark_sync.life import Life, State
from spark_sync.report import RunReport, SourceReport

BEGUN = Position(101, False, "test", "1")
APPLIED = Life(
    EntityId("dataset", ("ns1", "a.b")), 1, "alice", BEGUN, State.APPLIED, accesses=("read", "write"), policy_id=7
)
BLOCKED = Life(EntityId("namespace", ("ns1",)), 1, "public", BEGUN, State.BLOCKED, reason="not one user")


def report(*, granted: tuple[Life, ...] = (), waiting: tuple[Life, ...] = ()) -> RunReport:
    return RunReport(
        sources=(SourceReport("audit", lines=10, rejected=2, events=3),),
        granted=granted,
        revoked=(),
        waiting=waiting,
        counts={State.APPLIED: 5, State.BLOCKED: len(waiting)},
    )


def shown(given: RunReport, capsys: pytest.CaptureFixture[str]) -> str:
    show(Invocation(None, "table"), given)
    return capsys.readouterr().out


def test_a_run_names_what_it_granted_and_what_waits(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(report(granted=(APPLIED,), waiting=(BLOCKED,)), capsys)
    assert "audit: 10 lines read, 3 new events, 2 rejected (see the dead letters)" in text
    for word in ("granted", "dataset:ns1.a.b", "alice", "read, write", "7", "blocked", "namespace:ns1", "not one user"):
        assert word in text
    assert "Ranger is up to date: 1 granted, 0 revoked, 4 unchanged, 1 blocked" in text


def test_a_run_that_wrote_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing new was written to Ranger: 0 granted, 0 revoked, 5 unchanged" in shown(report(), capsys)


def test_the_same_for_programs() -> None:
    found = to_json(report(granted=(APPLIED,)))
    assert json.loads(json.dumps(found)) == {
        "sources": [{"name": "audit", "lines": 10, "rejected": 2, "events": 3}],
        "granted": [
            {
                "entity": "dataset:ns1.a.b",
                "type": "dataset",
                "parts": ["ns1", "a.b"],
                "life": 1,
                "state": "applied",
                "creator": "alice",
                "accesses": ["read", "write"],
                "policy_id": 7,
                "reason": "",
            }
        ],
        "revoked": [],
        "waiting": [],
        "unchanged": 4,
        "counts": {"applied": 5, "blocked": 0},
        "trouble": "",
    }


@pytest.mark.parametrize("command", [["run"], ["run", "--once"], ["status"], ["baseline", "--from", "none.jsonl"]])
def test_missing_jars_are_one_sentence(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.toml"
    config.write_text(f'[sync]\njars_dir = "{tmp_path}"\n', encoding="utf-8")
    assert main(["--config", str(config), "sync", *command]) == 1
    error = capsys.readouterr().err
    assert "`sync.jars_dir` is" in error
    assert "Traceback" not in error


def test_a_baseline_needs_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sync", "baseline"]) == 3
    assert "--from" in capsys.readouterr().err
