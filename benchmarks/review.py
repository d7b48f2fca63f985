"""Answers per minute of the access review in one process and on `local[2]`, with Parquet, against the engine alone.

`python -m benchmarks.review` (in `make bench`) prints two lines per number of policies, with both ratios.
The engine alone is one thread of one process, with the same requests and compiled policies. The last line is of four
times as many answers on Spark, with the seconds that a hundred million take at that slope.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import product
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
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents
from spark_sync.review.answers import Basis, answer, units
from spark_sync.review.people import ReviewedUser
from spark_sync.review.review import review
from spark_sync.spark.sent_policies import SentPolicies
from spark_sync.spark.session import spark_session
from spark_sync.tasks import here, on_spark

SIZES = (1_000, 10_000)
ENTITIES = 2_500
PEOPLE = 100
ACTIONS = 4
TARGET = 1_000_000  # per minute


def main() -> None:
    """Print one line per number of policies."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"access review: {ENTITIES:,} entities, {PEOPLE} users, {ACTIONS} actions; Parquet and summary")
    columns = ("policies", "in", "answers", "first s", "again s", "answers/min", "of wanted", "engine/min", "of engine")
    print(" ".join(f"{name:>13}" for name in columns))
    with spark_session(SyncSettings(), master="local[2]") as spark, tempfile.TemporaryDirectory() as directory:
        there = on_spark(lambda: spark)
        for size, (name, tasks) in product(SIZES, (("process", here), ("Spark", there))):
            asked, entities = review_basis(size), list(map(entity, range(1, ENTITIES + 1)))
            seconds = []
            for turn in ("first", "again"):
                started = time.perf_counter()
                report = review(tasks, asked, entities, Path(directory, f"{size}-{name}-{turn}"), policy_version=size)
                seconds.append(time.perf_counter() - started)
            alone = report.answers / engine_alone(asked, entities)
            rate = report.answers / seconds[0]
            figures = (
                f"{size:,}",
                name,
                f"{report.answers:,}",
                *(f"{one:.1f}" for one in seconds),
                f"{rate * 60:,.0f}",
                f"{rate * 60 / TARGET:.1f}x",
                f"{alone * 60:,.0f}",
                f"{rate / alone:.2f}x",
            )
            print(" ".join(f"{figure:>13}" for figure in figures), flush=True)
        larger = list(map(entity, range(1, 4 * ENTITIES + 1)))
        started = time.perf_counter()
        report = review(there, asked, larger, Path(directory, "larger"), policy_version=SIZES[-1])
        lasted = time.perf_counter() - started
        slope = (lasted - seconds[-1]) / (report.answers * 3 / 4)
        print(
            f"{report.answers:,} answers: {lasted:.1f} s; {slope * 1e6:.2f} s a million, {slope * 1e8:,.0f} s for 10^8"
        )


def review_basis(policies: int) -> Basis:
    """Return the basis of a review with this many policies, and users in two groups each."""
    users = range(0, USERS, USERS // PEOPLE)
    people = tuple(ReviewedUser(f"user{n}", frozenset(groups_of(n)), True) for n in users)
    documents = Documents(service_policies(policies), NO_ROLES)
    sent = SentPolicies.of("cdapdev", documents, frozenset(condition_factories(plugin_manager())))
    return Basis("cdap", sent, people, NOW)


def entity(n: int) -> EntityId:
    """Return entity number `n`: policies name the first ones; the others match patterns, or nothing."""
    level = ENTITY_LEVELS[n % len(ENTITY_LEVELS)]
    return entity_id(level, [f"ns{n % (ENTITIES // POLICIES_PER_NAMESPACE)}", f"{level}{n}"])


def engine_alone(asked: Basis, entities: list[EntityId]) -> float:
    """Return the seconds for the same requests in this process."""
    next(iter(answer(asked, units(entities[:1], PEOPLE))))
    started = time.perf_counter()
    for _ in answer(asked, units(entities, PEOPLE)):
        pass
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
