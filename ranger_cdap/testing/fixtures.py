"""Pytest fixtures, enabled by `pytest_plugins = ["ranger_cdap.testing.fixtures"]` in a `conftest.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.testing.in_process import EmbeddedRanger, embedded_ranger


@pytest.fixture(scope="session")
def ranger() -> Iterator[EmbeddedRanger]:
    """Return a Ranger Admin for all tests of a run."""
    with embedded_ranger() as running:
        yield running


@pytest.fixture
def authorizer(ranger: EmbeddedRanger, tmp_path: Path) -> Iterator[Authorizer]:
    """Return an authorizer with the policies of `ranger`; `authorizer.refresh()` downloads changes."""
    with Authorizer.open(ranger.settings(tmp_path), refresh_in_background=False) as opened:
        yield opened
