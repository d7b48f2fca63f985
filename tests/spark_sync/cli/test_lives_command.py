"""`sync lives`: exactly the lives that are one of each named, from a ledger without Spark."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.main import main
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import State
from tests.spark_sync.reconcile.drift_fixtures import row

KV, APP = EntityId("dataset", ("ns1", "kv")), EntityId("application", ("ns1", "App"))
LIVES = [
    row(state, entity, number=number, creator=creator)
    for number, (state, entity, creator) in enumerate(
        product((State.APPLIED, State.PENDING), (KV, APP), ("alice", "o'hara")), start=1
    )
]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from spark_sync.ledger.delta_ledger import DeltaLedger

    directory = tmp_path_factory.mktemp("state")
    directory.chmod(0o700)
    DeltaLedger(directory, "cdap").record([LedgerChange(None, life) for life in LIVES])
    config = directory.parent / "c.toml"
    config.write_text(f'[cdap]\ninstance = "cdap"\n[sync]\nstate_dir = "{directory}"\n', encoding="utf-8")
    return config


@pytest.mark.parametrize("entities", [(), (KV,), (KV, APP)])
@pytest.mark.parametrize("states", [(), (State.PENDING,), (State.BLOCKED,)])
@pytest.mark.parametrize("creators", [(), ("o'hara",), ("alice", "o'hara"), ("' OR 1=1 --",)])
def test_what_is_named_is_listed_and_nothing_else(
    ledger: Path,
    entities: tuple[EntityId, ...],
    states: tuple[State, ...],
    creators: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [str(entity) for entity in entities]
    words += [word for state in states for word in ("--state", state.value)]
    words += [word for creator in creators for word in ("--creator", creator)]
    assert main(["--config", str(ledger), "sync", "lives", *words, "--json"]) == 0
    found = {(life["entity"], life["life"]) for life in json.loads(capsys.readouterr().out)["lives"]}
    assert found == {
        (str(life.entity), life.number)
        for life in LIVES
        if (not entities or life.entity in entities)
        and (not states or life.state in states)
        and (not creators or life.creator in creators)
    }


def test_a_person_reads_a_table_and_a_count(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", str(ledger), "sync", "lives", str(KV), "--state", "applied"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split() for line in shown] == [
        ["state", "entity", "creator", "why", "life", "policy"],
        ["applied", "dataset:ns1.kv", "alice", "1", "7"],
        ["applied", "dataset:ns1.kv", "o'hara", "2", "7"],
        ["2", "lives"],
    ]
