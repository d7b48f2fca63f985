"""A fault in functions that are loaded already: all who hold one see it; what only an import shows."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.mutation.calls import ANY_FILE, COLLECTING, Called, calls_of, imported_tests
from tests.mutation.fault import Fault, different_functions, loaded_functions
from tests.mutation.targets import ROOT

SOURCE = """
from functools import cache, partial

def one():
    return 1

def two(plus=0):
    return [1 + n for n in (1,)][0] + plus

class Held:
    three = 3

    def four(self):
        return 4

    @property
    def five(self):
        return 5

def make(n):
    def six():
        return 6 + n
    return six

six = make(0)
seven = [lambda: 7][0]
eights = lambda: 8, lambda: 9
"""
DIFFERENT = [
    # what the source says, and the fault's; the functions that differ
    ("return 1 → return 2", {"one"}),
    ("1 + n → 1 - n", {"two.<locals>.<listcomp>"}),
    ("(plus=0) → (plus=1)", None),
    ("three = 3 → three = 4", None),
    ("return 4 → return 5", {"Held.four"}),
    ("6 + n → 6 - n", {"make.<locals>.six"}),
    ("make(0) → make(1)", None),
    ("lambda: 7 → lambda: 8", {"<lambda>"}),
    ("lambda: 8 → lambda: 9", None),  # which of two on a line
]


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `held` that can be imported."""
    (tmp_path / "held.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "held", raising=False)
    return tmp_path / "held.py"


@pytest.mark.parametrize(("change", "functions"), DIFFERENT)
def test_what_differs_is_functions_or_needs_an_import(change: str, functions: set[str] | None, held: Path) -> None:
    old, new = change.split(" → ")
    assert SOURCE.count(old) == 1
    faulty = compile(SOURCE.replace(old, new), str(held), "exec")
    assert different_functions(compile(SOURCE, str(held), "exec"), faulty) == (functions and frozenset(functions))


HOLDERS: dict[str, tuple[Callable[[Any], Callable[[], object]], str, int]] = {
    # who holds it, got before the fault; the fault; what it returns then
    "a name": (lambda held: held.one, "return 1 → return 2", 2),
    "a cache": (lambda held: cache(held.one), "return 1 → return 2", 2),
    "an argument": (lambda held: partial(held.two, 0), "1 + n → 1 - n", 0),
    "a bound method": (lambda held: held.Held().four, "return 4 → return 5", 5),
    "a property": (lambda held: partial(getattr, held.Held(), "five"), "return 5 → return 6", 6),
    "a closure": (lambda held: held.six, "6 + n → 7 + n", 7),
    "a maker of closures": (lambda held: lambda: held.make(1)(), "6 + n → 7 + n", 8),
    "a list": (lambda held: held.seven, "lambda: 7 → lambda: 8", 8),
    "a later import": (lambda held: partial(_imported_again, "one"), "return 1 → return 2", 2),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_all_who_hold_a_function_see_its_fault(name: str, held: Path) -> None:
    holder, change, value = HOLDERS[name]
    call = holder(importlib.import_module("held"))
    old, new = change.split(" → ")
    faulty = compile(SOURCE.replace(old, new), str(held), "exec")
    Fault("held", faulty, frozenset()).put(loaded_functions())
    assert call() == value


def _imported_again(name: str) -> object:
    del sys.modules["held"]
    return getattr(importlib.import_module("held"), name)()


RECORD = [
    Called(ANY_FILE, COLLECTING, 9.0, frozenset({"m:at_import"})),
    Called("b.py", COLLECTING, 9.0, frozenset({"m:held"})),
    Called("a.py", "a.py::slow", 2.0, frozenset({"m:f", "m:g", "m:held"})),
    Called("a.py", "a.py::fast", 1.0, frozenset({"m:f", "m:at_import"})),
    Called("b.py", "b.py::other", 0.1, frozenset({"m:g"})),
]
ALL = ["b.py::other", "a.py::fast", "a.py::slow"]
NEEDED: list[tuple[set[str] | None, list[str], list[str]]] = [
    # functions that differ; the tests that are needed in place; those that must import it
    ({"f"}, ["a.py::fast", "a.py::slow"], []),
    ({"g"}, ["b.py::other", "a.py::slow"], []),
    ({"held"}, ["a.py::slow"], ["b.py::other"]),
    ({"held", "f"}, ["a.py::fast", "a.py::slow"], ["b.py::other"]),
    ({"at_import"}, [], ALL),
    ({"g", "at_import"}, [], ALL),
    ({"no_test_calls_it"}, [], []),
    (None, [], ALL),
]


@pytest.mark.parametrize(("functions", "in_place", "by_import"), NEEDED)
def test_a_fault_needs_the_tests_that_call_its_functions_fastest_first(
    functions: set[str] | None, in_place: list[str], by_import: list[str], tmp_path: Path
) -> None:
    record = tmp_path / "record"
    record.write_bytes(b"\n".join(map(msgspec.json.encode, RECORD)))
    differ = None if functions is None else frozenset(functions)
    needed = calls_of("digest", [record]).needed(Fault("m", compile("", "m.py", "exec"), differ))
    assert [test.test for test in needed.in_place] == in_place
    assert [test.test for test in needed.by_import] == by_import


def test_tests_that_others_import_from_are_known() -> None:
    assert Path(__file__) not in imported_tests()
    assert ROOT / "tests/differential/test_reference_engine.py" in imported_tests()
