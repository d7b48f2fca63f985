"""The program as it is run: by numbers against Ranger's engine, stopped in the middle, and gone on with."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.differential.fuzz.tally import resumed
from tests.differential.fuzz.vocabulary import vocabulary
from tests.differential.java_engine import build, missing_tool

pytestmark = pytest.mark.java

ROOT = Path(__file__).parents[3]
SEED, SCENARIOS = 2, 150


@pytest.fixture(autouse=True)
def _built() -> None:
    if sentence := missing_tool():
        pytest.skip(sentence)
    build()


def program(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.differential.fuzz", "--seed", str(SEED), *arguments]
    command += ["--state", str(folder / "state.json"), "--corpus", str(folder), "--pairs", str(folder / "pairs")]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_no_difference_is_found_and_no_scenario_lost_by_stopping(tmp_path: Path) -> None:
    first = program(tmp_path, "--scenarios", str(SCENARIOS), "--say-every", "0")
    assert first.stdout is not None
    for line in first.stdout:
        if line.startswith("20 scenarios"):
            first.send_signal(signal.SIGINT)
            break
    said = first.communicate()[0]
    assert first.returncode == 0, said
    left = resumed(tmp_path / "state.json", SEED, vocabulary())
    assert 20 <= left.next < SCENARIOS
    said = program(tmp_path, "--scenarios", str(SCENARIOS)).communicate()[0]
    assert f"scenarios, all distinct: {SCENARIOS} (seed {SEED}, numbers 0 to {SCENARIOS - 1})" in said
    assert said.endswith("differences: 0\n")
    tally = resumed(tmp_path / "state.json", SEED, vocabulary())
    assert tally.answers["allowed"] > tally.questions * 0.15
    assert tally.answers["denied"] > tally.questions * 0.15
