"""A real S3 server that answers 500 or 503 now and then, before it did what was asked or after it.

A run may end with an error in a sentence, however often; what it leaves is whole, and another one completes it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Final
from uuid import uuid4

import pytest

from ranger_cdap import store as stores
from ranger_cdap.config import StoreUrl
from ranger_cdap.errors import LedgerLost, LedgerSpoiled, RangerCdapError
from spark_sync.ledger import store_lease
from tests.cluster.spark_clusters import LEASE, ROOT
from tests.cluster.test_shared_ledger import deliver, settings_in
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.test_job import FIRST, OTHERS, SECOND, by_values, run, take_baseline

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

RUNS: Final = 60


@pytest.fixture
def _shorter_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a failed release leaves ends in seconds, and requests may be repeated in its time."""
    for name, value in LEASE.items():
        monkeypatch.setattr(store_lease, name, value)


class Proxy:
    """In front of the S3 server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = int(self._said())

    def turn(self) -> dict[str, int]:
        """Begin to fail, or end it; how often what has failed."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found: dict[str, int] = json.loads(self._said())
        return found

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@pytest.fixture
def proxy(request: pytest.FixtureRequest, s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The way of this process to the S3 server."""
    behind = os.environ["AWS_ENDPOINT_URL"].partition("://")[2]
    command = [sys.executable, "-m", "tests.cluster.failing_proxy", behind, str(request.param)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = Proxy(process)
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{found.port}")
            stores._handler.cache_clear()
            yield found
        finally:
            process.kill()
            stores._handler.cache_clear()


@pytest.mark.usefixtures("_shorter_lease")
@pytest.mark.parametrize("proxy", [1, 2], indirect=True)
def test_a_store_that_fails_now_and_then_loses_nothing(proxy: Proxy, ranger: Ranger, s3: str) -> None:
    store = StoreUrl(s3, uuid4().hex)
    settings = settings_in(ranger, store)
    take_baseline(settings)
    errors = list[RangerCdapError]()
    for part in (FIRST, SECOND):
        deliver(store, part)
    proxy.turn()
    for _ in range(RUNS):
        try:
            if not run(settings).trouble:
                break
        except RangerCdapError as e:
            errors.append(e)
    else:
        raise AssertionError(errors)
    failed = proxy.turn()
    assert by_values(ranger.grants()) == by_values(OTHERS)
    assert run(settings).wrote_nothing
    assert not [e for e in errors if isinstance(e, LedgerSpoiled | LedgerLost)]
    assert {key.partition(" ")[0] for key in failed} >= {"GET", "PUT"}, (failed, errors)
