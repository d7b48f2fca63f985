"""A creator's right lasts as long as the entity, whatever people do to its policy, and what is theirs stays."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.people import MOVES, World, breaches
from tests.simulation.people_mutants import PEOPLE_MUTANTS

SEEDS = 1_000


@pytest.mark.parametrize("first", [pytest.param(n, marks=[pytest.mark.slow] * bool(n)) for n in range(0, SEEDS, 250)])
def test_rights_last_as_long_as_the_entity_and_people_keep_what_is_theirs(first: int) -> None:
    worlds = {seed: World(seed).play() for seed in range(first, first + 250)}
    happened = sum((Counter(dict.fromkeys(world.happened, 1)) for world in worlds.values()), Counter[str]())

    assert {seed: found for seed, world in worlds.items() if (found := list(breaches(world)))} == {}
    rare = [move.__name__ for move in MOVES if happened[move.__name__.strip("_")] < 0.02 * len(worlds)]
    assert rare == []


@pytest.mark.parametrize("name", PEOPLE_MUTANTS)
def test_every_clause_about_people_is_needed(name: str) -> None:
    mutant, move = PEOPLE_MUTANTS[name]
    with mutant():
        worlds = (World(seed).play() for seed in range(4 * SEEDS))
        found = next((world for world in worlds if world.happened[move] and any(breaches(world))), None)

    assert found is not None
