"""How many answers a minute the access review gives on `local[2]`, Parquet written, against the engine alone.

`python -m benchmarks.review` (in `make bench`) prints a line a number of policies, with both ratios.
The engine alone is one thread of one process, with the same questions, policies already compiled.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.workload import (
    ENTITY_LEVELS,
    NO_ROLES,
    NOW,
    POLICIES_PER_NAMESPACE,
    USERS,
    groups_of,
    service_policies,
)
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.config import SyncSettings
from ranger_cdap.policies.refresh.documents import Documents
from spark_sync.review.answers import Basis, answer, basis, units
from spark_sync.review.people import Person
from spark_sync.review.review import review
from spark_sync.spark.session import spark_session

SIZES = (1_000, 10_000)
ENTITIES = 2_500
PEOPLE = 100
ACTIONS = 4
WANTED = 1_000_000  # a minute


def main() -> None:
    """Print one line a number of policies."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"access review on local[2]: {ENTITIES:,} entities, {PEOPLE} users, {ACTIONS} actions; Parquet and summary")
    columns = ("policies", "answers", "first s", "again s", "answers/min", "of wanted", "engine/min", "of engine")
    print(" ".join(f"{name:>13}" for name in columns))
    with spark_session(SyncSettings(), master="local[2]") as spark, tempfile.TemporaryDirectory() as directory:
        for size in SIZES:
            asked, entities = question(size), list(map(entity, range(1, ENTITIES + 1)))
            seconds = []
            for turn in ("first", "again"):
                started = time.perf_counter()
                report = review(spark, asked, entities, str(Path(directory, f"{size}-{turn}")), policy_version=size)
                seconds.append(time.perf_counter() - started)
            alone = report.answers / engine_alone(asked, entities)
            rate = report.answers / seconds[0]
            figures = (
                f"{size:,}",
                f"{report.answers:,}",
                *(f"{one:.1f}" for one in seconds),
                f"{rate * 60:,.0f}",
                f"{rate * 60 / WANTED:.1f}x",
                f"{alone * 60:,.0f}",
                f"{rate / alone:.2f}x",
            )
            print(" ".join(f"{figure:>13}" for figure in figures))


def question(policies: int) -> Basis:
    """The basis of a review by so many policies, of people in two groups each."""
    users = range(0, USERS, USERS // PEOPLE)
    people = tuple(Person(f"user{n}", frozenset(groups_of(n))) for n in users)
    documents = Documents(service_policies(policies), NO_ROLES)
    return basis("cdapdev", "cdap", documents, frozenset(), people, NOW)


def entity(n: int) -> EntityId:
    """The entity of that number: of the first ones policies speak by name, of those after them by patterns or never."""
    level = ENTITY_LEVELS[n % len(ENTITY_LEVELS)]
    return entity_id(level, [f"ns{n % (ENTITIES // POLICIES_PER_NAMESPACE)}", f"{level}{n}"])


def engine_alone(asked: Basis, entities: list[EntityId]) -> float:
    """Seconds for the same questions in this process."""
    next(iter(answer(asked, units(entities[:1], PEOPLE))))
    started = time.perf_counter()
    for _ in answer(asked, units(entities, PEOPLE)):
        pass
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
