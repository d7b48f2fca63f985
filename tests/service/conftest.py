from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.fixtures import READ_AND_WRITE, World, serving


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service over `READ_AND_WRITE`."""
    with serving(READ_AND_WRITE, Path(tmp_path_factory.mktemp("service"))) as running:
        yield running


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Where the service of a test keeps records and journalled checks."""
    return tmp_path / "events"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the file out where its tests would be deselected: schemathesis draws their requests to collect them."""
    slow_are_left_out = "not slow" in config.getoption("markexpr")
    return True if slow_are_left_out and collection_path.name == "test_schemathesis.py" else None
