"""Each kind of server, once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.elasticsearch.search_node import SearchNode, missing_part


@pytest.fixture(scope="session", params=["elasticsearch", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchNode]:
    kind: str = request.param
    if missing := missing_part(kind):
        pytest.skip(missing)
    with SearchNode(kind, tmp_path_factory.mktemp(kind)) as started:
        yield started
