"""What plugins make of a creator's privileges: they may take away, and add what is on the list; nothing else."""

from __future__ import annotations

from itertools import permutations

import pluggy
import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.hookspecs import PROJECT, hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from spark_sync import hookspecs
from spark_sync.grants.resultant import resultant_of, resultant_plugins

DATASET = EntityId("dataset", ("ns1", "kv"))
ALL = ("read", "write", "admin", "execute")


class Answers:
    """A plugin that always gives the same answer."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[tuple[object, ...]] = []

    @hookimpl
    def ranger_cdap_resultant(self, entity: EntityId, user: str, accesses: tuple[str, ...]) -> object:
        self.asked.append((entity, user, accesses))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def resultant(*answers: object, given: tuple[str, ...] = ALL) -> tuple[str, ...]:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    plugins = [Answers(answer) for answer in answers]
    for plugin in plugins:
        manager.register(plugin)
    found = resultant_of(manager)(DATASET, "alice", given)
    assert all(plugin.asked == [(DATASET, "alice", given)] for plugin in plugins)
    return found


def test_without_a_plugin_it_is_what_the_profile_gives() -> None:
    assert resultant() == ALL
    assert resultant(None) == ALL
    installed = plugin_manager()
    assert resultant_of(installed)(DATASET, "alice", ("read",)) == ("read",)
    assert resultant_plugins(installed) == ""


@pytest.mark.parametrize(
    ("given", "answers", "found"),
    [
        (ALL, [("read",)], ("read",)),
        (ALL, [()], ()),
        (("admin",), [["admin", "read"]], ("read", "admin")),
        (("admin",), [{"write"}], ("write",)),
        (ALL, [("read", "write"), ("write", "admin", "execute")], ("write",)),
        (("admin",), [("admin", "read"), ("admin", "write")], ("read", "write", "admin")),
        (("admin",), [("admin", "read"), ()], ("read",)),
        (("read", "read"), [None], ("read",)),
    ],
)
def test_what_one_takes_away_nobody_gets_and_no_order_matters(
    given: tuple[str, ...], answers: list[object], found: tuple[str, ...]
) -> None:
    for order in permutations(answers):
        assert resultant(*order, given=given) == found


@pytest.mark.parametrize("answer", ["read", ("all",), ("Read",), ("*",), {"read": True}, 1, (1,), ("read", None)])
def test_an_answer_that_is_not_some_access_types_gives_nothing(answer: object) -> None:
    with pytest.raises(PluginError, match="ranger_cdap_resultant"):
        resultant(("read",), answer)


def test_a_plugin_that_raises_gives_nothing_and_its_text_goes_nowhere() -> None:
    with pytest.raises(PluginError, match=r"`ranger_cdap_resultant` failed with ValueError$"):
        resultant(ALL, ValueError("a secret"))
