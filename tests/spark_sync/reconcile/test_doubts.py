"""What operators see and decide of doubted lives, on the ledger itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import AuditSettings, CdapSettings, Settings, SourceSettings, SyncSettings
from ranger_cdap.errors import InvalidInput
from spark_sync.ledger.event import ChangeKind, EntityEvent, Stage
from spark_sync.ledger.life import Life, State
from tests.spark_sync.reconcile.drift_fixtures import APP, KV, row

NOW = 1_800_000_000_000
LIB = EntityId("artifact", ("ns1", "lib"))
CONTESTED = row(State.CONTESTED, creator=None, candidates=("alice", "bob"), reason="overlapping")
SUSPENDED = row(State.SUSPENDED, APP, reason="may be deleted", policy_id=-1, written="")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "events").mkdir()
    source = SourceSettings(name="records", kind="data-plane", path=tmp_path / "events")
    return Settings(
        cdap=CdapSettings(instance="cdap"),
        audit=AuditSettings(sinks=("file",), file=tmp_path / "audit.jsonl", spool_dir=tmp_path / "spool"),
        sync=SyncSettings(state_dir=tmp_path / "state", sources=(source,)),
    )


def watermark(settings: Settings, journal: str, at: int = NOW) -> None:
    path = settings.sync.sources[0].path
    assert path is not None
    (path / ".watermark").write_text(json.dumps({"v": 1, "service": journal, "watermark": at, "records": True}))


def ledger_with(settings: Settings, *lives: Life) -> None:
    from spark_sync.ledger.delta_ledger import DeltaLedger
    from spark_sync.ledger.ledger import LedgerChange
    from spark_sync.ledger.ledger_version import note_versions

    ledger = DeltaLedger(settings.sync.state_dir, "cdap")
    ledger.record(LedgerChange(None, life) for life in lives)
    ahead = EntityEvent(KV, ChangeKind.CREATE, Stage.REQUEST, "carol", NOW + 60_000, NOW + 60_500, "records", "e1")
    ledger.add_events([ahead, replace(ahead, id="e2", started=NOW - 60_000, ended=NOW - 59_000)])
    note_versions(ledger)


def test_status_shows_doubts_candidates_silence_and_what_waits_for_its_time(settings: Settings) -> None:
    from spark_sync.status import status

    ledger_with(settings, CONTESTED, SUSPENDED)
    found = status(settings, now=NOW)
    (contested,), (suspended,) = found.waiting_in(State.CONTESTED), found.waiting_in(State.SUSPENDED)
    assert (contested.candidates, contested.reason) == (("alice", "bob"), "overlapping")
    assert (suspended.creator, suspended.reason) == ("alice", "may be deleted")
    assert (found.ahead, found.silent) == (1, ("records",))
    watermark(settings, "a" * 32)
    assert status(settings, now=NOW).silent == ()


def test_a_contested_entity_is_assigned_and_the_audit_says_why(settings: Settings) -> None:
    from spark_sync.reconcile import manual

    ledger_with(settings, CONTESTED)
    for user, more in (("mallory", {"why": "x"}), ("bob", {})):
        with pytest.raises(InvalidInput):
            manual.override(settings, KV, user, now=NOW, **more)  # type: ignore[arg-type]
    ((_, life, _),) = manual.override(settings, KV, "bob", now=NOW, why="ticket 4711")
    assert (life.number, life.creator, life.state, life.candidates) == (1, "bob", State.PENDING, ())
    assert settings.audit.file is not None
    (record,) = map(json.loads, settings.audit.file.read_text().splitlines())
    assert record["reason"].endswith("(before: contested, candidates: alice, bob): ticket 4711")


def test_a_baseline_has_versions_and_does_not_outlive_its_journal(settings: Settings) -> None:
    from ranger_cdap.cdap.inventory import Inventory
    from spark_sync.ledger.delta_ledger import DeltaLedger
    from spark_sync.reconcile.baseline import enter_baseline
    from spark_sync.status import status

    watermark(settings, "a" * 32)
    enter_baseline(settings, Inventory("cdap", NOW - 1000, (KV, LIB), {LIB: ("1.0.0", "2.0.0")}))
    ledger = DeltaLedger(settings.sync.state_dir, "cdap")
    assert [life.versions for life in ledger.find_lives(entities=[LIB])] == [("1.0.0", "2.0.0")]
    assert [life.versions for life in ledger.find_lives(entities=[KV])] == [None]
    assert (status(settings, now=NOW).baseline, status(settings, now=NOW).journal_lost) == (
        NOW - 1000,
        False,
    )
    watermark(settings, "b" * 32)
    assert status(settings, now=NOW).journal_lost
