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
