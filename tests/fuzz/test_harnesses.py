"""Each harness holds its law, takes any bytes as an input, and reaches what it must: the refused and the accepted."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.fuzz import (
    fuzz_cdap_site,
    fuzz_event_lines,
    fuzz_expressions,
    fuzz_policies,
    fuzz_policy_files,
    fuzz_service_bodies,
)

FOLDER = Path(__file__).parent
HARNESSES = sorted(path.stem for path in FOLDER.glob("fuzz_*.py"))


def law(name: str) -> Callable[[], None]:
    found: Callable[[], None] = import_module(f"tests.fuzz.{name}").LAW
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", HARNESSES)
def test_a_harness_holds_its_law(name: str) -> None:
    law(name)()


@pytest.mark.parametrize("name", HARNESSES)
def test_any_bytes_are_an_input(name: str) -> None:
    random = Random(20)
    one_input = law(name).hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    taken = [one_input(random.randbytes(random.choice((0, 10, 1_000, 8_000)))) for _ in range(40)]
    assert any(buffer is not None for buffer in taken)


class NotRaised(Exception):
    """In place of an error that a harness expects."""


def _broken(*_: Any, **__: Any) -> Any:
    raise AssertionError("reached")


REACHED = {
    "a download that is refused": (fuzz_policies, "PolicySetError", NotRaised),
    "a download that is taken": (fuzz_policies, "ASKED", [None]),
    "a download that names not everyone": (fuzz_policies, "EVERYONE", (_broken,)),
    "a file of policies that is refused": (fuzz_policy_files, "_is_sentence", lambda _: False),
    "a file of policies that is taken": (fuzz_policy_files, "STRANGER", None),
    "an event": (fuzz_event_lines, "is_well_formed", lambda _: False),
    "a line of JSON": (fuzz_event_lines, "_is_object", lambda _: False),
    "a site that is refused": (fuzz_cdap_site, "ConfigError", NotRaised),
    "a site that is taken": (fuzz_cdap_site, "as_toml", _broken),
    "a script that is refused": (fuzz_expressions, "NotInSubset", NotRaised),
    "a script that is evaluated": (fuzz_expressions, "ConditionOutcome", NotRaised),
    "an answer to one who may nothing": (fuzz_service_bodies, "_allows", lambda _: True),
}


@pytest.mark.parametrize("what", REACHED)
def test_a_harness_reaches(what: str) -> None:
    module, name, other = REACHED[what]
    one_input = vars(module)["LAW"].hypothesis.fuzz_one_input
    random = Random(21)
    failed = 0
    with patch.object(module, name, other):
        for _ in range(1_000):
            try:
                one_input(random.randbytes(4_000))
            except Exception:
                failed += 1
                break
    assert failed, "nothing went wrong: it is never reached"
