"""One real CDAP 6.11.1 for all tests of this folder, with our extension, the decision service and a Ranger Admin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from tests.cdap_master.fixtures import SYNC, World, world
from tests.cdap_master.in_memory_cdap import MASTER, missing_part


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cdap)


@pytest.fixture(scope="session")
def ranger() -> Iterator[EmbeddedRanger]:
    if sentence := missing_part():
        pytest.skip(sentence)
    with embedded_ranger(sync_account=SYNC, master_user=MASTER) as ranger:
        yield ranger


@pytest.fixture(scope="session")
def cdap_world(ranger: EmbeddedRanger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(ranger, tmp_path_factory.mktemp("world"), "ranger-cdap-extension-6.11.jar") as made:
        yield made
