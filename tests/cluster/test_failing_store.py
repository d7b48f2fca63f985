"""A real S3 server that answers 500 or 503 now and then, before it did what was asked or after it.

A run may end with an error in a sentence, however often; what it leaves is whole, and another one completes it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Final
from uuid import uuid4

import pytest

from ranger_cdap import store as stores
from ranger_cdap.config import StoreUrl
from ranger_cdap.errors import LeaseHeld, LedgerLost, LedgerSpoiled, RangerCdapError
from spark_sync.ledger import store_lease
from tests.cluster.spark_clusters import A_RUN, LEASE, ROOT
from tests.cluster.test_shared_ledger import deliver, settings_in
from tests.cluster.test_submitted_runs import Place, many, place, report_of  # noqa: F401  (fixtures)
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.test_job import FIRST, OTHERS, SECOND, by_values, run, take_baseline

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

PAIRS: Final = 6


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

    def turn(self) -> tuple[dict[str, int], dict[str, int]]:
        """Begin to fail, or end it; how often what has failed, and how log entries were written."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        failed, commits = json.loads(self._said())
        return failed, commits

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
    end = time.monotonic() + A_RUN  # a lease whose release failed ends by time alone
    while True:
        assert time.monotonic() < end, errors
        try:
            if not run(settings).trouble:
                break
        except RangerCdapError as e:
            errors.append(e)
    failed, _ = proxy.turn()
    assert by_values(ranger.grants()) == by_values(OTHERS)
    assert run(settings).wrote_nothing
    assert not [e for e in errors if isinstance(e, LedgerSpoiled | LedgerLost)]
    assert {key.partition(" ")[0] for key in failed} >= {"GET", "PUT"}, (failed, errors)


@pytest.mark.spark
@pytest.mark.usefixtures("_shorter_lease")
@pytest.mark.parametrize("cluster", ["standalone"], indirect=True)
@pytest.mark.parametrize("proxy", [3], indirect=True)
def test_two_drivers_on_a_failing_store_write_log_entries_conditionally(
    proxy: Proxy,
    many: Place,  # noqa: F811
    ranger: Ranger,
) -> None:
    """What S3 would lose if Spark were a second writer: an entry that replaces another one without a condition."""
    through = {"executorEnv.AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"]}
    proxy.turn()
    said = list[str]()
    for _ in range(PAIRS):
        both = [many.start("sync", "run", step="-", **through) for _ in range(2)]
        ended = [many.cluster.end(each) for each in both]
        said += [each.said[-3000:] for each in ended]
        if any(each.code == 0 and not report_of(each)["trouble"] for each in ended):
            break
    failed, commits = proxy.turn()
    end = time.monotonic() + A_RUN
    while True:  # a lease whose release failed ends by time alone
        try:
            run(many.settings)  # what they left, another run completes
            break
        except LeaseHeld:
            assert time.monotonic() < end, said
            time.sleep(1)
    many.ends_with(ranger)
    assert set(commits) == {"*"}, commits
    assert {key.partition(" ")[0] for key in failed} >= {"GET", "PUT"}, (failed, said)
    assert not [each for each in said if "ledger-lost" in each or "ledger-spoiled" in each]
