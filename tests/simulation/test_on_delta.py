"""The same scenarios through the tables: what is new folded there equals all in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import EntityEvent, Position
from spark_sync.ledger.fold import refold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.ledger import History, LedgerChange, Scope
from spark_sync.ledger.life import Life, State
from tests.simulation.pipeline import Killer, MemoryRanger, Run, send
from tests.simulation.scenario import MINUTE, START, Scenario, draw
from tests.simulation.simulator import Simulation

if TYPE_CHECKING:
    pass

SEEDS = range(20)
RUNS, QUIET = 4, 2


def test_ledgers_in_memory_and_on_delta_are_equal(tmp_path: Path) -> None:
    """All scenarios in one ledger, each in a namespace of its own, with the runs of one job."""
    from spark_sync.job import scope_of
    from spark_sync.ledger.delta_ledger import DeltaLedger

    scenarios = [draw(seed) for seed in SEEDS]
    _run_together(scenarios)
    played = {f"n{scenario.seed}": Simulation(scenario).play(QUIET) for scenario in scenarios}
    ledger, ranger = DeltaLedger(tmp_path, "cdap"), MemoryRanger(Killer())
    known = {ns: sim.scenario.known for ns, sim in played.items()}
    versions = {
        _moved(life.entity, ns): life.versions
        for ns, sim in played.items()
        for life in sim.listed
        if life.versions is not None
    }
    (taken,) = {sim.pipeline.ledger.taken for sim in played.values()}
    assert taken is not None
    ledger.enter_baseline(taken, [_moved(entity, ns) for ns, listed in known.items() for entity in listed], versions)

    for runs in zip(*(sim.pipeline.runs for sim in played.values()), strict=True):
        at = dict(zip(played, runs, strict=True))
        ledger.add_events(_events(at, lambda run: run.events))
        ledger.fold(_by_namespace({ns: run.settings for ns, run in at.items()}))
        scopes = [scope_of(run.settings) for run in runs]
        ledger.mark_folded(Scope(min(scope.decided for scope in scopes), min(scope.closed for scope in scopes)))
        ledger.add_events(_events(at, lambda run: run.answers))
        send(ledger, ranger)

    wanted = {_comparable(life, ns): life for ns, sim in played.items() for life in sim.pipeline.ledger.rows.values()}
    assert {_comparable(life) for life in ledger.lives(tuple(State))} == wanted.keys()
    assert {life.state for life in wanted.values()} >= {State.APPLIED, State.CONTESTED, State.SUSPENDED, State.CLOSED}


def _run_together(scenarios: Sequence[Scenario]) -> None:
    """Let the job of all scenarios run at the same times, without kills, whatever clocks CDAP's processes have."""
    end = max(scenario.end for scenario in scenarios) + 20 * MINUTE
    for scenario in scenarios:
        scenario.runs = [START + (end - START) * n // RUNS for n in range(1, RUNS + 1)]
        scenario.kills = {}
        scenario.zones, scenario.zone_changes = None, []  # those of one Ranger, not of the tables
        scenario.inventories = []
        scenario.sync_offset = 0
        scenario.service_offsets = [0, 700]


def _by_namespace(settings: dict[str, FoldSettings]) -> Callable[[History], list[LedgerChange]]:
    """Folds the entities of each scenario with its own settings."""

    def decide(history: History) -> list[LedgerChange]:
        return refold(history, settings[history.entity.parts[0]])

    return decide


def _events(at: dict[str, Run], of: Callable[[Run], Sequence[EntityEvent]]) -> list[EntityEvent]:
    return [
        replace(event, entity=_moved(event.entity, ns), id=f"{ns} {event.id}")
        for ns, run in at.items()
        for event in of(run)
    ]


def _moved(entity: EntityId, namespace: str) -> EntityId:
    return EntityId(entity.type, (namespace, *entity.parts[1:]))


def _comparable(life: Life, namespace: str = "") -> Life:
    """The life as it is in its namespace, but for the policy, which names it."""

    def at(position: Position) -> Position:
        return replace(position, id=f"{namespace} {position.id}") if position.id else position

    life = replace(life, policy_id=None, policy_version=None, written="")
    if not namespace:
        return life
    return replace(
        life,
        entity=_moved(life.entity, namespace),
        begun=at(life.begun),
        ended=at(life.ended) if life.ended else None,
        event=f"{namespace} {life.event}" if life.event else "",
    )
