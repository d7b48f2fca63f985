"""Every kind of fault, and the code that has none; all mutants of what is mutated can be compiled."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mutation.operators import Mutant, mutated, mutations
from tests.mutation.targets import Target, sampled, targets

FAULTS = {
    "a == b": {"a == b → a != b"},
    "a < b <= c": {"a < b <= c → a <= b <= c", "a < b <= c → a < b < c"},
    "a is not b": {"a is not b → a is b"},
    "a not in b": {"a not in b → a in b"},
    "a and b and c": {
        "a and b and c → a or b or c",
        "a and b and c → b and c",
        "a and b and c → a and c",
        "a and b and c → a and b",
    },
    "a or b": {"a or b → a and b", "a or b → a", "a or b → b"},
    "a | b": {"a | b → a & b"},
    "a - b": {"a - b → a + b"},
    "a % b": set(),
    "not a": {"not a → not not a"},
    "a if b else c": {"a if b else c → a if not b else c"},
    "a if b == c else d": {"b == c → b != c"},
    "[a for a in b if c]": {"[a for a in b if c] → [a for a in b]"},
    "f(a, b=c)": {"f(a, b=c) → f(a)"},
    "max(a)": {"max(a) → min(a)"},
    "f(True)": {"f(True) → f(False)"},
    "f(1)": {"f(1) → f(2)"},
    "f('')": {"f('') → f('XX')"},
    "f('a sentence')": set(),
    "f(f'{a + 1}')": set(),
    "if a:\n    b = c": {"if a: → if not a:"},
    "while a:\n    b = c": {"while a: → while not a:"},
    "a += b": {"a += b → a -= b"},
    "def f():\n    g()": {"g() → None"},
    "def f():\n    'Say 1.'\n    return g": set(),
    "if a:\n    raise E(1)": {"if a: → if not a:"},
    "@d(1)\nclass A(B, frozen=True):\n    n: int | None": set(),
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    a = 1": set(),
}


@pytest.mark.parametrize("source", FAULTS, ids=range(len(FAULTS)))
def test_code_has_these_faults(source: str) -> None:
    # `g()` alone is a call whose result nobody takes.
    taken = f"x = {source}" if "\n" not in source and "+=" not in source else source
    found = {mutant.change.replace("x = ", "") for mutant in mutations("m", ast.parse(taken))}
    assert found == FAULTS[source]


def test_a_place_is_named_by_its_scope_and_what_repeats_is_numbered() -> None:
    source = "class A:\n    def f(self):\n        return x == y or x == y\nz = 1"
    found = {str(mutant) for mutant in mutations("m", ast.parse(source))}
    assert {"m:A.f: x == y → x != y", "m:A.f: x == y → x != y #2", "m:module: z = 1 → z = 2"} <= found
    assert len(found) == 6


def test_the_tree_is_as_before_when_all_mutants_were_looked_at() -> None:
    path = next(path for path in targets()[0].sources.values() if path.name == "semantics.py")
    tree = ast.parse(path.read_text())
    before = ast.dump(tree)
    assert len({str(mutant) for mutant in mutations("m", tree)}) > 10
    assert ast.dump(tree) == before


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_mutants_can_be_compiled_and_are_other_code(target: Target) -> None:
    for mutant in sampled(target.mutants(), 40, seed=1):
        path = target.sources[mutant.module]
        source = path.read_text()
        assert mutated(mutant, source, str(path)) != compile(source, str(path), "exec"), mutant


def test_what_the_source_does_not_have_is_no_mutant() -> None:
    with pytest.raises(LookupError, match="no such mutant: m:f: a → b"):
        mutated(Mutant("m", "m:f", "a → b"), "x = 1", "m.py")


names = st.sets(st.integers(0, 500).map(str), min_size=1)


@given(names, names, st.integers(1, 30), st.integers(0, 3))
def test_a_sample_changes_as_little_as_the_code(before: set[str], added: set[str], size: int, seed: int) -> None:
    def drawn(changes: set[str], size: int) -> list[str]:
        return [mutant.change for mutant in sampled((Mutant("m", "m:f", c) for c in changes), size, seed)]

    first = drawn(before, size)
    assert drawn(before, size + 1)[:size] == first
    later = drawn(before | added, size)
    assert set(later) - added <= set(first)
    assert len(later) == min(size, len(before | added))


def test_another_seed_draws_others() -> None:
    mutants = [Mutant("m", "m:f", str(n)) for n in range(1_000)]
    assert set(sampled(mutants, 100, 1)) != set(sampled(mutants, 100, 2))
