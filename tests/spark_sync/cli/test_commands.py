"""What the commands of the sync job show, and what they say when they cannot run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.main import main
from ranger_cdap.errors import AuthenticationFailed
from spark_sync.cli.planned import rows
from spark_sync.cli.regrant import print_regrant
from spark_sync.cli.regrant import to_json as regrant_to_json
from spark_sync.cli.run import print_planned, print_report, print_result, to_json
from spark_sync.grants.plan import Plan, RevokePolicy, plan
from spark_sync.grants.writer import StepOutcome
from spark_sync.ledger.event import Position
from spark_sync.ledger.grant_terms import OutdatedGrants
from spark_sync.ledger.life import GrantTerms, Life, State
from spark_sync.reconcile.regrant import RegrantReport
from spark_sync.report import RunReport, SourceReport
from tests.docker.fixtures import parse_command
from tests.spark_sync.planning import planning

BEGUN = Position(101, False, "test", "1")
APPLIED = Life(
    EntityId("dataset", ("ns1", "a.b")),
    1,
    "alice",
    BEGUN,
    State.APPLIED,
    accesses=("read", "write"),
    policy_id=7,
    policy_version=1,
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
    print_report(Invocation(), given)
    return capsys.readouterr().out


def test_a_run_names_what_it_granted_and_what_waits(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(report(granted=(APPLIED,), waiting=(BLOCKED,)), capsys)
    assert "audit: 10 lines read, 3 new events, 2 rejected (see the dead letters)" in text
    for word in ("granted", "dataset:ns1.a.b", "alice", "read, write", "7", "blocked", "namespace:ns1", "not one user"):
        assert word in text
    assert "Ranger is up to date: 1 granted, 0 revoked, 4 unchanged, 1 blocked" in text


def test_a_run_names_candidates_whose_grant_it_revoked_and_silent_services(capsys: pytest.CaptureFixture[str]) -> None:
    contested = replace(
        APPLIED, creator=None, state=State.CONTESTED, former="alice", candidates=("alice", "bob"), reason="overlapping"
    )
    given = replace(report(waiting=(contested,)), revoked=(contested,), silent=("records",))
    text = shown(replace(given, counts={State.CONTESTED: 1}), capsys)
    lines = text.splitlines()
    assert any("revoked" in line and "alice" in line for line in lines)
    assert any("contested" in line and "alice or bob?" in line and "overlapping" in line for line in lines)
    assert "silent: the decision service of source `records`, so the hold-back applies" in lines
    assert lines[-1].endswith("0 blocked, 0 unconfirmed, 1 contested")


def test_a_run_names_the_command_for_grants_by_former_settings(capsys: pytest.CaptureFixture[str]) -> None:
    now = GrantTerms("default")
    given = replace(report(), outdated=OutdatedGrants(now, {GrantTerms("001", delegate_admin=True): 2, None: 1}))
    sentence = (
        "outdated grants: 3, by former settings (001 + delegate_admin: 2, not recorded: 1) instead of those of today"
        " (default); `ranger-cdap sync regrant` shows the changes"
    )
    assert sentence in shown(given, capsys).splitlines()
    print_planned(Invocation(), given)
    assert sentence in capsys.readouterr().out
    former = [{"settings": "001 + delegate_admin", "lives": 2}, {"settings": "not recorded", "lives": 1}]
    assert to_json(given)["outdated"] == {"lives": 3, "former": former, "settings": "default"}
    assert "outdated" not in shown(replace(given, outdated=OutdatedGrants(now, {})), capsys)


def test_a_run_that_wrote_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing new was written to Ranger: 0 granted, 0 revoked, 5 unchanged" in shown(report(), capsys)


def test_a_run_that_ranger_stopped_says_what_is_kept_and_ends_with_its_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = AuthenticationFailed("Ranger Admin rejected the user name and password")
    stopped = replace(report(), counts={State.PENDING: 2, State.CLOSING: 1, State.APPLIED: 5}, error=refused)
    with pytest.raises(AuthenticationFailed) as raised:
        print_result(Invocation(), stopped)
    assert raised.value is refused
    *_, last = capsys.readouterr().out.splitlines()
    assert "audit: 10 lines read, 3 new events" in shown(stopped, capsys)
    assert last.startswith("Ranger is not up to date: 0 granted, 0 revoked")
    assert "the events read are in the ledger, and the next run sends the pending changes (3)" in last
    assert to_json(stopped)["trouble"] == str(refused)


def test_the_same_for_programs() -> None:
    found = to_json(report(granted=(APPLIED,)))
    assert json.loads(json.dumps(found, default=list)) == {
        "run_id": "",
        "sources": [{"name": "audit", "lines": 10, "rejected": 2, "events": 3}],
        "granted": [
            {
                "entity": "dataset:ns1.a.b",
                "life": 1,
                "state": "applied",
                "creator": "alice",
                "candidates": [],
                "accesses": ["read", "write"],
                "policy_id": 7,
                "zone": None,
                "reason": "",
                "source": "",
                "event": None,
                "trace_id": None,
            }
        ],
        "revoked": [],
        "waiting": [],
        "planned": [],
        "silent": [],
        "notified": [],
        "unchanged": 4,
        "went_back": "",
        "counts": {"applied": 5, "blocked": 0},
        "outdated": None,
        "trouble": "",
    }


def test_a_dry_run_shows_what_would_be_sent_and_says_that_nothing_was(capsys: pytest.CaptureFixture[str]) -> None:
    settings = planning()
    entities = [EntityId("dataset", ("ns1", f"d{n}")) for n in range(4)]
    pending = [
        Life(entities[0], 1, "alice", BEGUN, State.PENDING, accesses=("read",)),
        Life(entities[1], 1, "alice", BEGUN, State.PENDING, accesses=("read",), policy_id=11, policy_version=1),
        Life(entities[2], 1, "alice", BEGUN, State.CLOSING, accesses=("write",), policy_id=12, policy_version=1),
        Life(entities[3], 1, "public", BEGUN, State.PENDING, accesses=("read",)),
    ]
    given = replace(report(), planned=tuple(plan(pending, settings)))
    shown = list(rows(given.planned))
    assert [(row[0], row[3], row[4]) for row in shown[:3]] == [
        ("grant", "read", shown[0][4]),
        ("change", "read; may not delegate", "11"),
        ("revoke", "write", "12"),
    ]
    assert shown[0][4].startswith("alice created dataset ns1.d0 (1, ")
    assert shown[3][0].startswith("not send: `public` does not identify a single user")
    print_planned(Invocation(), given)
    text = capsys.readouterr().out
    assert "nothing was sent to Ranger; the next run sends 4 steps" in text
    Invocation().print_json_by_line(to_json(given))
    told = json.loads(capsys.readouterr().out)["planned"]
    assert [step["would"] for step in told] == [row[0] for row in shown]


def test_a_plan_is_read_anew_whenever_it_is_asked_for() -> None:
    read = list[int]()

    def pages() -> Iterator[list[Life]]:
        for n in range(2):
            read.append(n)
            yield [replace(APPLIED, state=State.PENDING, number=n + 1)]

    steps = Plan(pages, planning())
    assert read == []
    assert [step.life.number for step in steps] == [step.life.number for step in steps] == [1, 2]
    assert read == [0, 1, 0, 1]


SETTINGS = planning(profile="004", gives={"dataset": ()})
PENDING = replace(APPLIED, state=State.PENDING, accesses=(), applied=("admin",), terms=GrantTerms("001"))
EDITED = replace(APPLIED, state=State.BLOCKED, reason="edited: policy 7 was changed manually")


def regranted(*, sent: bool) -> RegrantReport:
    (step,) = plan([PENDING], SETTINGS)
    assert isinstance(step, RevokePolicy)
    outcomes = (StepOutcome(step, step.done, revoked=True), StepOutcome(step, step.done), StepOutcome(step, APPLIED))
    return RegrantReport((step,), (EDITED,), outcomes if sent else (), ())


def test_a_regrant_is_shown_before_it_is_carried_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_regrant(Invocation(), regranted(sent=False), sent=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["blocked", "dataset:ns1.a.b", "alice"]
    assert lines[1].endswith("edited: policy 7 was changed manually")
    assert lines[3].split() == ["revoke", "dataset:ns1.a.b", "alice", "admin", "7"]
    assert lines[4] == "nothing was sent; outdated grants: 1; `--yes` sends them"


def test_a_regrant_says_what_it_did_and_what_was_gone_already(capsys: pytest.CaptureFixture[str]) -> None:
    print_regrant(Invocation(), regranted(sent=True), sent=True)
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines()[3:6]] == ["revoked", "known", "changed"]
    assert text.splitlines()[3].split() == ["revoked", "dataset:ns1.a.b", "alice", "admin", "7"]
    assert text.endswith("Ranger is up to date: 0 granted, 1 changed, 1 revoked, 1 kept\n")
    document = json.loads(json.dumps(regrant_to_json(regranted(sent=True))))
    assert [sent["change"] for sent in document["sent"]] == ["revoked", "known", "changed"]
    assert ([step["would"] for step in document["planned"]], document["kept"][0]["state"]) == (["revoke"], "blocked")


@pytest.mark.parametrize("command", [["run"], ["run", "--dry-run"], ["run", "--follow"]])
def test_a_missing_jar_of_a_source_is_one_sentence(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text(
        '[ranger]\nurl = "http://127.0.0.1:9"\nattempts = 1\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\njars_dir = "{tmp_path}"\nstate_dir = "{tmp_path / "state"}"\n'
        'username = "sync"\npassword = "env:HOME"\n'
        '[[sync.sources]]\nname = "audit"\nkind = "audit-kafka"\nbootstrap = "127.0.0.1:9"\n',
        encoding="utf-8",
    )
    assert main(["--config", str(config), "sync", *command]) == 1
    error = capsys.readouterr().err
    assert "`spark-sql-kafka-0-10_2.13-" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("status", 0, "baseline: none"),
        ("retry", 0, "nothing is blocked or failed"),
        ("assign namespace:ns1 bob", 3, "`namespace:ns1` is not in the ledger"),
        ("forget namespace:ns1", 3, "`namespace:ns1` is not in the ledger"),
        ("baseline --inventory i.jsonl", 0, "1 of them became known"),
        ("reconcile", 4, "cannot be reached: the connection was refused"),
        ("regrant", 4, "cannot be reached: the connection was refused"),
    ],
)
def test_a_command_of_the_ledger_needs_neither_jars_nor_java(
    command: str,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    monkeypatch.setenv("PATH", "")
    Path("i.jsonl").write_text(
        '{"v":1,"instance":"cdap","taken":"2026-11-21T04:00:00Z"}\n{"type":"namespace","parts":["ns1"]}\n'
    )
    Path("c.toml").write_text(
        '[ranger]\nurl = "http://127.0.0.1:9"\nattempts = 1\n[cdap]\ninstance = "cdap"\n'
        '[sync]\nstate_dir = "state"\nusername = "sync"\npassword = "env:HOME"\n'
    )
    assert main(["--config", "c.toml", "sync", *command.split()]) == code
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


def test_a_baseline_needs_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sync", "baseline"]) == 3
    assert "--inventory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "interval", "master"),
    [
        ("", None, "local[*]"),
        ("--follow", 5.0, "local[*]"),
        ("--follow 60 --json", 60.0, "local[*]"),
        ("--follow --json", 5.0, "local[*]"),
        ("--follow=0.1 --master yarn", 0.1, "yarn"),
    ],
)
def test_when_and_where_a_run_runs(words: str, interval: float | None, master: str) -> None:
    parsed = parse_command(["sync", "run", *words.split()]).params
    assert (parsed["interval"], parsed["master"]) == (interval, master)


@pytest.mark.parametrize("words", ["--follow 0", "--follow soon", "--follow --dry-run"])
def test_a_run_that_cannot_be_repeated_is_refused(words: str) -> None:
    assert main(["sync", "run", *words.split()]) == 3
