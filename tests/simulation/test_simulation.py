"""Ownership that cannot be stolen: what the simulation must never find, and that it would find it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from spark_sync.ledger.life import Life, State
from tests.simulation.cdap import ADMIN, Act, Request
from tests.simulation.laws import breaches, honest, is_confirmed
from tests.simulation.mutants import MUTANTS, RARE
from tests.simulation.scenario import DATASETS, HONEST, MINUTE, NS, OUTSIDER, Deployment, Secret, draw
from tests.simulation.simulator import Simulation

SEEDS = 1_000
PART = 100
MOST_TRIES = 4_000
FOUND = (909_703,)
"""Scenarios that long searches found."""

EVENTS = (
    *(deployment.value for deployment in Deployment),
    *("creation", "deletion", "recreation", "overlap", "200 for what exists", "lost record", "repeated record"),
    *("rejected line", "forgery", "restart", "clock ahead", "request without end", "confirmation", "kill"),
    *("late evidence: contested", "late evidence: suspended", "inventory"),
    *(f"zone {move}" for move in ("made", "changed", "renamed", "replaced", "deleted", "moved")),
)
"""What must happen in some of the seeds, for the simulation to say anything about it."""


@pytest.mark.parametrize(
    "first", [pytest.param(first, marks=[pytest.mark.slow] * bool(first)) for first in range(0, SEEDS, PART)]
)
def test_no_law_is_broken(first: int) -> None:
    found = {seed: list(breaches(Simulation(draw(seed)).play())) for seed in range(first, first + PART)}

    assert {seed: sentences for seed, sentences in found.items() if sentences} == {}


def test_a_scenario_that_once_broke_a_law_breaks_none() -> None:
    assert {seed: sentences for seed in FOUND if (sentences := list(breaches(Simulation(draw(seed)).play())))} == {}


@pytest.mark.slow
def test_everything_happens_and_honest_creators_are_granted() -> None:
    happened: Counter[str] = Counter()
    granted: Counter[bool] = Counter()
    not_asked: Counter[bool] = Counter()
    states: Counter[State] = Counter()
    for seed in range(SEEDS // 2):
        simulation = Simulation(draw(seed)).play()
        happened += simulation.happened
        happened[simulation.scenario.deployment.value] += 1
        states += simulation.pipeline.ledger.counts()
        # What an inventory finds while it is undecided belongs to no creator.
        if simulation.scenario.adversary or simulation.happened["inventory"]:
            continue
        if knows_much(simulation):
            granted += Counter(held for _, held in honest(simulation))
        elif simulation.scenario.deployment is not Deployment.RECORDLESS:
            not_asked += Counter(held for _, held in honest(simulation))

    assert [name for name in EVENTS if not happened[name]] == []
    assert [
        state for state in (State.APPLIED, State.CONTESTED, State.SUSPENDED, State.CLOSED) if not states[state]
    ] == []
    assert granted[True] >= 0.9 * granted.total()
    assert not_asked[True] >= 0.8 * not_asked.total()


def knows_much(simulation: Simulation) -> bool:
    """Whether CDAP delivers records and is asked."""
    return is_confirmed(simulation) and simulation.scenario.deployment is not Deployment.RECORDLESS


def test_a_seed_replays() -> None:
    def lives(seed: int) -> object:
        return Simulation(draw(seed)).play().pipeline.ledger.rows

    assert all(lives(seed) == lives(seed) for seed in range(20))


def test_who_may_do_nothing_changes_nothing() -> None:
    for seed in range(150):
        scenario = draw(seed)
        without = replace(scenario, requests=[each for each in scenario.requests if each.user != OUTSIDER])
        # Which service answers depends on all requests, and one that is far ahead orders less.
        if len(without.requests) < len(scenario.requests) and scenario.ahead is None:
            assert _said(Simulation(draw(seed)).play()) == _said(Simulation(without).play()), seed


def _said(simulation: Simulation) -> set[tuple[object, ...]]:
    return {
        (life.entity, life.number, life.state, life.creator, life.candidates)
        for life in simulation.pipeline.ledger.rows.values()
    }


@pytest.mark.slow
def test_once_the_adversary_stops_the_next_creation_after_a_deletion_is_granted() -> None:
    tried = 0
    for seed in range(300):
        simulation = Simulation(draw(seed)).play()
        if not knows_much(simulation) or simulation.scenario.secret is not Secret.NONE or simulation.scenario.ahead:
            continue
        tried += 1
        simulation.scenario.garbage = simulation.scenario.loss = 0.0
        for n, entity in enumerate([*DATASETS, NS]):
            if entity in simulation.cdap.alive:
                _ask(simulation, ADMIN, Act.DELETE, n)
            simulation.settle()
        for n, entity in enumerate([NS, *DATASETS]):
            _ask(simulation, HONEST[0], Act.CREATE, n)
            simulation.settle()
            assert simulation.pipeline.ranger.holder(entity) == HONEST[0], (seed, entity)
        assert list(breaches(simulation)) == [], seed
    assert tried > 30


def _ask(simulation: Simulation, user: str, act: Act, n: int) -> None:
    entity = ([NS, *DATASETS] if act is Act.CREATE else [*DATASETS, NS])[n]
    now = simulation.now + MINUTE
    name = f"epilogue {act} {n}"
    simulation.request(Request(name, user, act, (entity,), now, now + 5, now + 10, now + 20))


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_every_clause_is_needed(name: str) -> None:
    mutant: Callable[[], AbstractContextManager[object]] = MUTANTS[name]
    first = RARE.get(name, 0)
    with mutant():
        found = next(
            (seed for seed in range(first, first + MOST_TRIES) if any(breaches(Simulation(draw(seed)).play()))),
            None,
        )

    assert found is not None


def test_every_life_that_is_in_doubt_says_why_and_names_someone() -> None:
    def lacks(life: Life) -> bool:
        return not life.reason or (life.state is State.CONTESTED and not (life.candidates or life.former))

    for seed in range(100):
        lives = Simulation(draw(seed)).play().pipeline.ledger.lives((State.CONTESTED, State.SUSPENDED))
        assert not [life for life in lives if lacks(life)], seed
