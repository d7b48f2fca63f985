from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from authorizer_world import policy
from service_world import World, serving

POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice"], ["read", "write"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice", "bob"], ["read", "write"]),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service in which alice may read and write in ns1, and bob on one dataset."""
    with serving(POLICIES, Path(tmp_path_factory.mktemp("service"))) as running:
        yield running
