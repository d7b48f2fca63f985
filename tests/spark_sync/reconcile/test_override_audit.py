"""Who assigned or forgot a creator, when and why, is in the audit; a doubted life is not assigned without a reason."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import AuditSettings, RangerSettings, Settings, SyncSettings
from ranger_cdap.errors import AuditSinkError, ConfigError, InvalidInput, LedgerLost
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile import manual
from spark_sync.reconcile.override_audit import account, audit_record
from tests.disk_faults import full_disk
from tests.spark_sync.reconcile.drift_fixtures import KV, changed, row

NOW = 1_800_000_000_000
CONTESTED = row(State.CONTESTED, creator=None, candidates=("alice", "bob"))


@dataclass
class LedgerInMemory:
    """As much of a ledger as people need."""

    rows: list[Life]

    def find_lives(self, *, entities: Collection[EntityId]) -> list[Life]:
        return [life for life in self.rows if life.entity in entities]

    def record(self, changes: Iterable[LedgerChange]) -> None:
        self.rows = changed(self.rows, changes)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    audit = AuditSettings(sinks=("file",), file=tmp_path / "audit.jsonl", spool_dir=tmp_path / "spool")
    return Settings(ranger=RangerSettings(service="cdapdev"), audit=audit, sync=SyncSettings(hold_back=120))


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> LedgerInMemory:
    made = LedgerInMemory([CONTESTED])

    @contextmanager
    def opened(*_: Any) -> Iterator[LedgerInMemory]:
        yield made

    monkeypatch.setattr(manual, "manual_ledger", opened)
    return made


def audited(settings: Settings) -> list[dict[str, Any]]:
    file = settings.audit.file
    assert file is not None
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def assign(settings: Settings, user: str, **more: Any) -> list[Life | None]:
    return [change.after for change in manual.override(settings, KV, user, now=NOW, **more)]


def test_an_assignment_says_who_when_and_why(settings: Settings, ledger: LedgerInMemory) -> None:
    (life,) = assign(settings, "bob", why="ticket 4711")
    (found,) = audited(settings)
    assert (life.creator, ledger.rows) == ("bob", [life])
    assert life.begun.time == NOW - 120_000
    assert (found["reqUser"], found["evtTime"], found["repo"]) == (account(), NOW, "cdapdev")
    assert (found["access"], found["resource"], found["resType"]) == ("assign", "cdap/ns1/kv", "dataset")
    assert found["reason"] == "creator is now bob (before: contested, candidates: alice, bob): ticket 4711"


def test_forgetting_is_audited_too(settings: Settings, ledger: LedgerInMemory) -> None:
    manual.override(settings, KV, None, now=NOW)
    (found,) = audited(settings)
    assert (ledger.rows[0].state, found["access"]) == (State.KNOWN, "forget")
    assert found["reason"] == "no creator any more (before: contested, candidates: alice, bob)"


@pytest.mark.parametrize(
    ("user", "more", "message"),
    [
        ("bob", {}, "is contested; give the reason for the audit with --reason"),
        ("bob", {"why": "  "}, "--reason"),
        ("mallory", {"why": "x"}, "is not a candidate"),
        ("mallory", {"anyone": True}, "--reason"),
    ],
)
def test_what_is_refused_changes_nothing_and_leaves_no_record(
    settings: Settings, ledger: LedgerInMemory, user: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        assign(settings, user, **more)
    assert (ledger.rows, audited(settings)) == ([CONTESTED], [])


def test_anyone_else_is_assigned_only_when_told_so(settings: Settings, ledger: LedgerInMemory) -> None:
    (life,) = assign(settings, "mallory", anyone=True, why="x")
    assert life.creator == "mallory"


def test_a_life_that_is_not_doubted_needs_no_reason(settings: Settings, ledger: LedgerInMemory) -> None:
    ledger.rows = [row(State.APPLIED)]
    assign(settings, "bob")
    (found,) = audited(settings)
    assert found["reason"] == "creator is now bob (before: applied, creator: alice)"


def test_an_audit_that_cannot_be_opened_is_found_before_anything_changes(
    settings: Settings, ledger: LedgerInMemory
) -> None:
    unusable = Settings(audit=AuditSettings(sinks=("nowhere",)))
    with pytest.raises(ConfigError, match="no audit sink `nowhere`"):
        assign(unusable, "bob", why="x")
    assert ledger.rows == [CONTESTED]


def test_what_must_be_audited_and_cannot_be_is_not_done(settings: Settings, ledger: LedgerInMemory) -> None:
    required = replace(settings, audit=replace(settings.audit, required=True))
    with full_disk(10), pytest.raises(AuditSinkError, match="File too large"):
        assign(required, "bob", why="x")
    assert ledger.rows == [CONTESTED]
    assign(required, "bob", why="x")
    assert [found["result"] for found in audited(required)] == [1]


def test_an_override_that_fails_after_its_record_has_another_that_says_so(
    settings: Settings, ledger: LedgerInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Any) -> None:
        raise LedgerLost("gone")

    monkeypatch.setattr(ledger, "record", fails)
    with pytest.raises(LedgerLost):
        assign(settings, "bob", why="x")
    assert [(found["result"], found["reason"][:6]) for found in audited(settings)] == [(1, "creato"), (0, "failed")]


def test_without_a_sink_it_is_done_all_the_same(ledger: LedgerInMemory) -> None:
    (life,) = assign(Settings(audit=AuditSettings(sinks=())), "bob", why="x")
    assert ledger.rows == [life]


def test_the_record_names_who_called_sudo(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    plain = account()
    monkeypatch.setenv("SUDO_USER", "carol")
    record = audit_record(settings, CONTESTED, "bob", "", now=NOW)
    assert record.reqUser == f"{plain} (sudo: carol)"
