"""Scenarios in which the state of the job is restored to an earlier moment, files read since deleted or not.

The job stops where it notices that, and people do what it says: a new inventory, adopt, and revoke what is deleted.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Collection, Iterator
from typing import Any

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.errors import LedgerLost
from ranger_cdap.wire import event_names
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile import lost_ledger
from spark_sync.reconcile.drift import survey
from spark_sync.reconcile.repair import RepairAction, repair_all
from tests.simulation.laws import breaches
from tests.simulation.pipeline import _PLANNING, MemoryLedger, Pipeline
from tests.simulation.scenario import MINUTE, Deployment, draw
from tests.simulation.simulator import INSTANCE, QUIET_RUNS, Simulation

KEPT = 20 * MINUTE
"""How long files are kept after they were read, as the page says."""


class Ledger(MemoryLedger):
    """The ledger in memory, with what is asked of it where it is compared with Ranger."""

    def pages_with_grants(self) -> Iterator[list[Life]]:
        for page in self.pages(set(State) - {State.CLOSED, State.UNCONFIRMED}):
            yield [life for life in page if life.creator or life.state is not State.KNOWN]

    def find_lives(self, *, entities: Collection[EntityId]) -> list[Life]:
        return sorted((life for life in self.rows.values() if life.entity in entities), key=lambda life: life.number)


class ComparingPipeline(Pipeline):
    """The job that compares Ranger with the ledger once it is folded."""

    ledger_goes_back = True

    def fold(self, settings: FoldSettings) -> None:
        super().fold(settings)
        lost_ledger.compare(self.ledger, list(self.ranger.policies.values()), INSTANCE)  # type: ignore[arg-type]


class Restores(Simulation):
    """A scenario with copies of the state, restores of one of them, and deletions of event files."""

    def __init__(self, seed: int) -> None:
        super().__init__(draw(seed))
        before = self.pipeline
        self.pipeline = ComparingPipeline(before.settings, before.killer, before.zones, before.look_up)
        self.pipeline.ledger = Ledger(before.killer)
        self.chance = random.Random(f"restores {seed}")
        self.copies: list[tuple[Any, ...]] = []
        self.gone: dict[str, set[int]] = {name: set() for name in self.streams}
        self.settled: dict[str, set[str]] = {name: {event_names.event_name(0, 0)} for name in self.services}
        self.read_at: dict[tuple[str, int], int] = {}

    def run(self, killed_at: int | None) -> None:
        if self.chance.random() < 0.4:
            self._copy()
        elif self.copies and self.scenario.skew <= 5 * MINUTE and self.chance.random() < 0.3:
            # An inventory is dated five minutes back: what clocks differ by more may still begin a life after it.
            self._restore()
        try:
            self._check_files()
            super().run(killed_at)
        except LedgerLost:
            self.happened["ledger lost"] += 1
            self._do_what_it_says()
            return
        for name in self.services:
            for n in self.streams[name].read:
                self.read_at.setdefault((name, n), self.now)
        if self.chance.random() < 0.5 and self.scenario.deployment is not Deployment.UNJOURNALLED:
            self._delete_files()

    def _new_lines(self, name: str, published: int) -> set[int]:
        return super()._new_lines(name, published) - self.gone[name]

    def _copy(self) -> None:
        ledger = self.pipeline.ledger
        read = {name: set(stream.read) for name, stream in self.streams.items()}
        self.copies.append((dict(ledger.events), dict(ledger.rows), ledger.taken, read, copy.deepcopy(self.settled)))

    def _restore(self) -> None:
        self.happened["restore"] += 1
        ledger = self.pipeline.ledger
        events, rows, ledger.taken, read, settled = self.chance.choice(self.copies)
        ledger.events, ledger.rows, self.settled = dict(events), dict(rows), copy.deepcopy(settled)
        for name, stream in self.streams.items():
            stream.read = set(read[name])
        self.owners = {}

    def _delete_files(self) -> None:
        for name in self.services:
            old = sorted(n for (of, n), at in self.read_at.items() if of == name and at < self.now - KEPT)
            self.gone[name] |= {*old[: self.chance.randrange(len(old) + 1)]}

    def _names(self, name: str) -> Iterator[tuple[str, int]]:
        """The files of a service that were published by now: each line is one."""
        for n, (at, _) in enumerate(self.streams[name].lines):
            if at <= self._service_time(name) - 2_000:
                yield event_names.event_name(n + 1, n), n

    def _check_files(self) -> None:
        for name in self.services:
            names = list(self._names(name))
            read = {each for each, n in names if n in self.streams[name].read} | self.settled[name]
            present = [each for each, n in names if n not in self.gone[name]]
            if event_names.missing_file(read, present, len(names)):
                self.happened["missing file"] += 1
                raise LedgerLost(name)

    def _do_what_it_says(self) -> None:
        ledger, ranger = self.pipeline.ledger, self.pipeline.ranger
        lost_ledger.forget_undecided(ledger)  # type: ignore[arg-type]
        alive = tuple(self.cdap.alive)
        taken = self.now - 5 * MINUTE + self.scenario.sync_offset
        inventory = Inventory(INSTANCE, taken, alive)
        ledger.enter_baseline(taken, alive, {})
        for action in (RepairAction.ADOPT, RepairAction.REVOKE):
            known = survey(ledger.rows.values(), ranger.policies.values(), inventory, _PLANNING)
            ledger.record(repair_all(known, _PLANNING, action).changes)
        for name in self.services:
            present = [each for each, n in self._names(name) if n not in self.gone[name]]
            gone = event_names.gone_files(present, len(list(self._names(name))))
            self.settled[name] |= {event_names.event_name(max(gone, default=0), 0)}
        self.owners = {}


def stale_owners(seed: int) -> tuple[Restores, list[str]]:
    """Play the scenario; whoever holds in the end, or held for long, what is not theirs."""
    world = Restores(seed)
    try:
        world.play(QUIET_RUNS)
        return world, [each for each in breaches(world) if re.match("law 1: .* (holds|still held|held) ", each)]
    except AssertionError as e:  # two users hold one entity
        return world, [str(e)]
