"""One Solr for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.solr.solr_cloud import SolrCloud, missing_part


@pytest.fixture(scope="session")
def solr(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SolrCloud]:
    if missing := missing_part():
        pytest.skip(missing)
    with SolrCloud(tmp_path_factory.mktemp("solr")) as cloud:
        yield cloud
