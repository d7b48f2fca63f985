"""`python -m tests.simulation [SEEDS [FIRST]]`: plays so many scenarios on all processors and reports what happened.

Ends with 1 where a law was broken; `python -m tests.simulation 1 SEED` plays one of them again.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulation import people
from tests.simulation.laws import breaches, honest, is_confirmed
from tests.simulation.restores import stale_owners
from tests.simulation.scenario import draw
from tests.simulation.simulator import Simulation

PART = 250

Report = tuple[list[tuple[int, str]], Counter[str], Counter[str], Counter[tuple[str, bool]]]


def play(seeds: range) -> Report:
    """What happened in these scenarios, how often, and which laws were broken in which."""
    found: list[tuple[int, str]] = []
    happened: Counter[str] = Counter()
    lives: Counter[str] = Counter()
    granted: Counter[tuple[str, bool]] = Counter()
    for seed in seeds:
        if seed % 50 == 0:
            world, sentences = stale_owners(seed)
            found += [(seed, f"restored: {sentence}") for sentence in sentences]
            happened += Counter({name: world.happened[name] for name in ("restore", "ledger lost")})
        simulation = Simulation(draw(seed)).play()
        found += [(seed, sentence) for sentence in breaches(simulation)]
        happened += simulation.happened
        lives += Counter({state.value: count for state, count in simulation.pipeline.ledger.counts().items()})
        deployment = simulation.scenario.deployment
        happened[deployment.value] += 1
        if not simulation.scenario.adversary:
            asked = "CDAP asked" if is_confirmed(simulation) else "CDAP not asked"
            granted += Counter((f"{deployment.value}, {asked}", held) for _, held in honest(simulation))
    return found, happened, lives, granted


def share(seeds: range) -> tuple[list[tuple[int, str]], Counter[str]]:
    """What people did in these worlds, how often, and which laws were broken in which."""
    found: list[tuple[int, str]] = []
    happened: Counter[str] = Counter()
    for seed in seeds:
        world = people.World(seed).play()
        found += [(seed, sentence) for sentence in people.breaches(world)]
        happened += world.happened
    return found, happened


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 100_000
    first = int(arguments[1]) if len(arguments) > 1 else 0
    parts = [range(start, min(start + PART, first + count)) for start in range(first, first + count, PART)]
    found: list[tuple[int, str]] = []
    happened: Counter[str] = Counter()
    lives: Counter[str] = Counter()
    granted: Counter[tuple[str, bool]] = Counter()
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        for part in processes.map(play, parts):
            found += part[0]
            happened += part[1]
            lives += part[2]
            granted += part[3]
        shared = list(processes.map(share, parts))
    people_found = [each for part, _ in shared for each in part]
    print(f"{count} worlds of people who edit policies, {len({seed for seed, _ in people_found})} with a law broken")
    for seed, sentence in people_found[:50]:
        print(f"  seed {seed}: {sentence}")
    done = sum((happened for _, happened in shared), Counter[str]())
    print("what people did: " + ", ".join(f"{name} {number:,}" for name, number in done.most_common()))
    print(f"{count} scenarios, {len({seed for seed, _ in found})} with a law broken")
    for seed, sentence in found[:50]:
        print(f"  seed {seed}: {sentence}")
    for title, counted in (("what happened", happened), ("lives in the end", lives)):
        print(f"{title}: " + ", ".join(f"{name} {number:,}" for name, number in counted.most_common()))
    print("honest creations granted, without an adversary:")
    for where in sorted({where for where, _ in granted}):
        total = granted[where, True] + granted[where, False]
        print(f"  {where}: {granted[where, True] / total:.1%} of {total:,}")
    return 1 if found or people_found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
