"""The judges: Ranger's Java engine, one JVM for the whole run, and another one that can run JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from java_engine import JavaEngine, missing_tool


@pytest.fixture(scope="session")
def java() -> Iterator[JavaEngine]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    with JavaEngine() as engine:
        yield engine


@pytest.fixture(scope="session")
def java_with_javascript() -> Iterator[JavaEngine]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    with JavaEngine(javascript=True) as engine:
        yield engine
