"""Ranger's Java engine where policies are in JavaScript, which Java 17 cannot run by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.java_engine import JavaEngine, missing_tool


@pytest.fixture(scope="session")
def java_with_javascript() -> Iterator[JavaEngine]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    with JavaEngine(javascript=True) as engine:
        yield engine
