"""The benchmarks of Spark ask what executors answer: they have the plugins that are installed."""

from __future__ import annotations

from benchmarks.insights import basis as replayed
from benchmarks.review import ACTIONS, entity, review_basis
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from spark_sync.review.answers import answer, units


def test_the_review_of_the_benchmark_is_answered() -> None:
    asked = review_basis(20)
    (row,) = answer(asked, units([entity(1)], len(asked.people)))
    assert len(row[5]) == len(asked.people) * ACTIONS


def test_the_replay_of_the_benchmark_has_the_installed_conditions() -> None:
    assert replayed().policies.conditions == set(condition_factories(plugin_manager()))
