"""A creator's right lasts as long as the entity, whatever people do to its policy, and what is theirs stays."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.people import MOVES, World, breaches, name_of
from tests.simulation.people_mutants import PEOPLE_MUTANTS

SEEDS = 1_000
FOUND = (50_999,)
"""Worlds that long searches found."""

FEWER = 300
RARELY_SHOWN = {
    "a guid that is there again counts as one that never went": 5_500,
    "a right of the next entity goes": 0,
    "a right that a restore brought back may be a person's edit": 0,
    "an older version counts as a newer one": 5_700,
    "needed rights are given in the job's policies": 0,
    "rights on several entities go": 0,
    "several policies that are gone count as deleted": 0,
    "what a person took is not recorded before it is taken out": 0,
    "what is left of a policy is not labelled": 0,
}
"""Where the search begins for what few worlds show."""


@pytest.mark.parametrize("first", range(0, SEEDS, 250))
def test_rights_last_as_long_as_the_entity_and_people_keep_what_is_theirs(first: int) -> None:
    worlds = {seed: World(seed).play() for seed in range(first, first + 250)}
    happened = sum((Counter(dict.fromkeys(world.happened, 1)) for world in worlds.values()), Counter[str]())

    assert {seed: found for seed, world in worlds.items() if (found := list(breaches(world)))} == {}
    rare = [name_of(move) for move in MOVES if happened[name_of(move)] < 0.02 * len(worlds)]
    assert rare == []


def test_a_world_that_once_broke_a_law_breaks_none() -> None:
    """A zone went with the grant that a backup of Ranger had brought back into it."""
    assert {seed: found for seed in FOUND if (found := list(breaches(World(seed).play())))} == {}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in RARELY_SHOWN)) for name in PEOPLE_MUTANTS]
)
def test_every_clause_about_people_is_needed_for_its_moves_and_no_others(name: str) -> None:
    (mutant, moves), first = PEOPLE_MUTANTS[name], RARELY_SHOWN.get(name, 0)
    with mutant():
        worlds = (World(first + n).play() for n in range(4 * SEEDS))
        found = next((world for world in worlds if any(breaches(world))), None)
        others = (World(seed, without=moves).play() for seed in range(FEWER))
        shown_otherwise = [(world.seed, list(breaches(world))) for world in others if any(breaches(world))]

    assert found is not None
    assert not found.happened.keys().isdisjoint(moves)
    assert shown_otherwise == []
