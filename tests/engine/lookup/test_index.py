"""An index to which entries were added, and from which others were removed, finds what one of the rest finds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.resource_match import PolicyResourceMatcher, compile_resource
from ranger_cdap.engine.compiled.service_def import compile_service_def
from ranger_cdap.engine.lookup.index import ResourceIndex, ShapeIndex
from ranger_cdap.engine.lookup.prefix_tests import PrefixTests
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.policy import PolicyResource
from tests.engine.fixtures import SHOP

DEFINITION = decode_service_policies(json.dumps({"serviceDef": SHOP}).encode()).service_def
assert DEFINITION is not None
MODEL = compile_service_def(DEFINITION)
FOLDS = {name: level.ignore_case for name, level in MODEL.levels.items()}
PATHS = [(), ("hall",), ("hall", "shelf"), ("hall", "shelf", "box"), ("hall", "till")]
TOKENS = {"USER": "a"}
VALUES = ["a", "b", "ab", "A", "*", ""]

Pair = tuple[int, PolicyResourceMatcher]


@st.composite
def resources(draw: st.DrawFn) -> PolicyResourceMatcher:
    levels = {}
    for name in draw(st.sampled_from(PATHS[1:])):
        values = draw(st.lists(st.sampled_from(["a", "b", "A", "a*", "*b", "a?", "*", "{USER}", "ab*"]), max_size=3))
        levels[name] = PolicyResource(values=values, is_excludes=draw(st.integers(0, 9)) == 0)
    matcher = compile_resource(levels, MODEL)
    assert matcher is not None
    return matcher


def found(index: ResourceIndex[int], pairs: list[Pair]) -> list[Any]:
    """Everything that the index can be asked."""
    answers: list[Any] = []
    for path in PATHS:
        shapes: list[ShapeIndex[int] | None] = [
            index.for_self(path),
            index.for_self_and_descendants(path, lambda: pairs),
            index.for_same_levels(path, lambda: pairs),
        ]
        for n in range(len(VALUES)):
            values = tuple(VALUES[(n + i * i) % len(VALUES)] for i in range(len(path)))
            listed = tuple((value, "b") for value in values)
            finds = [shape.find(values, TOKENS) if shape else (set[int](), True, False) for shape in shapes]
            answers += [(entries, named) for entries, _, named in finds]
            answers += [shape.find_any(listed, TOKENS) if shape else set() for shape in shapes]
    return answers


entries = st.dictionaries(st.integers(0, 60), st.lists(resources(), min_size=1, max_size=2), max_size=12)


@settings(max_examples=200)
@given(entries, st.lists(entries, max_size=3), st.booleans(), st.integers(0, 50))
def test_a_changed_index_finds_what_a_rebuilt_one_finds(
    first: dict[int, list[PolicyResourceMatcher]],
    rounds: list[dict[int, list[PolicyResourceMatcher]]],
    used: bool,
    many: int,
) -> None:
    """Also if the indexes that are built on first use were there before, and with more entries than are tested anew."""
    crowd = [compile_resource({"hall": PolicyResource(values=[f"a{n}*"])}, MODEL) for n in range(many)]
    current = {100 + n: [matcher] for n, matcher in enumerate(crowd) if matcher is not None} | first

    def pairs() -> list[Pair]:
        return [(entry, resource) for entry, resources in current.items() for resource in resources]

    index = ResourceIndex(pairs(), FOLDS)
    for changes in rounds:
        before, pairs_before = index, pairs()
        answers = found(index, pairs_before) if used else []
        removed = [(entry, resource) for entry in changes for resource in current.pop(entry, ())]
        removed += [(entry, r) for entry in list(current)[: len(changes) * 2] for r in current.pop(entry)]
        current |= {entry + 61: resources for entry, resources in changes.items()}
        added = [(entry + 61, resource) for entry, resources in changes.items() for resource in resources]
        removed += [pair for pair in pairs_before if pair[0] in {entry for entry, _ in added}]
        index = index.changed(removed, added)
        if used:
            assert found(before, pairs_before) == answers, "the old index was disturbed"
        assert found(index, pairs()) == found(ResourceIndex(pairs(), FOLDS), pairs())


def test_a_change_of_many_tested_entries_copies_only_those_of_one_length() -> None:
    def rest(value: str) -> Any:
        matcher = compile_resource({"hall": PolicyResource(values=[value])}, MODEL)
        assert matcher is not None
        return ((0, matcher.elements[0]),)

    tests = PrefixTests([(n, rest(f"hall{n}*")) for n in range(1_000)])
    changed = tests.without_entry(7, rest("hall7*"))
    assert changed is not None
    kept = [length for length, found in changed._by_length.items() if found is tests._by_length[length]]
    assert kept == [len("hall10"), len("hall100")]
    assert len(list(changed.pairs())) == 999
    assert len(list(changed.with_entry(7, rest("hall7*")).pairs())) == 1_000
