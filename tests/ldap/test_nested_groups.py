"""Groups in groups: loops end, depth bounds, order does not matter."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import GroupLookupFailed
from ranger_cdap.ldap.nested_groups import AT_ONCE, MOST_GROUPS, DirectoryGroup, with_parents

Edges = Mapping[int, frozenset[int]]
GRAPHS = st.dictionaries(st.integers(0, 9), st.frozensets(st.integers(0, 9), max_size=4))


def group(number: int) -> DirectoryGroup:
    return DirectoryGroup(f"CN=g{number},DC=x", f"g{number}")


class Search:
    """Parents by a graph, in a drawn order; it counts how often each group was asked about."""

    def __init__(self, edges: Edges, seed: int = 0) -> None:
        self.edges = edges
        self.asked: list[str] = []
        self.random = random.Random(seed)

    def __call__(self, dns: Sequence[str]) -> list[DirectoryGroup]:
        assert 0 < len(dns) <= AT_ONCE
        self.asked += dns
        numbers = {parent for dn in dns for parent in self.edges.get(int(dn[4:].split(",")[0]), ())}
        # The same group may be written in another case, and come twice.
        found = [group(n) for n in numbers] + [DirectoryGroup(group(n).dn.lower(), f"g{n}") for n in numbers]
        self.random.shuffle(found)
        return found


def reached(start: frozenset[int], edges: Edges, depth: int) -> set[str]:
    """The definition, without care for cost."""
    found = set(start)
    for _ in range(depth):
        found |= {parent for one in found for parent in edges.get(one, ())}
    return {f"g{one}" for one in found}


@given(st.frozensets(st.integers(0, 9), max_size=3), GRAPHS, st.integers(0, 12), st.integers(0, 3))
def test_all_groups_up_to_the_depth_and_no_other(start: frozenset[int], edges: Edges, depth: int, seed: int) -> None:
    search = Search(edges, seed)
    assert with_parents(map(group, start), search, depth=depth) == reached(start, edges, depth)
    asked = [dn.lower() for dn in search.asked]
    assert len(asked) == len(set(asked))


def test_a_loop_ends_and_each_group_is_searched_once() -> None:
    search = Search({0: frozenset({1}), 1: frozenset({2}), 2: frozenset({0})})
    assert with_parents([group(0)], search, depth=20) == {"g0", "g1", "g2"}
    assert len(search.asked) == 3


def test_without_depth_nothing_is_searched() -> None:
    search = Search({0: frozenset({1})})
    assert with_parents([group(0)], search, depth=0) == {"g0"}
    assert search.asked == []


def test_many_groups_are_searched_in_batches() -> None:
    search = Search({n: frozenset({1000}) for n in range(3 * AT_ONCE + 1)})
    found = with_parents(map(group, range(3 * AT_ONCE + 1)), search, depth=1)
    assert len(found) == 3 * AT_ONCE + 2


def test_too_many_groups_are_unknown_groups() -> None:
    with pytest.raises(GroupLookupFailed, match="5,000 groups"):
        with_parents(map(group, range(MOST_GROUPS + 1)), Search({}), depth=0)
    growing = {0: frozenset(range(1, MOST_GROUPS + 1))}
    with pytest.raises(GroupLookupFailed, match="5,000 groups"):
        with_parents([group(0)], Search(growing), depth=1)
