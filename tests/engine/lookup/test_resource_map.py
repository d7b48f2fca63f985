"""A map of resources answers as one that was never asked before, whatever it was asked, and keeps a bounded number."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher
from ranger_cdap.engine.lookup import resource_map
from ranger_cdap.engine.lookup.resource_map import ResourceMap
from ranger_cdap.engine.model.request import ElementScope
from tests.engine.lookup.test_index import MODEL, PATHS, resources

TOKENS: list[dict[str, str] | None] = [{"USER": "a"}, {"USER": "b"}, {}, None]
VALUES = ["a", "b", "ab", "A", "*", ""]
value = st.one_of(st.sampled_from(VALUES), st.lists(st.sampled_from(VALUES), max_size=2).map(tuple))
names = st.sampled_from(["hall", "shelf", "box", "till"])


@st.composite
def questions(draw: st.DrawFn) -> tuple[Any, ...]:
    path = draw(st.sampled_from(PATHS[1:]))
    values = tuple(draw(value) for _ in path)
    return path, values, draw(st.dictionaries(names, st.sampled_from(ElementScope), max_size=2))


@settings(max_examples=300)
@given(st.lists(resources(), max_size=5), st.lists(questions(), max_size=8), st.sampled_from([2, 20_000]))
def test_what_was_asked_before_changes_no_answer(
    known: list[PolicyResourceMatcher], asked: list[tuple[Any, ...]], kept: int
) -> None:
    items = [(matcher, n) for n, matcher in enumerate(known)]
    used = ResourceMap(items, MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resource_map, "_MAX_RESOURCES", kept)
        for (path, values, some), tokens, scopes in product(asked, TOKENS, (0, 1)):
            question = (path, values, tokens, some if scopes else None)
            assert list(used.matching(*question)) == list(ResourceMap(items, MODEL).matching(*question))
            assert len(used._cache) <= kept


def test_a_very_long_resource_is_not_kept() -> None:
    used = ResourceMap([], MODEL)
    for values in (("a",), ("x" * 1_001,), (("x" * 600, "y" * 600),)):
        used.matching(("hall",), values)
    assert list(used._cache) == [(("hall",), ("a",))]
