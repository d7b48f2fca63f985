"""Which beginnings a pattern covers where a request asks for prefixes, for every short pattern."""

from __future__ import annotations

from itertools import product

import pytest

from ranger_cdap.engine.compiled.compile_level import compile_element
from ranger_cdap.engine.compiled.matcher import ResourceMatcher
from ranger_cdap.engine.compiled.service_def import LevelOptions
from tests.differential.java_engine import JavaEngine
from tests.differential.test_reference_engine import ask, load_values

PATTERNS = ["".join(letters) for length in range(1, 6) for letters in product("*?ab", repeat=length)]
TEXTS = ["".join(letters) for length in range(4) for letters in product("ab", repeat=length)]


def level(pattern: str) -> ResourceMatcher:
    return compile_element([pattern], False, LevelOptions(ignore_case=False))


@pytest.mark.java
def test_every_short_pattern_covers_the_beginnings_java_says(java: JavaEngine) -> None:
    load_values(java, PATTERNS)
    prefix = {"elementScopes": {"value": "SELF_OR_PREFIX"}}
    answers = java.evaluate(ask(row, text, **prefix) for row in range(len(PATTERNS)) for text in TEXTS)
    levels = [level(pattern) for pattern in PATTERNS]
    wrong = [
        (pattern.values, text, answer["allowed"])
        for (pattern, text), answer in zip(product(levels, TEXTS), answers, strict=True)
        if answer["allowed"] != pattern.covers_prefix(text, None)
    ]
    assert wrong == []


@pytest.mark.parametrize("pattern", ["*a" * 300 + "b", "a*" * 300 + "?b", "*?" * 300 + "b"])
def test_a_pattern_full_of_stars_comes_to_an_end(pattern: str) -> None:
    """Java searches these for longer than anybody waits."""
    assert level(pattern).covers_prefix("a" * 300, None) is True
    assert level(pattern).covers("a" * 300, None) is False
