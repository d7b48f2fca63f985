from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.fixtures import ConsoleWorld, serving
from tests.service.fixtures import READ_AND_WRITE


@pytest.fixture(scope="module")
def world() -> Iterator[ConsoleWorld]:
    """A console over `READ_AND_WRITE`."""
    with serving(READ_AND_WRITE) as running:
        yield running
