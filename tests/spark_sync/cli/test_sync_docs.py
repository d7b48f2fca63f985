"""What docs/how-to/operate-the-sync.md says is so."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import ChangeKind, EntityEvent, Stage
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import State
from spark_sync.reconcile.drift import Drift
from tests.spark_sync.reconcile.drift_fixtures import APP, BEGUN, row

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "how-to" / "operate-the-sync.md").read_text(encoding="utf-8")
PURCHASES = EntityId("dataset", ("ns1", "purchases"))


def first_column(heading: str) -> list[str]:
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)


def test_every_state_is_explained() -> None:
    assert first_column("States of the ledger") == [state.value for state in State]


def test_every_kind_of_drift_is_explained() -> None:
    assert first_column("Reconcile") == [drift.value for drift in Drift]


def test_the_ranks_of_the_sources() -> None:
    pytest.importorskip("pyspark")
    from spark_sync.sources.registry import event_sources

    text = (DOCS / "reference" / "events.md").read_text(encoding="utf-8")
    said = {kind: int(rank) for kind, rank in re.findall(r"^\| `([^`]+)` \|.*\| (\d+) \|.*\|$", text, re.MULTILINE)}
    assert said == {kind: source.rank for kind, source in event_sources().items()}


def blocks(language: str, state: Path) -> list[str]:
    """The page's blocks of a language, with the state directory in place of the one they name."""
    found = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return [block.replace("/var/lib/ranger-cdap-sync/state", str(state)) for block in found]


def test_the_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from spark_sync.ledger.delta_ledger import DeltaLedger

    ledger = DeltaLedger(tmp_path, "cdap")
    ledger.enter_baseline(BEGUN, [EntityId("namespace", ("ns1",))])
    bought = row(State.APPLIED, PURCHASES, number=2, creator="bob", source="audit", event="e2")
    lives = [
        row(State.CLOSED, PURCHASES, source="audit", event="forgotten"),
        bought,
        row(State.APPLIED, APP),
        replace(row(State.PENDING, EntityId("dataset", ("ns1", "b"))), reason="unknown user: Ranger has no `alice`"),
        row(State.BLOCKED, EntityId("dataset", ("ns1", "a"))),
    ]
    former = [replace(life, state=State.FAILED, reason="former") for life in lives]
    ledger.record([LedgerChange(None, life) for life in former[:4]])
    ledger.maintain(now=BEGUN, keep_days=365)
    # Newer than those that were moved into `ledger`, and not yet moved themselves.
    ledger.record([LedgerChange(None, life) for life in former[2:]])
    ledger.record([LedgerChange(None, life) for life in lives])
    ledger.record([LedgerChange(replace(life, number=9), None) for life in lives])
    began = bought.begun.time
    ledger.add_events(
        [
            EntityEvent(
                PURCHASES, ChangeKind.CREATE, Stage.REQUEST, "bob", began, began + 5, "audit", "e2", request="PUT 200"
            )
        ]
    )
    (program,), (query,) = (blocks(language, tmp_path) for language in ("python", "sql"))

    page: dict[str, Any] = {"query": query}
    exec(compile(f"{program}\nwhy = duckdb.sql(query).fetchall()", "the page", "exec"), page)

    states = re.findall(r"[│|]\s*(\w+)\s*[┆│|]\s*(\d+)\s*[│|]", capsys.readouterr().out)
    assert states == [("applied", "2"), ("blocked", "1"), ("closed", "1"), ("known", "1"), ("pending", "1")]
    created = datetime.fromtimestamp(began / 1000, UTC).replace(tzinfo=None)
    assert page["why"] == [
        (1, "closed", "alice", 7, "audit", None, None, None, None),
        (2, "applied", "bob", 7, "audit", created, "request", "done", "PUT 200"),
    ]
