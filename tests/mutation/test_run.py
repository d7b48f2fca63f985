"""The run: what becomes of each fault of a small module, resumed and interrupted; and the files it works by."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.mutation.operators import Mutant
from tests.mutation.running import Outcome
from tests.mutation.state import State
from tests.mutation.targets import ROOT, Survivor, Target, explained, survivors, targets

TARGET = """
[[target]]
name = "example"
modules = ["tests/mutation/example.py"]
tests = ["{}"]
"""
TESTS = """
from tests.mutation.example import FOUR, Pair, add_five, half, larger, next_of, sum_below, triple

NINE = triple(3)

def test_larger():
    assert [larger(1, 2), larger(2, 1)] == [2, 2]

def test_sum_below():
    assert sum_below(4) == 6

def test_half_first():
    assert half(3)

def test_half_from_the_cache():
    assert half(3) == 1

def test_add_five():
    assert add_five(1) == 6

def test_four():
    assert FOUR == 4

def test_nine():
    assert NINE == 9

def test_triple():
    assert triple(1) > 0

def test_pair():
    assert not Pair().is_even

def test_next_of():
    assert next_of(7) == 4
"""
PLACE = "tests.mutation.example:"
LARGER, SUM = f"{PLACE}larger: ", f"{PLACE}sum_below: "
BECOMES = {
    LARGER + "one > other → one >= other": "survived",  # of equal ones either is the larger
    SUM + "total = 0 → total = 1": "killed",
    SUM + "limit > 0 → limit >= 0": "killed",
    SUM + "limit > 0 → limit > 1": "survived",  # 0 adds nothing
    SUM + "limit -= 1 → limit += 1": "timed out",
    SUM + "limit -= 1 → limit -= 2": "killed",
    SUM + "total += limit → total -= limit": "killed",
    f"{PLACE}triple: number + number + number → number + number - number": "killed",
    f"{PLACE}triple: number + number → number - number": "killed",
    # What a function returned before the first test, or to an earlier one, hides no fault.
    f"{PLACE}half: number // 2 → number * 2": "killed",
    f"{PLACE}half: number // 2 → number // 3": "survived",
    f"{PLACE}adding: number + other → number - other": "killed",
    f"{PLACE}twice: number * 2 → number // 2": "killed",
    f"{PLACE}twice: number * 2 → number * 3": "killed",
    f"{PLACE}module: adding(5) → adding(6)": "killed",
    f"{PLACE}module: twice(2) → twice(3)": "killed",
    f"{PLACE}Pair: size = 7 → size = 8": "killed",
    f"{PLACE}Pair.is_even: self.size in (8, 6) → self.size not in (8, 6)": "killed",
    f"{PLACE}Pair.is_even: (8, 6) → (9, 6)": "survived",
    f"{PLACE}Pair.is_even: (8, 6) → (8, 7)": "killed",
    f"{PLACE}next_of: number: int, step: int=3 → number: int, step: int=4": "killed",
    f"{PLACE}next_of: number - step → number + step": "killed",
}

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a run over the example; the state and the tests are in `tmp_path`."""
    (tmp_path / "test_example.py").write_text(TESTS)
    (tmp_path / "targets.toml").write_text(TARGET.format(tmp_path / "test_example.py"))
    files = [f"--{name}={tmp_path / file}" for name, file in (("targets", "targets.toml"), ("state", "state.jsonl"))]

    def process(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.mutation", *files, "--grace=1", *options]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    return process


def said(process: subprocess.Popen[str]) -> str:
    with process:
        assert process.stdout is not None
        return process.stdout.read()


def became(text: str) -> dict[str, str]:
    return {change: what for what, change in re.findall(r"^\d+/\d+ ([a-z ]+) \d+ s  (.*)$", text, re.MULTILINE)}


@pytest.mark.slow
def test_every_fault_becomes_what_it_must_and_a_second_run_has_nothing_to_do(start: Start, tmp_path: Path) -> None:
    first = start()
    text = said(first)
    assert became(text) == BECOMES
    assert "example: 22 run, 18 noticed (81.8%), 0 survivors explained" in text
    assert text.count("\nsurvived: ") == 4
    assert first.returncode == 1

    again = start()
    assert "22 in the sample, 0 of them to run" in said(again)

    found = [
        change.removeprefix(change.split(": ")[0] + ": ") for change, what in BECOMES.items() if what == "survived"
    ]
    places = [change.split(": ")[0] for change, what in BECOMES.items() if what == "survived"]
    table = "".join(
        f'[[survivor]]\nplace = "{place}"\nchange = "{change}"\nreason = "The same."\n'
        for place, change in zip(places, found, strict=True)
    )
    (tmp_path / "known.toml").write_text(table)
    known = start(f"--survivors={tmp_path / 'known.toml'}")
    assert "22 run, 18 noticed (81.8%), 4 survivors explained" in said(known)
    assert known.returncode == 0

    # Better tests: what had survived runs again, and nothing else.
    (tmp_path / "test_example.py").write_text(TESTS + "\n")
    assert set(became(said(start()))) == {change for change, what in BECOMES.items() if what == "survived"}


@pytest.mark.slow
def test_a_run_that_is_ended_ends_its_tests_and_keeps_what_has_run(start: Start) -> None:
    first = start("--grace=1000", "--workers=3", "--only=sum_below")
    assert first.stdout is not None
    lines: list[str] = []
    while not became("".join(lines)):
        lines.append(first.stdout.readline())
        assert lines[-1], lines  # it is still running
    first.send_signal(signal.SIGTERM)  # as Ctrl-C, which a shell's background ignores
    text = "".join(lines) + said(first)
    assert first.returncode == 1
    assert "have not run yet: run it again, it goes on from here" in text
    assert "Traceback" not in text

    second = said(start("--only=sum_below"))
    assert set(became(text)).isdisjoint(became(second))
    assert became(text) | became(second) == {change: what for change, what in BECOMES.items() if SUM in change}


@pytest.mark.slow
def test_tests_that_fail_without_a_mutant_are_of_no_use(start: Start, tmp_path: Path) -> None:
    process = start()
    (tmp_path / "test_example.py").write_text("assert False")
    assert "the tests of `example` fail without any mutant: see " in said(process)
    assert process.returncode == 2
    assert not (tmp_path / "state.jsonl").exists()


EXAMPLE = Target("example", ("tests/mutation/example.py",), ("tests/mutation/test_operators.py",))
OTHER_TESTS = Target("example", ("tests/mutation/example.py",), ("tests/mutation/test_run.py",))
MUTANT = Mutant("tests.mutation.example", "tests.mutation.example:larger", "a → b")

RESUMED = [
    # outcome before, the target now, the outcome that is known
    (Outcome.KILLED, EXAMPLE, Outcome.KILLED),
    (Outcome.TIMED_OUT, EXAMPLE, Outcome.TIMED_OUT),
    (Outcome.SURVIVED, EXAMPLE, Outcome.SURVIVED),
    (Outcome.KILLED, OTHER_TESTS, Outcome.KILLED),
    (Outcome.SURVIVED, OTHER_TESTS, None),
]


@pytest.mark.parametrize(("before", "now", "known"), RESUMED)
def test_a_run_goes_on_with_what_it_knows(before: Outcome, now: Target, known: Outcome | None, tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    State(path).add(MUTANT, EXAMPLE, before, 1.0)
    path.write_bytes(path.read_bytes() + b'{"place": "tests.mut')  # killed while it wrote
    assert State(path).outcome(MUTANT, now) is known


def test_a_result_is_of_no_use_for_another_source(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    State(path).add(MUTANT, EXAMPLE, Outcome.KILLED, 1.0)
    lines = path.read_text().replace('"source":"', '"source":"x')
    path.write_text(lines)
    assert State(path).outcome(MUTANT, EXAMPLE) is None


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_a_target_names_what_is_there(target: Target) -> None:
    assert [pattern for pattern in target.modules if not list(ROOT.glob(pattern))] == []
    assert [test for test in target.tests if not (ROOT / test.partition("::")[0]).exists()] == []


ALL_SURVIVORS = survivors()


def _ids(found: Sequence[Survivor]) -> list[str]:
    return [f"{n} {one.place}" for n, one in enumerate(found)]


@pytest.fixture(scope="module")
def every_mutant() -> frozenset[tuple[str, str]]:
    return frozenset((mutant.place, mutant.change) for target in targets() for mutant in target.mutants())


@pytest.mark.parametrize("one", ALL_SURVIVORS, ids=_ids(ALL_SURVIVORS))
def test_an_explained_survivor_is_a_fault_that_the_code_can_have(
    one: Survivor, every_mutant: frozenset[tuple[str, str]]
) -> None:
    assert (one.place, one.change) in every_mutant
    assert re.fullmatch(r"[A-Z`].{20,}\.", one.reason, re.DOTALL)
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", one.reason)
    assert [f"{file}::{name}" for file, name in tests if f"def {name}(" not in (ROOT / file).read_text()] == []


def test_a_survivor_is_explained_once_by_its_place_and_its_change() -> None:
    assert len({(one.place, one.change) for one in ALL_SURVIVORS}) == len(ALL_SURVIVORS)
    known = [Survivor(MUTANT.place, "a → c", "For another change."), Survivor("m:f", MUTANT.change, "Elsewhere.")]
    assert not explained(MUTANT, known)
    assert explained(MUTANT, [*known, Survivor(MUTANT.place, MUTANT.change, "This one.")])
