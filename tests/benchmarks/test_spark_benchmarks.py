"""The benchmarks of Spark ask what executors answer: they have the plugins that are installed."""

from __future__ import annotations

from benchmarks.review import ACTIONS, entity, review_basis
from spark_sync.review.answers import answer, units


def test_the_review_of_the_benchmark_is_answered() -> None:
    asked = review_basis(20)
    (row,) = answer(asked, units([entity(1)], len(asked.people)))
    assert len(row[5]) == len(asked.people) * ACTIONS
