"""How CDAP 6.11.1 deletes a namespace: step by step, until a check is refused, or something breaks."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ranger_cdap.cdap.entity import EntityId
from tests.simulation.cdap import ADMIN, Act, Failure, Incarnation, Request
from tests.simulation.lines import AUDITOR, ENFORCER, check_of, record_of

if TYPE_CHECKING:
    from tests.simulation.simulator import Simulation

STEPS = ("application", "dataset", "artifact")
REFUSED, CONFLICT, BROKEN = 403, 409, 500


@dataclass
class NamespaceDeletion:
    """One deletion; `spared`: what a refused check left as it was, with its holder then.

    `recorded`: when CDAP's own request for the datasets was recorded.
    """

    simulation: Simulation
    request: Request
    spared: dict[EntityId, tuple[Incarnation, str]] = field(default_factory=dict)
    recorded: int = 0
    _ended: bool = False

    def begin(self) -> None:
        request, at = self.request, self.simulation.at
        rng = random.Random(f"breaks {request.name}")
        breaks = rng.choice([*range(len(STEPS) + 1), *[len(STEPS) + 1] * 3])
        if request.failure is Failure.BEFORE or request.entities[0] not in self.simulation.cdap.alive:
            request.status, self._ended = 400 if request.failure is Failure.BEFORE else 404, True
        for n, kind in enumerate(STEPS):
            time = request.checked + (request.effect - request.checked) * n // len(STEPS)
            at(time, lambda n=n: self._break(rng, breaks == n))
            at(time, lambda kind=kind: self._delete_all(kind))
        at(request.effect, lambda: self._break(rng, breaks == len(STEPS)))
        at(request.effect, self._delete_itself)
        at(request.effect, lambda: self._break(rng, True))

    def _goes_on(self) -> bool:
        request = self.request
        return not self._ended and request.process == self.simulation.process and request.failure is not Failure.DIED

    def _break(self, rng: random.Random, here: bool) -> None:
        if here and self.request.failure is Failure.BROKEN and self._goes_on():
            self.request.status, self._ended = rng.choice([BROKEN, CONFLICT]), True

    def _delete_itself(self) -> None:
        if self._goes_on():
            self._die(self.request.entities[0])
            self.request.status = 200

    def _delete_all(self, kind: str) -> None:
        if not self._goes_on():
            return
        simulation, outer = self.simulation, self.request
        outer.took_effect = True
        # CDAP deletes datasets by a request of its own, whose record has their checks.
        checks = [] if kind == "dataset" else simulation.checks[outer.name]
        found = [entity for entity in simulation.cdap.alive if entity.type == kind]
        refused = False
        for entity in found:
            refused = not self._check(entity, checks)
            if refused:
                self._stop(entity, found)
                break
            if kind == "application":
                self._die(entity)
        if kind != "application" and not refused:
            for entity in found:
                self._die(entity)
        if kind == "dataset":
            self._record(checks, REFUSED if refused else 200)

    def _check(self, entity: EntityId, checks: list[dict[str, Any]]) -> bool:
        simulation, user = self.simulation, self.request.user
        allowed = user == ADMIN or simulation.pipeline.ranger.holder(entity) == user
        of_it = Request("", user, Act.DELETE, (entity,), 0, 0, 0, 0, principal=user, allowed=allowed)
        for version in sorted(simulation.cdap.alive[entity].versions) or [""]:
            of_it.version = version
            checks.append(check_of(entity, of_it, simulation.stamp()))
            simulation.journal(checks[-1], ENFORCER)
        return allowed

    def _stop(self, refused: EntityId, found: list[EntityId]) -> None:
        simulation = self.simulation
        self.request.status, self._ended = CONFLICT, True
        simulation.happened["refused on the way"] += 1
        later = STEPS[STEPS.index(refused.type) + 1 :]
        spared = [each for each in simulation.cdap.alive if each.type in (*later, "namespace") or each in found]
        for entity in spared:
            holder = simulation.pipeline.ranger.holder(entity)
            self.spared[entity] = simulation.cdap.alive[entity], holder
        simulation.refused.append(self)

    def _record(self, checks: list[dict[str, Any]], status: int) -> None:
        simulation, outer = self.simulation, self.request
        if outer.record_lost:
            return
        now = simulation.stamps.clock(outer.process, simulation.now)
        of_it = Request("", outer.user, Act.DELETE_ALL, outer.entities, 0, 0, 0, 0, status=status)
        line = record_of(of_it, checks, (now, now), by_cdap=True)
        self.recorded = simulation.now + random.Random(f"record of {outer.name}").choice([1, 1, 4_000, 40_000])
        simulation.at(self.recorded, lambda: simulation.store(line, AUDITOR))

    def _die(self, entity: EntityId) -> None:
        simulation = self.simulation
        if entity in simulation.cdap.alive:
            simulation.cdap.die(self.request, entity, simulation.now)
            simulation.happened["deletion"] += 1
