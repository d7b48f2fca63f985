"""A shared map has what a dictionary has; a change copies few of its parts, and maps before it stay as they are."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine.lookup.shared_map import SharedMap


class Colliding(int):
    """A key of whose hash only a few bits differ."""

    def __hash__(self) -> int:
        return int(self) % 3


keys = st.one_of(st.integers(0, 2_000), st.builds(Colliding, st.integers(0, 2_000)))


@given(st.sets(keys, max_size=5), st.integers(0, 1_500), st.lists(st.tuples(keys, st.integers(1, 3) | st.none())))
def test_a_shared_map_has_what_a_dictionary_has(some: set[int], more: int, changes: list[tuple[int, Any]]) -> None:
    expected: dict[int, Any] = dict.fromkeys(some | set(range(more)), 0)
    changed = SharedMap(expected)
    for key, value in changes:
        before, held = changed, expected.get(key)
        changed = changed.replaced(key, value)
        assert before.get(key) == held
        if value is None:
            expected.pop(key, None)
        else:
            expected[key] = value
        assert changed.get(key) == value

    assert all(changed.get(key) == expected.get(key) for key in range(2_001))
    assert sorted(changed.values()) == sorted(expected.values())


def test_many_keys_of_one_hash_are_all_found() -> None:
    colliding = [Colliding(3 * n) for n in range(1_000)]
    full = SharedMap(dict.fromkeys(colliding, "there"))
    assert {full.get(key) for key in colliding} == {"there"}
    assert full.replaced(colliding[7], None).get(colliding[7]) is None


def parts_of(node: Any) -> list[Any]:
    return [node, *(part for inner in node for part in parts_of(inner))] if type(node) is tuple else [node]


def test_a_change_copies_few_parts_however_large_the_map_is() -> None:
    whole = SharedMap({f"key {n}": n for n in range(50_000)})
    changed = whole.replaced("key 7", -1)
    shared = {id(part) for part in parts_of(whole._root)}
    copied = [part for part in parts_of(changed._root) if id(part) not in shared]
    assert len(copied) <= 4
    assert sum(map(len, copied)) < 500


def test_a_map_that_was_filled_and_emptied_keeps_nothing() -> None:
    turned = SharedMap[int, int]({})
    for n in range(3_000):
        turned = turned.replaced(n, n).replaced(n - 100, None)
    assert len(list(turned.values())) == 100
    assert len(parts_of(turned._root)) < 10
