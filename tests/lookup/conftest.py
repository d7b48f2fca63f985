"""Ranger's classes with the look-up jar, one JVM for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lookup.ranger_service import RangerService, missing_tool


@pytest.fixture(scope="session")
def ranger_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RangerService]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    with RangerService(tmp_path_factory.mktemp("ranger-plugins") / "cdap") as service:
        yield service
